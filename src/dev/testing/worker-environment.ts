/** Vitest's environment of every worker: Node itself; when the worker ends, everything that it kept is closed. */
import type { Environment } from "vitest/runtime";
import { closeKept } from "./kept-in-worker.ts";

const environment: Environment = {
  name: "switchyard",
  viteEnvironment: "ssr",
  setup: () => ({ teardown: closeKept }),
};
export default environment;
