/** The edge as the product starts it, in a process that tells what it costs. Configured by its environment variables. */
import { serve } from "../serve.ts";
import { answerParent, readUsage } from "../testing/child-process.ts";

answerParent({
  start: () => serve(["edge"]).then(() => null),
  usage: readUsage,
});
