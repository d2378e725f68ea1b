/**
 * Replaces every process of every role, one after the other, while customers pay: no request fails, and no payment is
 * lost or doubled.
 */
import { describe, expect, it } from "vitest";
import { sha256 } from "../../platform/secrets.ts";
import { findViolations } from "../simulation/chaos/check.ts";
import { readRecords } from "../simulation/chaos/read-records.ts";
import { forFile } from "../testing/for-file.ts";
import { objectionsTo } from "../testing/stock-verifiers.ts";
import { Customers } from "./rolling-customers.ts";
import { type CopiedRole, RollingSite } from "./rolling-site.ts";

// Payments under way at any moment; each keeps three connections in use.
const shops = 3;
// Payments of each shop between two replacements: every new process gets its share.
const paymentsBetween = 2;
const order: readonly CopiedRole[] = ["vault", "worker", "edge"];
const patience = { timeout: 30_000, interval: 50 };

const site = await forFile(() => RollingSite.open());

describe("a rolling upgrade of an installation with two processes of each role", { timeout: 180_000 }, () => {
  it("fails no request, loses no payment and doubles none, and every merchant receives each outcome once", async () => {
    const customers = Array.from({ length: shops }, (_, number) => new Customers(site, number));
    const enough = new AbortController();
    const paying = Promise.all(customers.map((shop) => shop.payUntil(enough.signal)));
    const failures = () => customers.flatMap((shop) => shop.failures);
    const morePaid = async () => {
      const before = customers.map(({ paid }) => paid.length);
      const allPaid = () => customers.every(({ paid }, at) => paid.length >= before[at]! + paymentsBetween);
      await expect.poll(() => allPaid() || failures().length > 0, patience).toBe(true);
    };
    for (const role of order) {
      for (const copy of [0, 1]) {
        await morePaid();
        await site.replace(role, copy);
      }
    }
    await morePaid();
    enough.abort();
    await paying;
    for (const shop of customers) shop.close();
    expect(failures()).toEqual([]);
    expect(customers.map(({ sentAway }) => sentAway)).not.toEqual(customers.map(() => 0));
    expect(site.balancers.edge.refused + site.balancers.vault.refused).toBe(0);

    const paid = customers.flatMap((shop) => shop.paid);
    const readAll = () => readRecords([site.databaseUrl], site.sandbox);
    const { requests } = site.receiver;
    const webhooks = () => requests.filter(({ body }) => !body.includes('"webhook_endpoint.test"'));
    const undelivered = async () => {
      const received = new Set(webhooks().map(({ headers }) => String(headers["webhook-id"])));
      return (await readAll()).events.filter(({ eventId }) => !received.has(eventId)).length;
    };
    await expect.poll(undelivered, patience).toBe(0);

    const records = await readAll();
    expect(records.sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(paid.toSorted());
    const arrived = webhooks().map((request) => ({
      eventId: String(request.headers["webhook-id"]),
      body: sha256(request.body).toString("hex"),
      signed: objectionsTo(request, [site.merchant.signingSecret], []).length === 0,
      accepted: true,
    }));
    expect(findViolations({ ...records, webhooks: arrived, orders: [], clockMovedAt: [], outages: [] })).toEqual([]);
    expect(arrived.map(({ eventId }) => eventId).toSorted()).toEqual(
      records.events.map(({ eventId }) => eventId).toSorted(),
    );
    console.info(`${paid.length} payments and ${arrived.length} webhooks while six processes were replaced`);
  });
});

describe("an edge that is stopped in mid-payment", { timeout: 60_000 }, () => {
  it("answers the customer early, brings the payment to its end, and then ends in order", async () => {
    const customer = new Customers(site, shops);
    await site.sandbox.hold("a.authorize");
    const { sessionId, answer } = await customer.submitOne();
    await site.sandbox.paused({ operation: "a.authorize" });
    // One of them has it; the other is gone soon.
    const stopped = Promise.all([0, 1].map((copy) => site.stop("edge", copy)));
    expect(await answer).toMatchObject({ sessionId, processing: true });
    await site.sandbox.release();
    await stopped;
    customer.close();
    const { sessions, attempts } = await readRecords([site.databaseUrl], site.sandbox);
    const isOurs = (record: { sessionId: string }) => record.sessionId === sessionId;
    expect(sessions.filter(isOurs)).toMatchObject([{ status: "SUCCEEDED", phase: "DONE" }]);
    expect(attempts.filter(isOurs)).toMatchObject([{ gateway: "SANDBOX_A", status: "CAPTURED" }]);
  });
});
