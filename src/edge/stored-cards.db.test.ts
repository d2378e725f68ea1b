import { describe, expect, it } from "vitest";
import { cards } from "../core/scenarios/core.fixture.ts";
import { monthly } from "../core/stored-cards/stored-cards.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([]);

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
const create = (fields: object, headers: Record<string, string> = {}) =>
  edge.call("POST", "/payment-sessions", { body: JSON.stringify({ ...order, ...fields }), headers });

let customers = 0;

/** A customer with a stored card and an agreement, and the answer to the creation of its session. */
async function agreed() {
  const customerRef = `customer-${++customers}`;
  const created = (await create({ customerRef, saveCard: { agreement: monthly } })).json;
  const id = decodeId("ps", created.sessionId as string)!;
  const consent = { template: "agreement.1", locale: "en" };
  await edge.core.submitWith({ id }, { number: cards.approved, consent });
  const { inFlight } = edge.core.core;
  while (inFlight.size > 0) await Promise.all(inFlight);
  const session = (await edge.call("GET", `/payment-sessions/${created.sessionId}`)).json;
  return { customerRef, created, session };
}

describe("POST /api/v1/payment-sessions", () => {
  it("answers with the agreement that the payment begins, also to a repeat", async () => {
    const fields = { customerRef: "customer-x", saveCard: { agreement: monthly } };
    const headers = { "Idempotency-Key": systemRuntime.uuid() };
    const first = await create(fields, headers);
    expect([first.status, first.json.agreementId]).toEqual([201, expect.stringMatching(/^agr_/)]);
    expect(first.json.vault).toMatchObject({ storedCards: true });
    expect((await create(fields, headers)).text).toBe(first.text);
    const other = { ...fields, saveCard: { agreement: { ...monthly, text: "Another text." } } };
    expect((await create(other, headers)).json.code).toBe("idempotency_key_reused");
    expect((await create({ ...fields, saveCard: {} }, headers)).json.code).toBe("idempotency_key_reused");
  });

  it("answers as always to a session without a customer", async () => {
    const { json } = await create({});
    expect(Object.keys(json).toSorted()).toEqual(
      "amountMinor clientSecret currency expiresAt orderRef sessionId status vault".split(" "),
    );
    expect(json.vault).not.toHaveProperty("storedCards");
    const { json: session } = await edge.call("GET", `/payment-sessions/${json.sessionId}`);
    expect(session).not.toHaveProperty("initiator");
  });

  it.each([
    ["a card without a customer", { saveCard: {} }, "/customerRef"],
    ["an empty customer", { customerRef: "" }, "/customerRef"],
    ["a long customer", { customerRef: "x".repeat(256) }, "/customerRef"],
    ["a NUL in a customer", { customerRef: "a\u0000" }, "/customerRef"],
    ["another choice of codes", { customerRef: "c", storedCardSecurityCode: "maybe" }, "/storedCardSecurityCode"],
    [
      "an agreement without a type",
      { customerRef: "c", saveCard: { agreement: { text: "x" } } },
      "/saveCard/agreement/type",
    ],
    [
      "an agreement without a text",
      { customerRef: "c", saveCard: { agreement: { ...monthly, text: "" } } },
      "/saveCard/agreement/text",
    ],
    [
      "a long text",
      { customerRef: "c", saveCard: { agreement: { ...monthly, text: "x".repeat(501) } } },
      "/saveCard/agreement/text",
    ],
    [
      "one instalment",
      { customerRef: "c", saveCard: { agreement: { ...monthly, type: "INSTALMENT", instalments: 1 } } },
      "/saveCard/agreement/instalments",
    ],
    [
      "a hundred instalments",
      { customerRef: "c", saveCard: { agreement: { ...monthly, type: "INSTALMENT", instalments: 100 } } },
      "/saveCard/agreement/instalments",
    ],
    [
      "a time as a day",
      { customerRef: "c", saveCard: { agreement: { ...monthly, endsOn: "2099-01-01T00:00:00Z" } } },
      "/saveCard/agreement/endsOn",
    ],
    [
      "a past day",
      { customerRef: "c", saveCard: { agreement: { ...monthly, endsOn: "2001-01-01" } } },
      "/saveCard/agreement/endsOn",
    ],
    [
      "no amount",
      { customerRef: "c", saveCard: { agreement: { ...monthly, maxAmountMinor: 0 } } },
      "/saveCard/agreement/maxAmountMinor",
    ],
  ])("refuses %s", async (_, fields, pointer) => {
    const { status, json } = await create(fields);
    expect([status, json.errors]).toMatchObject([400, [{ pointer }]]);
  });

  it("refuses to store a card where the vault stores none", async () => {
    const { core } = edge.core;
    const { stored } = core.vault;
    Object.assign(core.vault, { stored: undefined });
    const { status, json } = await create({ customerRef: "c", saveCard: {} });
    const named = await create({ customerRef: "c" });
    Object.assign(core.vault, { stored });
    expect([status, json.code, json.param]).toEqual([422, "vault_cannot_store", "saveCard"]);
    expect([named.status, named.json.vault.storedCards]).toEqual([201, undefined]);
  });
});

describe("a session that has stored its card", () => {
  it("names the card and the agreement", async () => {
    const { customerRef, created, session } = await agreed();
    expect(session).toMatchObject({
      status: "SUCCEEDED",
      initiator: "CUSTOMER",
      customerRef,
      savedCard: { status: "SAVED" },
      agreementId: created.agreementId,
      paymentMethodId: expect.stringMatching(/^pm_/),
    });
    const { json } = await edge.call("GET", "/payment-sessions?pageSize=1");
    expect(json.paymentSessions[0]).toMatchObject({ customerRef });
  });
});

describe("/api/v1/payment-methods", () => {
  it("lists, reads and deletes a customer's card", async () => {
    const { customerRef, session } = await agreed();
    const { json: page } = await edge.call("GET", `/payment-methods?customerRef=${customerRef}`);
    const path = `/payment-methods/${session.paymentMethodId}`;
    const { json: method } = await edge.call("GET", path);
    expect(page).toEqual({ paymentMethods: [method] });
    expect(method).toMatchObject({
      paymentMethodId: session.paymentMethodId,
      customerRef,
      status: "ACTIVE",
      expired: false,
      card: { brand: "visa", last4: "4242", expMonth: 4, expYear: 2031 },
    });
    for (let times = 0; times < 2; times++) expect((await edge.call("DELETE", path)).status).toBe(200);
    expect((await edge.call("GET", path)).json.code).toBe("not_found");
    expect((await edge.call("GET", `/payment-methods?customerRef=${customerRef}`)).json).toEqual({
      paymentMethods: [],
    });
    const { json: agreement } = await edge.call("GET", `/agreements/${session.agreementId}`);
    expect(agreement).toMatchObject({ status: "NEEDS_CARD", statusBecause: "card_deleted" });
    expect(agreement).not.toHaveProperty("paymentMethodId");
  });

  it("knows no card of another merchant, and none by another kind of id", async () => {
    const { session } = await agreed();
    const { secret } = await edge.addMerchant();
    const headers = { authorization: `Bearer ${secret}` };
    const id = session.paymentMethodId as string;
    for (const method of ["GET", "DELETE"]) {
      expect((await edge.call(method, `/payment-methods/${id}`, { headers })).status).toBe(404);
      for (const other of [encodeId("pm", systemRuntime.uuid()), session.sessionId, "pm_"])
        expect((await edge.call(method, `/payment-methods/${other}`)).status).toBe(404);
    }
    expect((await edge.call("GET", "/payment-methods", { headers })).json).toEqual({ paymentMethods: [] });
    expect((await edge.call("GET", `/payment-methods/${id}`)).status).toBe(200);
  });

  it("needs the secret key", async () => {
    const headers = { authorization: `Bearer ${edge.keys.publishable}` };
    expect((await edge.call("GET", "/payment-methods", { headers })).status).toBe(403);
    expect((await edge.call("GET", "/agreements", { headers })).status).toBe(403);
  });
});

describe("/api/v1/agreements", () => {
  it("reads, lists and cancels an agreement", async () => {
    const { customerRef, session } = await agreed();
    const path = `/agreements/${session.agreementId}`;
    const { json: agreement } = await edge.call("GET", path);
    expect(agreement).toMatchObject({
      agreementId: session.agreementId,
      customerRef,
      status: "ACTIVE",
      terms: monthly,
      currency: "EUR",
      paymentMethodId: session.paymentMethodId,
      renewals: [],
    });
    expect(agreement.gateways).toHaveLength(2);
    const { json: page } = await edge.call("GET", `/agreements?customerRef=${customerRef}`);
    expect(page).toEqual({ agreements: [{ ...agreement, gateways: [] }] });
    for (let times = 0; times < 2; times++) {
      const { status, json } = await edge.call("POST", `${path}/cancel`);
      expect([status, json.status, json.statusBecause]).toEqual([200, "CANCELLED", "merchant"]);
    }
  });

  it("cancels nothing of another merchant", async () => {
    const { session } = await agreed();
    const { secret } = await edge.addMerchant();
    const headers = { authorization: `Bearer ${secret}` };
    expect((await edge.call("POST", `/agreements/${session.agreementId}/cancel`, { headers })).status).toBe(404);
    expect((await edge.call("GET", `/agreements/${session.agreementId}`)).json.status).toBe("ACTIVE");
  });
});
