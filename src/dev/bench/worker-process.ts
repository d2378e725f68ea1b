/**
 * Runs a worker as the product starts it, in a process that reports its costs. Configured by its environment variables.
 */
import { serve } from "../../processes/serve.ts";
import { answerParent, readUsage, type Usage } from "../testing/child-process.ts";

/** A worker's usage: sockets are those of webhooks, database and NATS together. */
export type WorkerUsage = Usage & { readonly sockets: number };

function usage(): WorkerUsage {
  const sockets = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  return { ...readUsage(), sockets };
}

answerParent({ start: () => serve(["worker"]).then(() => null), usage });
