import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { deliveryLeaseMs, postTimeoutMs, statementTimeoutMs } from "../limits.ts";
import { type Claim, claimDeliveries } from "./claim-deliveries.ts";
import { writeDueDeliveries } from "./testing/due-deliveries.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
});

const claim = (wanted: Omit<Claim, "leaseToken">) =>
  claimDeliveries(bed.context.database, { leaseToken: bed.context.entropy.uuid(), ...wanted });

/** How many of each were claimed, in the order of `keys`. */
function countBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string, keys: readonly string[]): number[] {
  return keys.map((key) => rows.filter((row) => keyOf(row) === key).length);
}

describe("claimDeliveries()", () => {
  it("gives merchants their turns, however long one's backlog and however many its endpoints", async () => {
    const [big] = await writeDueDeliveries(bed, { merchants: 1, endpointsEach: 16, dueEach: 200, sinceSeconds: 600 });
    const small = await writeDueDeliveries(bed, { merchants: 9, endpointsEach: 1, dueEach: 5, sinceSeconds: 0 });
    const claimed = await claim({ limit: 100 });
    const merchants = [big!, ...small].map(({ merchantId }) => merchantId);
    expect(countBy(claimed, (row) => row.merchant_id, merchants)).toEqual([55, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
  });

  it("gives a merchant's endpoints their turns", async () => {
    const [big] = await writeDueDeliveries(bed, { merchants: 1, endpointsEach: 4, dueEach: 50, sinceSeconds: 600 });
    const claimed = await claim({ limit: 40 });
    expect(countBy(claimed, (row) => row.endpoint_id, big!.endpointIds)).toEqual([10, 10, 10, 10]);
  });

  it("begins with who has the least under way, and gives nobody more than the share", async () => {
    const two = await writeDueDeliveries(bed, { merchants: 2, endpointsEach: 1, dueEach: 60, sinceSeconds: 5 });
    const [busy, idle] = two.map(({ merchantId }) => merchantId) as [string, string];
    const shares = { underWay: new Map([[busy, 10]]), ofMerchant: 24, ofFailing: 100 };
    const merchantOf = (row: { merchant_id: string }) => row.merchant_id;
    expect(countBy(await claim({ limit: 10, shares }), merchantOf, [busy, idle])).toEqual([0, 10]);
    const full = {
      ...shares,
      underWay: new Map([
        [busy, 10],
        [idle, 10],
      ]),
    };
    expect(countBy(await claim({ limit: 100, shares: full }), merchantOf, [busy, idle])).toEqual([14, 14]);
  });

  it("keeps room from endpoints that fail for those that do not", async () => {
    const failing = { merchants: 40, endpointsEach: 1, dueEach: 4, window: 4, failuresInRow: 1, sinceSeconds: 600 };
    await writeDueDeliveries(bed, failing);
    await writeDueDeliveries(bed, { merchants: 3, endpointsEach: 1, dueEach: 4, sinceSeconds: 0 });
    const claimed = await claim({ limit: 100, shares: { underWay: new Map(), ofMerchant: 100, ofFailing: 50 } });
    expect(countBy(claimed, (row) => String(row.is_failing), ["true", "false"])).toEqual([50, 12]);
  });

  it("looks at the endpoints and the merchants that are named, and at no others", async () => {
    const named = await writeDueDeliveries(bed, { merchants: 3, endpointsEach: 2, dueEach: 1, sinceSeconds: 5 });
    const where = { endpointIds: [named[0]!.endpointIds[0]!], merchantIds: [named[1]!.merchantId] };
    const claimed = await claim({ limit: 100, where });
    const expected = [named[0]!.endpointIds[0]!, ...named[1]!.endpointIds];
    expect(claimed.map((row) => row.endpoint_id).toSorted()).toEqual(expected.toSorted());
  });

  it("leases for longer than a try and its recording take, and no longer than the lease", async () => {
    await writeDueDeliveries(bed, { merchants: 1, endpointsEach: 1, dueEach: 1, sinceSeconds: 5 });
    const left = async () => {
      const sql = `SELECT extract(epoch FROM next_at - app.clock())::float8 * 1000 AS ms FROM delivery
                   WHERE lease_token IS NOT NULL`;
      return (await bed.rows<{ ms: number }>(sql)).map(({ ms }) => ms);
    };
    const [claimed] = await claim({ limit: 1 });
    const [leftMs] = await left();
    expect(leftMs).toBeGreaterThan(deliveryLeaseMs - 5_000);
    expect(leftMs).toBeLessThanOrEqual(deliveryLeaseMs);
    expect(deliveryLeaseMs).toBeGreaterThan(postTimeoutMs + statementTimeoutMs);
    const end = `UPDATE delivery SET next_at = next_at - $1 * interval '1 millisecond' WHERE lease_token IS NOT NULL`;
    await bed.rows(end, [deliveryLeaseMs]);
    expect((await claim({ limit: 1 })).map((row) => row.event_id)).toEqual([claimed!.event_id]);
  });
});
