/** What a worker still holds some time after its bad endpoints: sockets and memory. */
import { setTimeout as pause } from "node:timers/promises";
import type { WebhookBed } from "./webhook-bed.ts";
import type { WorkerUsage } from "./worker-process.ts";

/** Before bad endpoints, and after them. */
export type Leftovers = {
  readonly socketsBefore: number;
  readonly socketsAfter: number;
  readonly megabytesBefore: number;
  readonly megabytesAfter: number;
};

// Past the deadline of a post (15 s) and the longest that a connection is kept for its next use (30 s).
const settledMs = 50_000;
const lookEveryMs = 1_000;

/** Waits until there are no more sockets than before, or until all that is under way must have ended. */
export async function waitForLeftovers(bed: WebhookBed, before: WorkerUsage): Promise<Leftovers> {
  const endsAt = performance.now() + settledMs;
  let [after] = await bed.usage();
  while (after!.sockets > before.sockets && performance.now() < endsAt) {
    await pause(lookEveryMs);
    [after] = await bed.usage();
  }
  const megabytes = ({ residentBytes }: WorkerUsage) => Math.round(residentBytes / 2 ** 20);
  return {
    socketsBefore: before.sockets,
    socketsAfter: after!.sockets,
    megabytesBefore: megabytes(before),
    megabytesAfter: megabytes(after!),
  };
}
