/** What takes an acquirer longer than a test run should: the horizon after which nothing can come any more. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo, type TestDemo } from "./demo-fixture.ts";

let demo: TestDemo;

beforeAll(async () => {
  demo = await startTestDemo();
});
afterAll(() => demo?.close());

describe("a payment that no gateway answered", () => {
  it("is closed with every attempt voided, once nothing can come any more", async () => {
    const merchant = new ApiCheckout(demo.file);
    const card = testCards.find(({ name }) => name === "All gateways down")!;
    const session = await merchant.open();
    expect(await merchant.submit(session, await merchant.tokenize(session, card.number))).toMatchObject({
      status: "DEGRADED",
    });
    const statuses = async () => (await merchant.read(session.sessionId)).attempts?.map(({ status }) => status);
    await expect.poll(statuses, { timeout: 200_000, interval: 1_000 }).toEqual(["VOIDED", "VOIDED"]);
    const [, last] = (await merchant.read(session.sessionId)).attempts ?? [];
    expect(await demo.sandbox.authorizations(last?.attemptId ?? "")).toEqual([]);
    expect(last?.durationMs).toBeDefined();
  });
});
