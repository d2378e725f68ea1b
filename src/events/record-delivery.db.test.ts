import { beforeEach, describe, expect, it, vi } from "vitest";
import { type DueDeliveries, writeDueDeliveries } from "../dev/testing/events/due-deliveries.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { ClaimedDelivery } from "./deliver.ts";
import { claimDeliveries } from "./delivery-pool.ts";
import { AttemptRecorder } from "./record-delivery.ts";
import { recoverDeliveries } from "./recover-deliveries.ts";

const harness = await forFile(openEventsHarness);
// Retries of an earlier test must not be claimed.
beforeEach(async () => {
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
});

async function claimAll(
  due: Partial<DueDeliveries> & { merchants: number; dueEach: number },
): Promise<ClaimedDelivery[]> {
  await writeDueDeliveries(harness, { endpointsEach: 1, sinceSeconds: 60, ...due });
  const leaseToken = harness.context.runtime.uuid();
  return claimDeliveries(harness.context.database, { leaseToken, limit: due.merchants * due.dueEach });
}

function answered(statusCode: number) {
  const { runtime } = harness.context;
  return {
    type: "answered",
    id: runtime.uuid(),
    startedAt: runtime.now(),
    durationMs: 3,
    statusCode,
    answer: "",
  } as const;
}

const recordFailure = (claimed: ClaimedDelivery, gone = false) =>
  new AttemptRecorder(harness.context.database).record(claimed, answered(gone ? 410 : 500), {
    type: "failed",
    gone,
    next: { type: "retry", pauseMs: 5_000 },
  });

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
  new AttemptRecorder(harness.context.database).record(claimed, answered(200), { type: "succeeded", slow: true });
const statusOf = async (claimed: ClaimedDelivery) =>
  (await harness.rows("SELECT status, tries FROM delivery WHERE event_id = $1", [claimed.eventId]))[0];

const touchDelivery = { name: "touch_delivery", text: "UPDATE delivery SET tries = tries WHERE event_id = $1" };
const lockEndpointOf = { name: "lock_endpoint_of", text: "SELECT FROM endpoint WHERE id = $1 FOR NO KEY UPDATE" };
const waitForNoLock = { name: "wait_for_no_lock", text: "SET LOCAL lock_timeout = '100ms'" };
const shareEndpoint = { name: "share_endpoint", text: "SELECT FROM endpoint WHERE id = $1 FOR KEY SHARE" };

describe("AttemptRecorder with one attempt at a time", () => {
  it("records concurrent failures of one endpoint while events for it are fanned out", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 64 });
    const { endpointId } = claimed[0]!;
    const written = await harness.change(async (tx) => {
      // As the foreign key of each new delivery does.
      await tx.query(shareEndpoint, [endpointId]);
      return Promise.all(claimed.map((delivery) => recordFailure(delivery)));
    });
    expect(written.every(({ recorded }) => recorded)).toBe(true);
    const [health] = await harness.rows("SELECT failures_in_row, in_flight_max FROM endpoint WHERE id = $1", [
      endpointId,
    ]);
    expect(health).toEqual({ failures_in_row: 5, in_flight_max: 1 });
  });

  it("counts posts that fail together as one outage: the breaker opens once, a probe lengthens its pause", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 64 });
    const { endpointId } = claimed[0]!;
    const pauseMs = async () => {
      const sql = "SELECT extract(epoch FROM probe_at - app.clock())::float8 * 1000 AS ms FROM endpoint WHERE id = $1";
      return (await harness.rows<{ ms: number }>(sql, [endpointId]))[0]!.ms;
    };
    for (const delivery of claimed) await recordFailure(delivery);
    expect(await pauseMs()).toBeLessThanOrEqual(5_000);
    for (const [past, next] of [
      ["6 seconds", 10_000],
      ["17 seconds", 20_000],
    ] as const) {
      await harness.setClockAhead(past);
      const leaseToken = harness.context.runtime.uuid();
      const where = { endpointIds: [endpointId], merchantIds: [] };
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
    await harness.stopClockAfter(claimed[0]!.eventId, "1 second");
    const written = await Promise.all(claimed.map((delivery) => recordFailure(delivery, true)));
    await harness.setClockAhead("0 seconds");
    expect(written.every(({ recorded }) => recorded)).toBe(true);
    expect(written.filter(({ disabledReason }) => disabledReason === "GONE")).toHaveLength(1);
    const alerts = await harness.rows("SELECT kind FROM alert WHERE endpoint_id = $1", [claimed[0]!.endpointId]);
    expect(alerts).toEqual([{ kind: "DISABLED_GONE" }]);
  });

  it("waits for a recovery that holds the endpoint, which does not wait for it", async () => {
    const [claimed] = await claimAll({ merchants: 1, dueEach: 1 });
    const { merchantId, endpointId } = claimed!;
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
      await tx.query(lockEndpointOf, [mine.endpointId]);
      const waiting = recordSuccess(mine);
      await waitsForLock(waiting);
      await tx.query(touchDelivery, [mine.eventId]);
      return { mine, recording: [waiting] };
    });
    expect(await recording[0]).toMatchObject({ recorded: true });
    expect(await statusOf(mine)).toEqual({ status: "SUCCEEDED", tries: 1 });
  });
});

/** Records all at once, as answered with 204 and an excerpt that contains the index. */
function recordAccepted(claimed: readonly ClaimedDelivery[], slow: (index: number) => boolean = () => false) {
  const recorder = new AttemptRecorder(harness.context.database);
  return Promise.all(
    claimed.map((delivery, index) =>
      recorder.record(
        delivery,
        { ...answered(204), durationMs: index, answer: `{"place": "${index}", "quote": "'\\"}` },
        { type: "succeeded", slow: slow(index) },
      ),
    ),
  );
}

const health = (endpointId: string) =>
  harness.rows("SELECT in_flight_max, failures_in_row, failing_since, probe_at FROM endpoint WHERE id = $1", [
    endpointId,
  ]);
async function commitsOf(claimed: readonly ClaimedDelivery[]): Promise<number> {
  const sql = "SELECT DISTINCT xmin::text FROM delivery_attempt WHERE event_id = ANY ($1)";
  return (await harness.rows(sql, [claimed.map(({ eventId }) => eventId)])).length;
}

describe("AttemptRecorder with concurrent successes", () => {
  it("writes hundreds of concurrent successes in a few commits, each with its own log line", async () => {
    const claimed = await claimAll({ merchants: 8, dueEach: 40 });
    const written = await recordAccepted(claimed);
    expect(await commitsOf(claimed)).toBeLessThan(claimed.length / 20);
    expect(written.every(({ recorded, acceptedAt }) => recorded && acceptedAt instanceof Date)).toBe(true);
    const rows = await harness.rows<{ event_id: string; answer: string; duration_ms: number; status: string }>(
      `SELECT event_id, answer, duration_ms, status FROM delivery JOIN delivery_attempt USING (event_id, endpoint_id)
       WHERE event_id = ANY ($1) AND tries = 1 AND lease_token IS NULL AND ended_at IS NOT NULL`,
      [claimed.map(({ eventId }) => eventId)],
    );
    const byEvent = new Map(rows.map((row) => [row.event_id, row]));
    claimed.forEach(({ eventId }, index) => {
      const answer = `{"place": "${index}", "quote": "'\\"}`;
      expect(byEvent.get(eventId)).toEqual({ event_id: eventId, answer, duration_ms: index, status: "SUCCEEDED" });
    });
  });

  it("widens windows by each success and resets failures, for each endpoint separately", async () => {
    const claimed = await claimAll({ merchants: 3, dueEach: 5, window: 20, failuresInRow: 2 });
    await recordAccepted(claimed);
    const whole = { in_flight_max: 25, failures_in_row: 0, failing_since: null, probe_at: null };
    for (const { endpointId } of claimed) expect(await health(endpointId)).toEqual([whole]);
  });

  it("halves the window for each slow answer, even a full-size window", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 10 });
    // The quick ones first: each one after the slow ones would widen the window by one again.
    await recordAccepted(claimed.slice(0, 8));
    await recordAccepted(claimed.slice(8), () => true);
    const [{ in_flight_max: window }] = (await health(claimed[0]!.endpointId)) as [{ in_flight_max: number }];
    expect(window).toBe(16);
  });

  it("leaves out successes with a lost lease, and records the rest", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 6 });
    const lost = claimed[3]!;
    await harness.rows("UPDATE delivery SET lease_token = gen_random_uuid() WHERE event_id = $1", [lost.eventId]);
    const written = await recordAccepted(claimed);
    expect(written.map(({ recorded }) => recorded)).toEqual(claimed.map((delivery) => delivery !== lost));
    expect(await harness.rows("SELECT FROM delivery_attempt WHERE event_id = $1", [lost.eventId])).toEqual([]);
  });

  it("rejects every attempt of a failed commit, and goes on with the next", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 9 });
    const recorder = new AttemptRecorder(harness.context.database);
    const record = (delivery: ClaimedDelivery, durationMs: number) =>
      recorder.record(delivery, { ...answered(204), durationMs }, { type: "succeeded", slow: false });
    // Four are written separately at once; those that arrive meanwhile follow together.
    const recording = claimed.slice(0, 7).map((delivery, index) => record(delivery, index === 5 ? -1 : 1));
    const statuses = (await Promise.allSettled(recording)).map(({ status }) => status);
    expect(statuses).toEqual([...Array(4).fill("fulfilled"), ...Array(3).fill("rejected")]);
    expect(await Promise.all(claimed.slice(7).map((delivery) => record(delivery, 1)))).toMatchObject([
      { recorded: true },
      { recorded: true },
    ]);
  });
});
