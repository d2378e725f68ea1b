import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClaimedDelivery, claimDeliveries } from "./claim-deliveries.ts";
import { type DueDeliveries, writeDueDeliveries } from "./testing/due-deliveries.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";
import { TryRecorder } from "./try-recorder.ts";

let bed: EventsBed;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());

async function claimAll(due: Partial<DueDeliveries> & { merchants: number; dueEach: number }) {
  await writeDueDeliveries(bed, { endpointsEach: 1, sinceSeconds: 60, ...due });
  const leaseToken = bed.context.entropy.uuid();
  return claimDeliveries(bed.context.database, { leaseToken, limit: due.merchants * due.dueEach });
}

/** Records all in one moment, as answered with 204 and an excerpt that names its place. */
function recordTaken(claimed: readonly ClaimedDelivery[], slow: (place: number) => boolean = () => false) {
  const recorder = new TryRecorder(bed.context.database);
  return Promise.all(
    claimed.map((delivery, place) =>
      recorder.record(
        delivery,
        { ...answered(), durationMs: place, answer: `{"place": "${place}", "quote": "'\\"}` },
        { kind: "succeeded", slow: slow(place) },
      ),
    ),
  );
}

const health = (endpointId: string) =>
  bed.rows("SELECT in_flight_max, failures_in_row, failing_since, probe_at FROM endpoint WHERE id = $1", [endpointId]);
/** In how many commits their log lines were written. */
async function commitsOf(claimed: readonly ClaimedDelivery[]): Promise<number> {
  const sql = "SELECT DISTINCT xmin::text FROM delivery_attempt WHERE event_id = ANY ($1)";
  return (await bed.rows(sql, [claimed.map(({ event_id }) => event_id)])).length;
}

describe("TryRecorder", () => {
  it("writes hundreds of webhooks that were taken at once in a few commits, each with its own log line", async () => {
    const claimed = await claimAll({ merchants: 8, dueEach: 40 });
    const written = await recordTaken(claimed);
    expect(await commitsOf(claimed)).toBeLessThan(claimed.length / 20);
    expect(written.every(({ recorded, takenAt }) => recorded && takenAt instanceof Date)).toBe(true);
    const rows = await bed.rows<{ event_id: string; answer: string; duration_ms: number; status: string }>(
      `SELECT event_id, answer, duration_ms, status FROM delivery JOIN delivery_attempt USING (event_id, endpoint_id)
       WHERE event_id = ANY ($1) AND tries = 1 AND lease_token IS NULL AND ended_at IS NOT NULL`,
      [claimed.map(({ event_id }) => event_id)],
    );
    const byEvent = new Map(rows.map((row) => [row.event_id, row]));
    claimed.forEach(({ event_id }, place) => {
      const answer = `{"place": "${place}", "quote": "'\\"}`;
      expect(byEvent.get(event_id)).toEqual({ event_id, answer, duration_ms: place, status: "SUCCEEDED" });
    });
  });

  it("widens windows by each success and forgets failures, for each endpoint by itself", async () => {
    const claimed = await claimAll({ merchants: 3, dueEach: 5, window: 20, failuresInRow: 2 });
    await recordTaken(claimed);
    const whole = { in_flight_max: 25, failures_in_row: 0, failing_since: null, probe_at: null };
    for (const { endpoint_id } of claimed) expect(await health(endpoint_id)).toEqual([whole]);
  });

  it("halves the window for each answer that took long, also one at its full size", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 10 });
    // The quick ones first: each that ended after the slow ones would widen it by one again.
    await recordTaken(claimed.slice(0, 8));
    await recordTaken(claimed.slice(8), () => true);
    const [{ in_flight_max: window }] = (await health(claimed[0]!.endpoint_id)) as [{ in_flight_max: number }];
    expect(window).toBe(16);
  });

  it("leaves out whose lease was lost, and records the rest", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 6 });
    const lost = claimed[3]!;
    await bed.rows("UPDATE delivery SET lease_token = gen_random_uuid() WHERE event_id = $1", [lost.event_id]);
    const written = await recordTaken(claimed);
    expect(written.map(({ recorded }) => recorded)).toEqual(claimed.map((delivery) => delivery !== lost));
    expect(await bed.rows("SELECT FROM delivery_attempt WHERE event_id = $1", [lost.event_id])).toEqual([]);
  });

  it("tells everyone whose commit failed, and goes on with the next", async () => {
    const claimed = await claimAll({ merchants: 1, dueEach: 9 });
    const recorder = new TryRecorder(bed.context.database);
    const record = (delivery: ClaimedDelivery, durationMs: number) =>
      recorder.record(delivery, { ...answered(), durationMs }, { kind: "succeeded", slow: false });
    // Four are written by themselves at once, and who comes meanwhile together afterwards.
    const recording = claimed.slice(0, 7).map((delivery, place) => record(delivery, place === 5 ? -1 : 1));
    const statuses = (await Promise.allSettled(recording)).map(({ status }) => status);
    expect(statuses).toEqual([...Array(4).fill("fulfilled"), ...Array(3).fill("rejected")]);
    expect(await Promise.all(claimed.slice(7).map((delivery) => record(delivery, 1)))).toMatchObject([
      { recorded: true },
      { recorded: true },
    ]);
  });
});

function answered() {
  const { entropy } = bed.context;
  return { kind: "answered", id: entropy.uuid(), startedAt: entropy.now(), statusCode: 204, answer: "" } as const;
}
