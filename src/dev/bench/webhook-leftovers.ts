/** Measures the sockets and the memory that a worker still holds some time after its bad endpoints. */
import { setTimeout as pause } from "node:timers/promises";
import type { WebhookHarness } from "./webhook-harness.ts";
import type { WorkerUsage } from "./worker-process.ts";

/** The usage before bad endpoints, and after them. */
export type Leftovers = {
  readonly socketsBefore: number;
  readonly socketsAfter: number;
  readonly megabytesBefore: number;
  readonly megabytesAfter: number;
};

// Longer than the deadline of a post (15 s) and the longest time that an idle connection is kept (30 s).
const settledMs = 50_000;
const lookEveryMs = 1_000;

/** Waits until there are no more sockets than before, or until all posts under way must have ended. */
export async function waitForLeftovers(harness: WebhookHarness, before: WorkerUsage): Promise<Leftovers> {
  const endsAt = performance.now() + settledMs;
  let [after] = await harness.usage();
  while (after!.sockets > before.sockets && performance.now() < endsAt) {
    await pause(lookEveryMs);
    [after] = await harness.usage();
  }
  const megabytes = ({ residentBytes }: WorkerUsage) => Math.round(residentBytes / 2 ** 20);
  return {
    socketsBefore: before.sockets,
    socketsAfter: after!.sockets,
    megabytesBefore: megabytes(before),
    megabytesAfter: megabytes(after!),
  };
}
