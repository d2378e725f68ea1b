/** Plays many payments one after the other, and checks the records of all of them at the end. */
import { encodeId } from "../../../platform/ids.ts";
import type { FaultKind } from "../../../sandbox/faults.ts";
import { findViolations, type Violation } from "../chaos/check.ts";
import { readRecords } from "../chaos/read-records.ts";
import type { Records } from "../chaos/records.ts";
import { play } from "./play.ts";
import { type Breaking, openWorld } from "./world.ts";

/** The outcomes of the payments: each violation with the seed that plays its session again. */
export type Played = {
  readonly records: Records;
  readonly violations: readonly (Violation & { readonly seed: number | undefined })[];
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** Ends of authentications, as `STRIPE AUTHENTICATED`. */
  readonly authentications: readonly string[];
};

/** Plays `count` seeds from this one on; the records are checked as after a chaos run. */
export async function playAll(from: number, count: number, breaking?: Breaking): Promise<Played> {
  const world = await openWorld(breaking);
  try {
    const seeds = new Map<string, number>();
    for (let seed = from; seed < from + count; seed++) seeds.set(encodeId("ps", await play(world, seed)), seed);
    const stored = await readRecords([world.databaseUrl], world.control);
    // Events are not posted here, so only their rows are checked, and no customer waits for an answer.
    const webhooks = stored.events.map(({ eventId, body }) => ({ eventId, body, signed: true, accepted: true }));
    const records: Records = { ...stored, webhooks, orders: [], clockMovedAt: world.clockMovedAt, outages: [] };
    const violations = findViolations(records).map((found) => ({ ...found, seed: seeds.get(found.sessionId) }));
    const ends = await world.asOwner.query<{ end: string }>(authenticationEnds, []);
    const authentications = ends.map(({ end }) => end);
    return { records, violations, faults: await world.control.faults(), authentications };
  } finally {
    await world.close();
  }
}

const authenticationEnds = {
  name: "authentication_ends",
  text: `
    SELECT a.gateway || ' ' || t.status AS end FROM authentication t
    JOIN attempt a ON a.session_id = t.session_id AND a.id = t.attempt_id`,
};
