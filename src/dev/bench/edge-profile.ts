/** Profiles the edge under creations over REST and over gRPC, and the peer that does the same work. */
import { join } from "node:path";
import { Child } from "../testing/child-process.ts";
import { type EdgeBenchOptions, restPeer, type Start, startEdge, startPeer } from "./edge-bench.ts";
import { startHarness } from "./harness.ts";
import type { Load, LoadOrder } from "./load.ts";
import { beginProfile, endProfile, profilingOptions } from "./profile/profiled.ts";
import { writeProfileReport } from "./profile/report.ts";

/**
 * Puts each under load for `warmUp`, and then for `rounds × seconds` under the profiler. Returns the reports,
 * one after the other.
 */
export async function profileEdge(options: EdgeBenchOptions & { readonly folder: string }): Promise<string> {
  const { folder, callers, warmUp, rounds, seconds } = options;
  const harness = await startHarness();
  const children: Child[] = [];
  try {
    const start: Start = (file, variables) => {
      const nodeOptions = file.endsWith("-load.ts") ? [] : profilingOptions(folder, nameOf(file));
      const child = Child.start(join(import.meta.dirname, file), variables, nodeOptions);
      children.push(child);
      return child;
    };
    const { restPort, grpcPort } = await startEdge(harness, start);
    const restLoad = start("rest-load.ts");
    const fastify = await startPeer(harness, start("peers/fastify-peer.ts"), "rest_peer");
    const reports: string[] = [];
    for (const { title, name, generator, port } of [
      { title: "Switchyard, REST", name: "edge-process", generator: restLoad, port: restPort },
      { title: "Switchyard, gRPC", name: "edge-process", generator: start("grpc-load.ts"), port: grpcPort },
      { title: restPeer, name: "fastify-peer", generator: restLoad, port: fastify.port },
    ]) {
      const order = { address: `127.0.0.1:${port}`, secretKey: harness.secretKey, callers };
      await generator.ask("load", { ...order, seconds: warmUp } satisfies LoadOrder);
      await beginProfile(folder, name);
      const load = await generator.ask<Load>("load", { ...order, seconds: rounds * seconds } satisfies LoadOrder);
      const profiled = await endProfile(folder, name, title.replaceAll(/\W+/g, "-").toLowerCase());
      const perSecond = load.requests / (load.elapsedMs / 1_000);
      const summary = `${load.requests} sessions, ${perSecond.toFixed(0)}/s under the profiler, ${callers} callers`;
      reports.push(`${summary}\n${await writeProfileReport(title, profiled)}`);
    }
    return reports.join("\n\n");
  } finally {
    await Promise.all(children.map((child) => child.close()));
    await harness.close();
  }
}

function nameOf(file: string): string {
  return file.replaceAll(/^.*\/|\.ts$/g, "");
}
