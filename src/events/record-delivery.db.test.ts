import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { writeDueDeliveries } from "../dev/testing/events/due-deliveries.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import type { ClaimedDelivery } from "./deliver.ts";
import { claimDeliveries } from "./delivery-pool.ts";
import { recordAttempt } from "./record-delivery.ts";
import { recoverDeliveries } from "./recover-deliveries.ts";

let harness: EventsHarness;
beforeAll(async () => {
  harness = await openEventsHarness();
});
afterAll(() => harness.close());

const answered = (statusCode: number) => {
  const { runtime } = harness.context;
  return {
    kind: "answered",
    id: runtime.uuid(),
    startedAt: runtime.now(),
    durationMs: 3,
    statusCode,
    answer: "",
  } as const;
};

const recordFailure = (claimed: ClaimedDelivery, gone = false) =>
  recordAttempt(harness.context.database, claimed, answered(gone ? 410 : 500), {
    kind: "failed",
    gone,
    next: { kind: "retry", pauseMs: 5_000 },
  });

async function claimAll(due: { merchants: number; dueEach: number }): Promise<ClaimedDelivery[]> {
  await writeDueDeliveries(harness, { ...due, endpointsEach: 1, sinceSeconds: 60 });
  const leaseToken = harness.context.runtime.uuid();
  return claimDeliveries(harness.context.database, { leaseToken, limit: due.merchants * due.dueEach });
}

/** Resolves when `recording` waits for a lock; it must not end before. */
async function waitsForLock(recording: Promise<unknown>): Promise<void> {
  const sql =
    "SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()";
  const waits = vi.waitFor(async () => expect(await harness.rows(sql)).toHaveLength(1), {
    timeout: 5_000,
    interval: 10,
  });
  const ended = recording.then((written) => expect.fail(`ended without waiting: ${JSON.stringify(written)}`));
  await Promise.race([waits, ended]);
}
const recordSuccess = (claimed: ClaimedDelivery) =>
  recordAttempt(harness.context.database, claimed, answered(200), { kind: "succeeded", slow: true });
const statusOf = async (claimed: ClaimedDelivery) =>
  (await harness.rows("SELECT status, tries FROM delivery WHERE event_id = $1", [claimed.event_id]))[0];

const touchDelivery = { name: "touch_delivery", text: "UPDATE delivery SET tries = tries WHERE event_id = $1" };
const lockEndpointOf = { name: "lock_endpoint_of", text: "SELECT FROM endpoint WHERE id = $1 FOR NO KEY UPDATE" };
const waitForNoLock = { name: "wait_for_no_lock", text: "SET LOCAL lock_timeout = '100ms'" };
const shareEndpoint = { name: "share_endpoint", text: "SELECT FROM endpoint WHERE id = $1 FOR KEY SHARE" };

describe("recordAttempt()", () => {
  it("records concurrent failures of one endpoint while events for it are fanned out", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 64 });
    const { endpoint_id } = claimed[0]!;
    const written = await harness.change(async (tx) => {
      // As the foreign key of each new delivery does.
      await tx.query(shareEndpoint, [endpoint_id]);
      return Promise.all(claimed.map((delivery) => recordFailure(delivery)));
    });
    expect(written.every(({ recorded }) => recorded)).toBe(true);
    const [health] = await harness.rows("SELECT failures_in_row, in_flight_max FROM endpoint WHERE id = $1", [
      endpoint_id,
    ]);
    expect(health).toEqual({ failures_in_row: 5, in_flight_max: 1 });
  });

  it("counts posts that fail together as one outage: the breaker opens once, a probe lengthens its pause", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 64 });
    const { endpoint_id } = claimed[0]!;
    const pauseMs = async () => {
      const sql = "SELECT extract(epoch FROM probe_at - app.clock())::float8 * 1000 AS ms FROM endpoint WHERE id = $1";
      return (await harness.rows<{ ms: number }>(sql, [endpoint_id]))[0]!.ms;
    };
    for (const delivery of claimed) await recordFailure(delivery);
    expect(await pauseMs()).toBeLessThanOrEqual(5_000);
    for (const [past, next] of [
      ["6 seconds", 10_000],
      ["17 seconds", 20_000],
    ] as const) {
      await harness.setClockAhead(past);
      const leaseToken = harness.context.runtime.uuid();
      const where = { endpointIds: [endpoint_id], merchantIds: [] };
      const [probe, ...others] = await claimDeliveries(harness.context.database, { leaseToken, limit: 9, where });
      expect(others).toEqual([]);
      await recordFailure(probe!);
      expect(await pauseMs()).toBeLessThanOrEqual(next);
      expect(await pauseMs()).toBeGreaterThan(next / 2);
    }
    await harness.setClockAhead("0 seconds");
  });

  it("reports only one of many concurrent 410 answers as the one that disabled the endpoint", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 20 });
    // All are recorded at one moment.
    await harness.stopClockAfter(claimed[0]!.event_id, "1 second");
    const written = await Promise.all(claimed.map((delivery) => recordFailure(delivery, true)));
    await harness.setClockAhead("0 seconds");
    expect(written.every(({ recorded }) => recorded)).toBe(true);
    expect(written.filter(({ disabledReason }) => disabledReason === "GONE")).toHaveLength(1);
    const alerts = await harness.rows("SELECT kind FROM endpoint_alert WHERE endpoint_id = $1", [
      claimed[0]!.endpoint_id,
    ]);
    expect(alerts).toEqual([{ kind: "DISABLED_GONE" }]);
  });

  it("waits for a recovery that holds the endpoint, which does not wait for it", async () => {
    const [claimed] = await claimAll({ merchants: 1, dueEach: 1 });
    const { merchant_id: merchantId, endpoint_id: endpointId } = claimed!;
    const { recorded, batch } = await harness.change(async (tx) => {
      await tx.query(lockEndpointOf, [endpointId]);
      const recording = recordSuccess(claimed!);
      await waitsForLock(recording);
      await tx.query(waitForNoLock, []);
      return {
        recorded: [recording],
        batch: await recoverDeliveries(tx, { merchantId, endpointId }, { since: new Date(0) }),
      };
    });
    expect(batch.due).toBe(0);
    expect(await recorded[0]).toMatchObject({ recorded: true });
    expect(await statusOf(claimed!)).toEqual({ status: "SUCCEEDED", tries: 1 });
  });

  it("retries when it loses a deadlock, so that no answer is lost", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 3 });
    // On a busy machine this transaction may lose instead. It is then run again with another delivery, at most three
    // times.
    const { mine, recording } = await harness.change(async (tx) => {
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
