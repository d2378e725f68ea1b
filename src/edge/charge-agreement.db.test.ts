import { beforeAll, describe, expect, it } from "vitest";
import { RenewalFixture } from "../core/stored-cards/renewals/renewals.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
const fixture = new RenewalFixture(edge.core);
beforeAll(() => edge.core.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));

const valid = { amountMinor: 900, currency: "EUR", orderRef: "invoice-1" };
const agreementId = async (...given: Parameters<typeof fixture.agree>) =>
  encodeId("agr", await fixture.agree(...given));
const charge = (of: string, fields: object = valid, key: string | null = systemRuntime.uuid()) =>
  edge.call("POST", `/agreements/${of}/payment-sessions`, {
    body: JSON.stringify(fields),
    headers: key === null ? {} : { "Idempotency-Key": key },
  });

describe("POST /api/v1/agreements/{agreementId}/payment-sessions", () => {
  it("answers 201 with the session as reading shows it, without secret and vault", async () => {
    const of = await agreementId();
    const key = systemRuntime.uuid();
    const { status, json, headers } = await charge(of, { ...valid, renewalRef: "march", metadata: { a: "b" } }, key);
    expect([status, json]).toMatchObject([
      201,
      {
        status: "SUCCEEDED",
        initiator: "MERCHANT",
        agreementId: of,
        renewalRef: "march",
        amountMinor: 900,
        metadata: { a: "b" },
        capturedVia: "SANDBOX_A",
        card: { brand: "visa", last4: "4242" },
      },
    ]);
    for (const name of ["clientSecret", "vault", "retry"]) expect(json).not.toHaveProperty(name);
    expect(headers.get("Location")).toBe(`/api/v1/payment-sessions/${json.sessionId}`);
    expect((await edge.call("GET", `/payment-sessions/${json.sessionId}`)).json).toEqual(json);
    const repeated = await charge(of, { ...valid, renewalRef: "march", metadata: { a: "b" } }, key);
    expect([repeated.status, repeated.json]).toEqual([201, json]);
    expect(repeated.headers.get("Idempotent-Replayed")).toBe("true");
  });

  it("needs a key, and refuses other fields under the same one", async () => {
    const of = await agreementId();
    const missing = await charge(of, valid, null);
    expect([missing.status, missing.json.code, missing.json.param]).toEqual([
      400,
      "missing_idempotency_key",
      "Idempotency-Key",
    ]);
    await charge(of, valid, "key-1");
    const other = await charge(of, { ...valid, amountMinor: 901 }, "key-1");
    expect([other.status, other.json.code]).toEqual([422, "idempotency_key_reused"]);
  });

  it("names the session that pays the renewal, or has paid it", async () => {
    const of = await agreementId();
    await edge.core.sandbox.hold("a.authorize");
    const paying = charge(of);
    await edge.core.sandbox.paused({ operation: "a.authorize" });
    const second = await charge(of);
    await edge.core.sandbox.release({});
    const { json: paid } = await paying;
    const state = { sessionId: paid.sessionId };
    expect([second.status, second.json]).toMatchObject([409, { code: "renewal_in_progress", state }]);
    expect(second.headers.get("Retry-After")).toBe("1");
    const third = await charge(of);
    expect([third.status, third.json]).toMatchObject([409, { code: "renewal_paid", state }]);
  });

  it.each([
    ["an agreement of another form", "agr_1", valid, [404, "not_found"]],
    ["an agreement that is not there", encodeId("agr", systemRuntime.uuid()), valid, [404, "not_found"]],
  ])("knows no %s", async (_, of, fields, [status, code]) => {
    const answer = await charge(of, fields);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  it("sees no agreement of another merchant", async () => {
    const of = await agreementId();
    const { secret } = await edge.addMerchant();
    const headers = { authorization: `Bearer ${secret}`, "Idempotency-Key": "k" };
    const answer = await edge.call("POST", `/agreements/${of}/payment-sessions`, {
      body: JSON.stringify(valid),
      headers,
    });
    expect([answer.status, answer.json.code]).toEqual([404, "not_found"]);
  });

  it.each([
    ["nothing", { amountMinor: 0 }, "/amountMinor"],
    ["another form of currency", { currency: "eur" }, "/currency"],
    ["a currency that is not in circulation", { currency: "DEM" }, "/currency"],
    ["a blank order", { orderRef: " " }, "/orderRef"],
    ["a blank renewal", { renewalRef: "\t" }, "/renewalRef"],
    ["no renewal", { renewalRef: "" }, "/renewalRef"],
  ])("refuses %s", async (_, change, pointer) => {
    const { status, json } = await charge(await agreementId(), { ...valid, ...change });
    expect([status, json.errors]).toMatchObject([400, [{ pointer }]]);
  });

  it("says what an agreement does not allow", async () => {
    const of = await agreementId({ terms: { maxAmountMinor: 899 } });
    const more = await charge(of);
    expect([more.status, more.json.code, more.json.param]).toEqual([422, "amount_exceeds_agreement", "amountMinor"]);
    await edge.call("POST", `/agreements/${of}/cancel`, { body: "{}" });
    const cancelled = await charge(of);
    expect([cancelled.status, cancelled.json]).toMatchObject([
      409,
      { code: "agreement_not_active", state: { status: "CANCELLED" } },
    ]);
  });

  it("says after a decline whether and when another try is allowed", async () => {
    const of = await agreementId({ number: "4000000000007379" });
    const { status, json } = await charge(of);
    expect([status, json]).toMatchObject([
      201,
      { status: "DECLINED", retry: { allowed: true, triesLeft: 7, customerNeeded: false } },
    ]);
    const { notBefore } = json.retry;
    const again = await charge(of);
    expect([again.status, again.json]).toMatchObject([422, { code: "retry_not_allowed", state: { notBefore } }]);
  });

  it("answers 503 while the vault opens no card, and creates nothing", async () => {
    const of = await agreementId();
    fixture.vault.isAway = true;
    const key = systemRuntime.uuid();
    const away = await charge(of, valid, key);
    fixture.vault.isAway = false;
    expect([away.status, away.json.code]).toEqual([503, "unavailable"]);
    expect((await charge(of, valid, key)).json.status).toBe("SUCCEEDED");
  });
});
