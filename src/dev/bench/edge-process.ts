/** Runs the edge as the product starts it, in a process that reports its costs. */
import { serve } from "../../processes/serve.ts";
import { answerParent, readUsage } from "../testing/child-process.ts";

answerParent({
  start: () => serve(["edge"]).then(() => null),
  usage: readUsage,
});
