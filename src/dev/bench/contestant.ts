import type { Child, Usage } from "../testing/child-process.ts";
import type { Load, LoadOrder } from "./load.ts";

/** A round of a contestant. `cpuMsPerRequest` is the server process's own. */
export type Round = {
  readonly requestsPerSecond: number;
  readonly failures: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly cpuMsPerRequest?: number;
  readonly databaseCpuMsPerRequest?: number;
  readonly residentMb?: number;
  readonly answer?: string;
};

export type Contestant = {
  readonly name: string;
  play(seconds: number): Promise<Round>;
};

/** Returns a contestant: a server in a separate process, under the load of another one. */
export function serverUnderLoad(options: {
  name: string;
  server: Child;
  generator: Child;
  order: Omit<LoadOrder, "seconds">;
}): Contestant {
  const { name, server, generator, order } = options;
  return {
    name,
    async play(seconds) {
      const before = await server.ask<Usage>("usage");
      const load = await generator.ask<Load>("load", { ...order, seconds } satisfies LoadOrder);
      const after = await server.ask<Usage>("usage");
      return {
        requestsPerSecond: load.requests / (load.elapsedMs / 1_000),
        failures: load.failures,
        p50Ms: load.p50Ms,
        p99Ms: load.p99Ms,
        cpuMsPerRequest: (after.cpuMs - before.cpuMs) / load.requests,
        residentMb: after.residentBytes / 2 ** 20,
        answer: load.answer,
      };
    },
  };
}
