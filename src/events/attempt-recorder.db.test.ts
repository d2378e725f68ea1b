import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DueDeliveries, writeDueDeliveries } from "../dev/testing/events/due-deliveries.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { AttemptRecorder } from "./attempt-recorder.ts";
import type { ClaimedDelivery } from "./deliver.ts";
import { claimDeliveries } from "./delivery-pool.ts";

let harness: EventsHarness;
beforeAll(async () => {
  harness = await openEventsHarness();
});
afterAll(() => harness.close());

async function claimAll(due: Partial<DueDeliveries> & { merchants: number; dueEach: number }) {
  await writeDueDeliveries(harness, { endpointsEach: 1, sinceSeconds: 60, ...due });
  const leaseToken = harness.context.runtime.uuid();
  return claimDeliveries(harness.context.database, { leaseToken, limit: due.merchants * due.dueEach });
}

/** Records all at once, as answered with 204 and an excerpt that contains the index. */
function recordAccepted(claimed: readonly ClaimedDelivery[], slow: (index: number) => boolean = () => false) {
  const recorder = new AttemptRecorder(harness.context.database);
  return Promise.all(
    claimed.map((delivery, index) =>
      recorder.record(
        delivery,
        { ...answered(), durationMs: index, answer: `{"place": "${index}", "quote": "'\\"}` },
        { kind: "succeeded", slow: slow(index) },
      ),
    ),
  );
}

const health = (endpointId: string) =>
  harness.rows("SELECT in_flight_max, failures_in_row, failing_since, probe_at FROM endpoint WHERE id = $1", [
    endpointId,
  ]);
/** Returns the number of commits that wrote their log lines. */
async function commitsOf(claimed: readonly ClaimedDelivery[]): Promise<number> {
  const sql = "SELECT DISTINCT xmin::text FROM delivery_attempt WHERE event_id = ANY ($1)";
  return (await harness.rows(sql, [claimed.map(({ event_id }) => event_id)])).length;
}

describe("AttemptRecorder", () => {
  it("writes hundreds of concurrent successes in a few commits, each with its own log line", async () => {
    const claimed = await claimAll({ merchants: 8, dueEach: 40 });
    const written = await recordAccepted(claimed);
    expect(await commitsOf(claimed)).toBeLessThan(claimed.length / 20);
    expect(written.every(({ recorded, acceptedAt }) => recorded && acceptedAt instanceof Date)).toBe(true);
    const rows = await harness.rows<{ event_id: string; answer: string; duration_ms: number; status: string }>(
      `SELECT event_id, answer, duration_ms, status FROM delivery JOIN delivery_attempt USING (event_id, endpoint_id)
       WHERE event_id = ANY ($1) AND tries = 1 AND lease_token IS NULL AND ended_at IS NOT NULL`,
      [claimed.map(({ event_id }) => event_id)],
    );
    const byEvent = new Map(rows.map((row) => [row.event_id, row]));
    claimed.forEach(({ event_id }, index) => {
      const answer = `{"place": "${index}", "quote": "'\\"}`;
      expect(byEvent.get(event_id)).toEqual({ event_id, answer, duration_ms: index, status: "SUCCEEDED" });
    });
  });

  it("widens windows by each success and resets failures, for each endpoint separately", async () => {
    const claimed = await claimAll({ merchants: 3, dueEach: 5, window: 20, failuresInRow: 2 });
    await recordAccepted(claimed);
    const whole = { in_flight_max: 25, failures_in_row: 0, failing_since: null, probe_at: null };
    for (const { endpoint_id } of claimed) expect(await health(endpoint_id)).toEqual([whole]);
  });

  it("halves the window for each slow answer, even a full-size window", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 10 });
    // The quick ones first: each one after the slow ones would widen the window by one again.
    await recordAccepted(claimed.slice(0, 8));
    await recordAccepted(claimed.slice(8), () => true);
    const [{ in_flight_max: window }] = (await health(claimed[0]!.endpoint_id)) as [{ in_flight_max: number }];
    expect(window).toBe(16);
  });

  it("leaves out successes with a lost lease, and records the rest", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 6 });
    const lost = claimed[3]!;
    await harness.rows("UPDATE delivery SET lease_token = gen_random_uuid() WHERE event_id = $1", [lost.event_id]);
    const written = await recordAccepted(claimed);
    expect(written.map(({ recorded }) => recorded)).toEqual(claimed.map((delivery) => delivery !== lost));
    expect(await harness.rows("SELECT FROM delivery_attempt WHERE event_id = $1", [lost.event_id])).toEqual([]);
  });

  it("rejects every attempt of a failed commit, and goes on with the next", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 9 });
    const recorder = new AttemptRecorder(harness.context.database);
    const record = (delivery: ClaimedDelivery, durationMs: number) =>
      recorder.record(delivery, { ...answered(), durationMs }, { kind: "succeeded", slow: false });
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

function answered() {
  const { runtime } = harness.context;
  return { kind: "answered", id: runtime.uuid(), startedAt: runtime.now(), statusCode: 204, answer: "" } as const;
}
