/** One Idempotency-Key is one session, whatever the network and the merchant's retries do. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const demo = await joinTestDemo({ merchants: 2 });
const merchant = new ApiCheckout(demo.file);

describe("an Idempotency-Key", () => {
  it("makes one session of eight concurrent calls, and eight times the same bytes", async () => {
    const orderRef = `order-${randomUUID()}`;
    const headers = { "idempotency-key": randomUUID() };
    const answers = await Promise.all(Array.from({ length: 8 }, () => merchant.create({ orderRef }, headers)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(bodies).size).toBe(1);
    expect(answers.filter((answer) => answer.headers.get("idempotent-replayed") === "true")).toHaveLength(7);
    expect(new Set(answers.map((answer) => answer.headers.get("location"))).size).toBe(1);
    const { secretKey } = demo.file.merchants[0]!.test;
    const list = await fetch(`${demo.file.restBase}/payment-sessions?orderRef=${orderRef}`, {
      headers: { authorization: `Bearer ${secretKey}` },
    });
    expect(await list.json()).toMatchObject({ paymentSessions: [{ sessionId: JSON.parse(bodies[0]!).sessionId }] });
  });

  it("is refused with other fields", async () => {
    const orderRef = `order-${randomUUID()}`;
    const headers = { "idempotency-key": randomUUID() };
    expect((await merchant.create({ orderRef }, headers)).status).toBe(201);
    for (const change of [{ amountMinor: 4901 }, { currency: "USD" }, { customerEmail: "a@b.example" }]) {
      const answer = await merchant.create({ orderRef, ...change }, headers);
      expect(answer.status).toBe(422);
      expect(await answer.json()).toMatchObject({ code: "idempotency_key_reused" });
    }
  });

  it("is not used up by a request that is refused", async () => {
    const orderRef = `order-${randomUUID()}`;
    const headers = { "idempotency-key": randomUUID() };
    expect((await merchant.create({ orderRef, amountMinor: -1 }, headers)).status).toBe(400);
    const answer = await merchant.create({ orderRef }, headers);
    expect(answer.status).toBe(201);
    expect(answer.headers.get("idempotent-replayed")).toBeNull();
  });

  it("belongs to one merchant and one environment", async () => {
    const orderRef = `order-${randomUUID()}`;
    const headers = { "idempotency-key": randomUUID() };
    const keys = demo.file.merchants.flatMap(({ test, live }) => [test.secretKey, live.secretKey]);
    const answers = await Promise.all(keys.map((key) => new ApiCheckout(demo.file, key).create({ orderRef }, headers)));
    const sessionIds = await Promise.all(answers.map(async (answer) => (await answer.json()).sessionId));
    expect(new Set(sessionIds).size).toBe(keys.length);
  });
});
