import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClaimedDelivery, claimDeliveries } from "./claim-deliveries.ts";
import { recordTry } from "./record-delivery.ts";
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
});
