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
    const health = await bed.rows("SELECT failures_in_row, in_flight_max FROM endpoint WHERE id = $1", [endpoint_id]);
    expect(health).toEqual([{ failures_in_row: 64, in_flight_max: 1 }]);
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
