import { describe, expect, it } from "vitest";
import { cards } from "../core/scenarios/core.fixture.ts";
import { monthly } from "../core/stored-cards/stored-cards.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([]);

type Opened = { readonly sessionId: string; readonly clientSecret: string };

async function open(fields: object = {}): Promise<Opened> {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1", ...fields };
  return (await edge.call("POST", "/payment-sessions", { body: JSON.stringify(order) })).json as Opened;
}

async function rpc({ sessionId, clientSecret }: Opened, name: string, fields: object = {}) {
  const answer = await fetch(`http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json" },
    body: JSON.stringify({ sessionId, ...fields }),
  });
  return { status: answer.status, json: await answer.json() };
}

const listed = async (opened: Opened) => (await rpc(opened, "ListStoredCards")).json;

/** Stores a card of a customer with a payment, and returns that payment's session. */
async function store(customerRef: string): Promise<Opened> {
  const opened = await open({ customerRef, saveCard: {} });
  const consent = { template: "save_card_1", locale: "en" };
  await edge.core.submitWith({ id: decodeId("ps", opened.sessionId)! }, { number: cards.approved, consent });
  const { inFlight } = edge.core.core;
  while (inFlight.size > 0) await Promise.all(inFlight);
  return opened;
}

describe("the stored cards of a session's customer", () => {
  it("are shown by brand, last digits and expiry date alone, with what the session asks", async () => {
    await store("ada");
    const again = await open({ customerRef: "ada", saveCard: { agreement: monthly } });
    const { storedCards, ...asked } = await listed(again);
    expect(storedCards).toEqual([
      {
        paymentMethodId: expect.stringMatching(/^pm_/),
        brand: expect.any(String),
        last4: cards.approved.slice(-4),
        expMonth: expect.any(Number),
        expYear: expect.any(Number),
      },
    ]);
    expect(asked).toEqual({ securityCodeRequired: true, saving: { agreementText: monthly.text } });
    expect(await listed(await open({ customerRef: "ada", saveCard: {} }))).toMatchObject({ saving: {} });
    const withoutCode = await open({ customerRef: "ada", storedCardSecurityCode: "skip" });
    expect(Object.keys(await listed(withoutCode))).toEqual(["storedCards"]);
  });

  it("are no other customer's, nor of a session without a customer, nor of one that takes no card any more", async () => {
    const paid = await store("bea");
    const own = await open({ customerRef: "bea" });
    const [{ paymentMethodId }] = (await listed(own)).storedCards;
    for (const other of [await open({ customerRef: "eve" }), await open(), paid]) {
      expect((await listed(other)).storedCards).toBeUndefined();
      const used = await rpc(other, "UseStoredCard", { paymentMethodId });
      expect([used.status, used.json.code]).not.toEqual([200, undefined]);
      expect(used.json).not.toHaveProperty("vaultToken");
    }
    expect((await rpc(own, "UseStoredCard", { paymentMethodId: "pm_none" })).status).toBe(404);
    const { status, json } = await rpc(own, "UseStoredCard", { paymentMethodId });
    expect([status, Object.keys(json).toSorted()]).toEqual([200, ["expiresAt", "vaultToken"]]);
  });

  it("need the session's own client secret", async () => {
    const { sessionId } = await open({ customerRef: "bea" });
    const stranger = await open({ customerRef: "eve" });
    const foreign = { sessionId, clientSecret: stranger.clientSecret };
    expect((await rpc(foreign, "ListStoredCards")).status).toBe(401);
    expect((await rpc(foreign, "UseStoredCard", { paymentMethodId: "pm_none" })).status).toBe(401);
  });
});
