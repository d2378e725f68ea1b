import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ClaimedDelivery, claimDeliveries } from "./claim-deliveries.ts";
import { recordTry } from "./record-delivery.ts";
import { recoverDeliveries } from "./recover-deliveries.ts";
import { writeDueDeliveries } from "./testing/due-deliveries.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());

const answered = (statusCode: number) => {
  const { entropy } = bed.context;
  return {
    kind: "answered",
    id: entropy.uuid(),
    startedAt: entropy.now(),
    durationMs: 3,
    statusCode,
    answer: "",
  } as const;
};

const recordFailure = (claimed: ClaimedDelivery, gone = false) =>
  recordTry(bed.context.database, claimed, answered(gone ? 410 : 500), {
    kind: "failed",
    gone,
    next: { kind: "retry", pauseMs: 5_000 },
  });

async function claimAll(due: { merchants: number; dueEach: number }): Promise<ClaimedDelivery[]> {
  await writeDueDeliveries(bed, { ...due, endpointsEach: 1, sinceSeconds: 60 });
  const leaseToken = bed.context.entropy.uuid();
  return claimDeliveries(bed.context.database, { leaseToken, limit: due.merchants * due.dueEach });
}

/** Resolves when `recording` waits for a lock; it must not end before. */
async function waitsForLock(recording: Promise<unknown>): Promise<void> {
  const sql =
    "SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()";
  const waits = vi.waitFor(async () => expect(await bed.rows(sql)).toHaveLength(1), { timeout: 5_000, interval: 10 });
  const ended = recording.then((written) => expect.fail(`ended without waiting: ${JSON.stringify(written)}`));
  await Promise.race([waits, ended]);
}
const recordSuccess = (claimed: ClaimedDelivery) =>
  recordTry(bed.context.database, claimed, answered(200), { kind: "succeeded", slow: true });
const statusOf = async (claimed: ClaimedDelivery) =>
  (await bed.rows("SELECT status, tries FROM delivery WHERE event_id = $1", [claimed.event_id]))[0];

const touchDelivery = { name: "touch_delivery", text: "UPDATE delivery SET tries = tries WHERE event_id = $1" };
const lockEndpointOf = { name: "lock_endpoint_of", text: "SELECT FROM endpoint WHERE id = $1 FOR NO KEY UPDATE" };
const waitForNobody = { name: "wait_for_nobody", text: "SET LOCAL lock_timeout = '100ms'" };
const shareEndpoint = { name: "share_endpoint", text: "SELECT FROM endpoint WHERE id = $1 FOR KEY SHARE" };

describe("recordTry()", () => {
  it("records failures of one endpoint all at once, while events for it are fanned out", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 64 });
    const { endpoint_id } = claimed[0]!;
    const written = await bed.change(async (tx) => {
      // As the foreign key of each new delivery does.
      await tx.query(shareEndpoint, [endpoint_id]);
      return Promise.all(claimed.map((delivery) => recordFailure(delivery)));
    });
    expect(written.every(({ recorded }) => recorded)).toBe(true);
    const [health] = await bed.rows("SELECT failures_in_row, in_flight_max FROM endpoint WHERE id = $1", [endpoint_id]);
    expect(health).toEqual({ failures_in_row: 5, in_flight_max: 1 });
  });

  it("takes posts that fail together for one outage: the breaker opens for its first pause, a probe lengthens it", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 64 });
    const { endpoint_id } = claimed[0]!;
    const pauseMs = async () => {
      const sql = "SELECT extract(epoch FROM probe_at - app.clock())::float8 * 1000 AS ms FROM endpoint WHERE id = $1";
      return (await bed.rows<{ ms: number }>(sql, [endpoint_id]))[0]!.ms;
    };
    for (const delivery of claimed) await recordFailure(delivery);
    expect(await pauseMs()).toBeLessThanOrEqual(5_000);
    for (const [past, next] of [
      ["6 seconds", 10_000],
      ["17 seconds", 20_000],
    ] as const) {
      await bed.setClockAhead(past);
      const leaseToken = bed.context.entropy.uuid();
      const where = { endpointIds: [endpoint_id], merchantIds: [] };
      const [probe, ...others] = await claimDeliveries(bed.context.database, { leaseToken, limit: 9, where });
      expect(others).toEqual([]);
      await recordFailure(probe!);
      expect(await pauseMs()).toBeLessThanOrEqual(next);
      expect(await pauseMs()).toBeGreaterThan(next / 2);
    }
    await bed.setClockAhead("0 seconds");
  });

  it("says of one 410 among many at once that it has disabled the endpoint", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 20 });
    const written = await Promise.all(claimed.map((delivery) => recordFailure(delivery, true)));
    expect(written.filter(({ disabledBecause }) => disabledBecause === "GONE")).toHaveLength(1);
    const notices = await bed.rows("SELECT kind FROM endpoint_notice WHERE endpoint_id = $1", [
      claimed[0]!.endpoint_id,
    ]);
    expect(notices).toEqual([{ kind: "DISABLED_GONE" }]);
  });

  it("waits for a recovery that holds the endpoint, and is not waited for by it", async () => {
    const [claimed] = await claimAll({ merchants: 1, dueEach: 1 });
    const { merchant_id: merchantId, endpoint_id: endpointId } = claimed!;
    const { recorded, batch } = await bed.change(async (tx) => {
      await tx.query(lockEndpointOf, [endpointId]);
      const recording = recordSuccess(claimed!);
      await waitsForLock(recording);
      await tx.query(waitForNobody, []);
      return {
        recorded: [recording],
        batch: await recoverDeliveries(tx, { merchantId, endpointId }, { since: new Date(0) }),
      };
    });
    expect(batch.due).toBe(0);
    expect(await recorded[0]).toMatchObject({ recorded: true });
    expect(await statusOf(claimed!)).toEqual({ status: "SUCCEEDED", tries: 1 });
  });

  it("tries again when it loses a deadlock, so that an answer is not forgotten", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 3 });
    // On a busy machine this transaction may lose instead, and is run again, three times at most: with another delivery.
    const { mine, recording } = await bed.change(async (tx) => {
      const mine = claimed.pop()!;
      await tx.query(lockEndpointOf, [mine.endpoint_id]);
      const waiting = recordSuccess(mine);
      await waitsForLock(waiting);
      await tx.query(touchDelivery, [mine.event_id]);
      return { mine, recording: [waiting] };
    });
    expect(await recording[0]).toMatchObject({ recorded: true });
    expect(await statusOf(mine)).toEqual({ status: "SUCCEEDED", tries: 1 });
  });
});
