import { describe, expect, it } from "vitest";
import { cards } from "../core/scenarios/core.fixture.ts";
import { monthly } from "../core/stored-cards/stored-cards.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([]);

const create = (fields: object, headers: Record<string, string> = {}) =>
  edge.call("POST", "/setup-sessions", { body: JSON.stringify(fields), headers });
const read = async (path: string) => (await edge.call("GET", path)).json;
const own = { customerRef: "customer-1", currency: "EUR", saveCard: {} };

/** Submits a set-up, and waits until its card is stored. */
async function submit(sessionId: string) {
  const consent = { template: "set_up_1", locale: "en" };
  await edge.core.submitWith({ id: decodeId("ps", sessionId)! }, { number: cards.approved, consent });
  const { inFlight } = edge.core.core;
  while (inFlight.size > 0) await Promise.all(inFlight);
}

describe("POST /api/v1/setup-sessions", () => {
  it("answers as the creation of a session of 0 does, and a repeat gets the same bytes", async () => {
    const headers = { "Idempotency-Key": systemRuntime.uuid() };
    const first = await create(own, headers);
    expect(first.status).toBe(201);
    expect(first.json).toMatchObject({ amountMinor: 0, currency: "EUR", orderRef: "setup", status: "CREATED" });
    expect(first.json.vault.storedCards).toBe(true);
    expect(Object.keys(first.json).toSorted()).toEqual(
      "amountMinor clientSecret currency expiresAt orderRef sessionId status vault".split(" "),
    );
    const again = await create(own, headers);
    expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
    expect((await create({ ...own, currency: "USD" }, headers)).json.code).toBe("idempotency_key_reused");
  });

  it("stores the card of its customer, and reads as a session that has", async () => {
    const { json } = await create({ ...own, customerRef: "customer-2", saveCard: { agreement: monthly } });
    expect(json.agreementId).toMatch(/^agr_/);
    await submit(json.sessionId);
    const session = await read(`/payment-sessions/${json.sessionId}`);
    expect(session).toMatchObject({
      status: "SUCCEEDED",
      amountMinor: 0,
      amountCapturedMinor: 0,
      amountRefundableMinor: 0,
      initiator: "CUSTOMER",
      savedCard: { status: "SAVED" },
      agreementId: json.agreementId,
    });
    const { paymentMethods } = await read("/payment-methods?customerRef=customer-2");
    expect(paymentMethods).toMatchObject([{ paymentMethodId: session.paymentMethodId }]);
    expect(await read(`/agreements/${json.agreementId}`)).toMatchObject({ status: "ACTIVE", currency: "EUR" });
  });

  it("refunds nothing", async () => {
    const { json } = await create(own);
    await submit(json.sessionId);
    const path = `/payment-sessions/${json.sessionId}/refunds`;
    const headers = { "Idempotency-Key": "refund-of-nothing" };
    const refund = await edge.call("POST", path, { body: JSON.stringify({ amountMinor: 1 }), headers });
    expect(refund.status).toBeGreaterThanOrEqual(400);
  });

  it.each([
    ["nothing", {}, ["/customerRef", "/currency"]],
    ["no currency", { customerRef: "c" }, ["/currency"]],
    ["a currency that is none", { customerRef: "c", currency: "XXX" }, ["/currency"]],
    ["an amount", { ...own, amountMinor: 0 }, ["/amountMinor"]],
    [
      "an agreement beside a customer",
      { ...own, agreementId: "agr_01m7yf98y0fht417q13cv6rysk" },
      ["/customerRef", "/currency", "/saveCard"],
    ],
  ])("refuses %s", async (_, fields, pointers) => {
    const { status, json } = await create(fields);
    expect([status, json.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([400, pointers]);
  });

  it("finds no agreement that does not exist", async () => {
    for (const agreementId of ["agr_01m7yf98y0fht417q13cv6rysk", "nonsense"])
      expect((await create({ agreementId })).json.code).toBe("not_found");
  });

  it("needs a secret key", async () => {
    const { status, json } = await create(own, { authorization: "Bearer pk_test_nobody" });
    expect([status, json.code]).toEqual([401, "invalid_key"]);
  });
});

describe("GET /api/v1/payment-sessions", () => {
  it("lists set-ups by kind=setup alone", async () => {
    const { json } = await create(own);
    const listed = async (query: string) =>
      (await read(`/payment-sessions?pageSize=100${query}`)).paymentSessions.map(
        ({ sessionId }: { sessionId: string }) => sessionId,
      );
    expect(await listed("")).not.toContain(json.sessionId);
    expect(await listed("&kind=payment")).not.toContain(json.sessionId);
    expect(await listed("&orderRef=setup")).not.toContain(json.sessionId);
    expect(await listed("&kind=setup")).toContain(json.sessionId);
    expect((await edge.call("GET", "/payment-sessions?kind=other")).status).toBe(400);
  });
});
