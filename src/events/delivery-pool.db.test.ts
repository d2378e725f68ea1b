import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { writeDueDeliveries } from "../dev/testing/events/due-deliveries.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { deliveryLeaseMs, postTimeoutMs, statementTimeoutMs } from "../limits.ts";
import { encodeId } from "../platform/ids.ts";
import { claimDeliveries, DeliveryPool } from "./delivery-pool.ts";

const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
});

const claim = (wanted: Omit<Parameters<typeof claimDeliveries>[1], "leaseToken">) =>
  claimDeliveries(harness.context.database, { leaseToken: harness.context.runtime.uuid(), ...wanted });

function countBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string, keys: readonly string[]): number[] {
  return keys.map((key) => rows.filter((row) => keyOf(row) === key).length);
}

describe("claimDeliveries()", () => {
  it("lets merchants take turns, however long one's backlog and however many its endpoints", async () => {
    const [big] = await writeDueDeliveries(harness, {
      merchants: 1,
      endpointsEach: 16,
      dueEach: 200,
      sinceSeconds: 600,
    });
    const small = await writeDueDeliveries(harness, { merchants: 9, endpointsEach: 1, dueEach: 5, sinceSeconds: 0 });
    const claimed = await claim({ limit: 100 });
    const merchants = [big!, ...small].map(({ merchantId }) => merchantId);
    expect(countBy(claimed, (row) => row.merchantId, merchants)).toEqual([55, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
  });

  it("lets a merchant's endpoints take turns", async () => {
    const [big] = await writeDueDeliveries(harness, { merchants: 1, endpointsEach: 4, dueEach: 50, sinceSeconds: 600 });
    const claimed = await claim({ limit: 40 });
    expect(countBy(claimed, (row) => row.endpointId, big!.endpointIds)).toEqual([10, 10, 10, 10]);
  });

  it("begins with the merchant that has the fewest in progress, and gives none more than its share", async () => {
    const two = await writeDueDeliveries(harness, { merchants: 2, endpointsEach: 1, dueEach: 60, sinceSeconds: 5 });
    const [busy, idle] = two.map(({ merchantId }) => merchantId) as [string, string];
    const shares = { underWay: new Map([[busy, 10]]), ofMerchant: 24, ofSuspects: 100 };
    const merchantOf = (row: { merchantId: string }) => row.merchantId;
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

  it("leaves room for posts without a lease: its own, and those that other workers may have at a healthy endpoint", async () => {
    const due = { merchants: 1, endpointsEach: 1, dueEach: 20, window: 8, sinceSeconds: 5 };
    for (const [failuresInRow, expected] of [
      [0, 3],
      [1, 7],
    ] as const) {
      const [written] = await writeDueDeliveries(harness, { ...due, failuresInRow });
      const { endpointIds } = written!;
      const unleased = new Map([[endpointIds[0]!, 1]]);
      const shares = { underWay: new Map(), ofMerchant: 100, ofSuspects: 100, unleased, workers: 2 };
      const where = { endpointIds, merchantIds: [] };
      expect(await claim({ limit: 100, where, shares })).toHaveLength(expected);
    }
  });

  it("keeps room for other endpoints beside suspect ones", async () => {
    const suspects = { merchants: 40, endpointsEach: 1, dueEach: 4, window: 4, failuresInRow: 1, sinceSeconds: 600 };
    await writeDueDeliveries(harness, suspects);
    await writeDueDeliveries(harness, { merchants: 3, endpointsEach: 1, dueEach: 4, sinceSeconds: 0 });
    const claimed = await claim({ limit: 100, shares: { underWay: new Map(), ofMerchant: 100, ofSuspects: 50 } });
    expect(countBy(claimed, (row) => String(row.lastAttemptFailed), ["true", "false"])).toEqual([50, 12]);
  });

  it("reads only the named endpoints and merchants", async () => {
    const named = await writeDueDeliveries(harness, { merchants: 3, endpointsEach: 2, dueEach: 1, sinceSeconds: 5 });
    const where = { endpointIds: [named[0]!.endpointIds[0]!], merchantIds: [named[1]!.merchantId] };
    const claimed = await claim({ limit: 100, where });
    const expected = [named[0]!.endpointIds[0]!, ...named[1]!.endpointIds];
    expect(claimed.map((row) => row.endpointId).toSorted()).toEqual(expected.toSorted());
  });

  it("leases for longer than an attempt and its recording take, and no longer than the lease", async () => {
    await writeDueDeliveries(harness, { merchants: 1, endpointsEach: 1, dueEach: 1, sinceSeconds: 5 });
    const left = async () => {
      const sql = `SELECT extract(epoch FROM next_at - app.clock())::float8 * 1000 AS ms FROM delivery
                   WHERE lease_token IS NOT NULL`;
      return (await harness.rows<{ ms: number }>(sql)).map(({ ms }) => ms);
    };
    const [claimed] = await claim({ limit: 1 });
    const [leftMs] = await left();
    expect(leftMs).toBeGreaterThan(deliveryLeaseMs - 5_000);
    expect(leftMs).toBeLessThanOrEqual(deliveryLeaseMs);
    expect(deliveryLeaseMs).toBeGreaterThan(postTimeoutMs + statementTimeoutMs);
    const end = `UPDATE delivery SET next_at = next_at - $1 * interval '1 millisecond' WHERE lease_token IS NOT NULL`;
    await harness.rows(end, [deliveryLeaseMs]);
    expect((await claim({ limit: 1 })).map((row) => row.eventId)).toEqual([claimed!.eventId]);
  });
});

/** Runs a breaking statement for one due delivery, and waits for the line in the log. */
async function logOf(breaking: string) {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  const merchantId = harness.context.runtime.uuid();
  const { endpointId } = await harness.addEndpoint({ merchantId, url: receiver.url });
  const { eventId, sessionId } = await harness.emit({ merchantId });
  await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
  await harness.rows(breaking);
  const logged = Promise.withResolvers<unknown[]>();
  const log = { warn: () => {}, error: (...line: unknown[]) => logged.resolve(line) };
  const deliveryPool = new DeliveryPool({ ...harness.context, log });
  onTestFinished(() => deliveryPool.close());
  deliveryPool.hint([endpointId]);
  return {
    named: { endpoint: encodeId("we", endpointId), event: encodeId("evt", eventId) },
    line: await logged.promise,
  };
}

describe("DeliveryPool", () => {
  it("names a delivery in the log that it could not sign", async () => {
    const { named, line } = await logOf("UPDATE endpoint SET secret_sealed = 'broken'");
    expect(line).toEqual([
      { ...named, stage: "signing", err: expect.any(Error) },
      "a delivery could not be attempted or recorded",
    ]);
  });

  it("names a delivery in the log that was posted and could not be recorded", async () => {
    const { named, line } = await logOf("ALTER TABLE delivery_attempt ADD CONSTRAINT no_more CHECK (false) NOT VALID");
    expect(line).toEqual([
      { ...named, stage: "recording", err: expect.any(Error) },
      "a delivery could not be attempted or recorded",
    ]);
  });
});
