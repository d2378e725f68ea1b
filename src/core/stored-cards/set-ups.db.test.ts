/** Tests set-ups: a card is stored without a payment, nothing is captured or voided for it, and it appears in no list of payments. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AttemptAtGateway, Connector } from "../../gateways/connector.ts";
import { type AgreementId, encodeId } from "../../platform/ids.ts";
import { countPayments, listPayments } from "../../reporting/payment-list.ts";
import { cards } from "../scenarios/core.fixture.ts";
import { recoverSessionsOnce } from "../submit-payment.ts";
import { cancelAgreement } from "./agreements.ts";
import { deleteMethod } from "./payment-methods.ts";
import { startRenewals } from "./renewals/renewals.fixture.ts";
import { createSetUp, type SetUp } from "./set-ups.ts";
import { consent, methodsOf, monthly, rowsOf, savingOf } from "./stored-cards.fixture.ts";

const renewals = await forFile(startRenewals);
const { base, core } = renewals;
const { merchantId } = base.owner;

const create = (setUp: SetUp = {}) => {
  const fresh = setUp.agreementId ? {} : { customerRef: v7(), currency: "EUR" };
  return createSetUp(core, base.owner, { ...fresh, ...setUp });
};

/** Submits a set-up with a card, and waits until it is stored. */
async function submit(session: { readonly id: string }, { number = cards.approved as string, agrees = true } = {}) {
  renewals.vault.number = number;
  const read = (await base.loadSession(session as never)).session;
  const submitted = await base.submitWith(read, { number, token: `tok_${v7()}`, ...(agrees && { consent }) });
  await renewals.settled();
  return renewals.passBank(submitted);
}

const another = "4000000000007361";

describe("a set-up", () => {
  it("stores a card at an amount of 0, and sends neither capture nor void", async () => {
    const customerRef = v7();
    const { session, vault } = await create({ customerRef });
    expect([session.amountMinor, session.orderRef, vault.storedCards]).toEqual([0, "setup", true]);
    const before = await base.sandbox.requests();
    expect(await submit(session)).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_A",
      captureConfirmed: true,
    });
    expect(await methodsOf(base, customerRef)).toMatchObject([{ status: "ACTIVE" }]);
    const after = await base.sandbox.requests();
    const sent = Object.entries(after).filter(([name, count]) => count > (before[name] ?? 0));
    expect(sent.map(([name]) => name).filter((name) => /^[ab]\./.test(name))).toEqual(["a.authorize"]);
    expect(await base.eventTypes(session as never)).toEqual(["setup_session.succeeded", "payment_method.saved"]);
    expect(await rowsOf(base, "SELECT * FROM app.audit()")).toEqual([]);
  });

  it("begins an agreement, which is charged as one that began with a payment", async () => {
    const { session, agreementId } = await create({ saveCard: { agreement: monthly } });
    await submit(session);
    expect(await base.eventTypes(session as never)).toEqual([
      "setup_session.succeeded",
      "payment_method.saved",
      "agreement.updated",
    ]);
    const { payment } = await renewals.charge(agreementId!, { orderRef: "first" });
    expect(payment.session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A", amountMinor: 900 });
  });

  it("begins an agreement of instalments without using up one of them", async () => {
    const agreement = { ...monthly, type: "INSTALMENT", instalments: 2 } as const;
    const { session, agreementId } = await create({ saveCard: { agreement } });
    await submit(session);
    for (const orderRef of ["1", "2"])
      expect((await renewals.charge(agreementId!, { orderRef })).payment.session.status).toBe("SUCCEEDED");
    await expect(renewals.charge(agreementId!, { orderRef: "3" })).rejects.toMatchObject({
      code: "agreement_not_active",
    });
  });

  it("takes no submission without the customer's consent", async () => {
    const { session } = await create();
    await expect(submit(session, { agrees: false })).rejects.toMatchObject({ code: "consent_required" });
    expect((await base.loadSession(session as never)).session.phase).toBe("IDLE");
  });

  it("stores nothing of a card that is declined at 0, and says so by an event of its own", async () => {
    const customerRef = v7();
    const { session } = await create({ customerRef, saveCard: { agreement: monthly } });
    expect((await submit(session, { number: "4000000000007353" })).status).toBe("DECLINED");
    expect(await base.eventTypes(session as never)).toEqual(["setup_session.failed"]);
    expect(await methodsOf(base, customerRef)).toEqual([]);
  });

  it("expires with an event of its own", async () => {
    const { session } = await create();
    await rowsOf(base, "UPDATE payment_session SET expires_at = app.clock() WHERE id = $1", [session.id]);
    const { expireSession } = await import("../expire-sessions.ts");
    await expireSession(core, session.id);
    expect(await base.eventTypes(session as never)).toEqual(["setup_session.expired"]);
  });

  it("fails over, and ends the attempt that was not answered without a void", async () => {
    await base.sandbox.setCard("A", cards.approved, { act: "stay_silent" });
    const { session } = await create();
    renewals.vault.number = cards.approved;
    const read = (await base.loadSession(session)).session;
    const submitted = base.submitWith(read, { number: cards.approved, token: `tok_${v7()}`, consent });
    await base.sandbox.paused({ operation: "a.silence" });
    const before = await base.sandbox.requests();
    await base.sandbox.release({ operation: "a.silence" });
    expect(await submitted).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", failover: true });
    await base.sandbox.setCard("A", cards.approved, { act: "approve" });
    await renewals.settled();
    await recoverSessionsOnce(core);
    await renewals.settled();
    const { session: ended, attempts } = await base.loadSession(session);
    expect([ended.phase, attempts.map(({ status }) => status)]).toEqual(["DONE", ["VOIDED", "CAPTURED"]]);
    const after = await base.sandbox.requests();
    for (const name of ["a.void", "b.cancel", "b.capture"]) expect(after[name], name).toBe(before[name]);
  });

  it("is undone until its gateway says so, where that keeps the card of a set-up that was not answered", async () => {
    const connector = core.connectorOf("SANDBOX_A")! as { keepsSetUps?: boolean; void: Connector["void"] };
    const sends = connector.void;
    connector.keepsSetUps = true;
    const asked: AttemptAtGateway[] = [];
    connector.void = async (_, attempt) => {
      asked.push(attempt);
      return asked.length > 1 ? { type: "done" } : { type: "unknown", kind: "TIMEOUT", reason: "no answer" };
    };
    await base.sandbox.setCard("A", cards.approved, { act: "stay_silent" });
    const customerRef = v7();
    const { session } = await create({ customerRef });
    const submitted = submit(session);
    await base.sandbox.paused({ operation: "a.silence" });
    await base.sandbox.release({ operation: "a.silence" });
    expect(await submitted).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    const statuses = async () => (await base.loadSession(session)).attempts.map(({ status }) => status);
    expect([asked.length, await statuses()]).toEqual([1, ["VOIDING", "CAPTURED"]]);
    await base.setClockAhead(1);
    await recoverSessionsOnce(core);
    await renewals.settled();
    await base.setClockAhead(0);
    await base.sandbox.setCard("A", cards.approved, { act: "approve" });
    delete connector.keepsSetUps;
    connector.void = sends;
    expect([asked.length, await statuses()]).toEqual([2, ["VOIDED", "CAPTURED"]]);
    const { attempts } = await base.loadSession(session);
    const { attemptReference, storedCard } = asked[0]!;
    expect(attemptReference).toBe(encodeId("att", attempts[0]!.id));
    expect(storedCard).toMatchObject({ type: "save", purpose: "customer" });
    expect(await methodsOf(base, customerRef)).toMatchObject([{ status: "ACTIVE" }]);
  });

  it("leaves out the gateways that store no card without a payment", async () => {
    const { connectorOf } = core;
    const without = {
      ...core,
      connectorOf: (name: string) => ({ ...connectorOf(name)!, setsUp: name === "SANDBOX_B" }),
    };
    const { session } = await create();
    const read = (await base.loadSession(session)).session;
    const ended = await base.submitWith(read, { number: cards.approved, token: `tok_${v7()}`, consent, core: without });
    await renewals.settled();
    expect(ended).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", failover: false });
    expect(ended.skipped).toMatchObject([{ because: "SANDBOX_A stores no card without a payment." }]);
  });

  it("is in no list, sum or ledger, unless set-ups are asked for", async () => {
    const { session } = await create();
    await submit(session);
    const page = { merchantId, after: undefined, count: 100 };
    const isListed = async (filter: object) =>
      (await listPayments(core.database, { ...page, filter })).rows.some(({ id }) => id === session.id);
    expect([await isListed({}), await isListed({ isSetUp: true })]).toEqual([false, true]);
    const setUps = (await listPayments(core.database, { ...page, filter: { isSetUp: true } })).rows;
    expect(setUps.every(({ amountMinor }) => amountMinor === 0)).toBe(true);
    const all = await rowsOf<{ count: number }>(
      base,
      "SELECT count(*)::int FROM payment_session WHERE amount_minor > 0",
    );
    expect((await countPayments(core.database, { merchantId, filter: {} })).payments).toBe(all[0]!.count);
  });
});

describe("a set-up of another card for an agreement", () => {
  const replace = async (agreementId: AgreementId, card = {}) => {
    const { session, ...created } = await create({ agreementId });
    return { session, created, ended: await submit(session, { number: another, ...card }) };
  };

  it("begins the chain anew, and the next charge goes on with it", async () => {
    const agreementId = await renewals.agree({ terms: { maxAmountMinor: 1_000 } });
    const { agreement: former } = await renewals.agreement(agreementId);
    const { created, session } = await replace(agreementId);
    expect(created.agreementId).toBe(agreementId);
    const { agreement } = await renewals.agreement(agreementId);
    expect(agreement).toMatchObject({
      status: "ACTIVE",
      sessionId: session.id,
      chainVersion: 2,
      maxAmountMinor: 1_000,
    });
    expect([agreement.methodId, agreement.ownMethod]).not.toContain(former.methodId);
    expect(agreement.ownMethod).not.toBe(former.ownMethod);
    expect(agreement.consentedAt > former.consentedAt).toBe(true);
    const { payment } = await renewals.charge(agreementId);
    expect(payment.stored).toMatchObject({ chainVersion: 2, methodId: agreement.methodId });
    expect(payment.session).toMatchObject({ status: "SUCCEEDED", cardLast4: "7361" });
  });

  it("makes an agreement without a card ACTIVE again", async () => {
    const agreementId = await renewals.agree();
    const { agreement: former } = await renewals.agreement(agreementId);
    await deleteMethod(core, { merchantId, methodId: former.methodId! });
    expect((await renewals.agreement(agreementId)).agreement.status).toBe("NEEDS_CARD");
    await replace(agreementId);
    expect((await renewals.agreement(agreementId)).agreement).toMatchObject({ status: "ACTIVE", statusBecause: null });
    expect((await renewals.charge(agreementId)).payment.session.status).toBe("SUCCEEDED");
  });

  it("leaves the agreement as it is where the card is declined, or cannot be kept", async () => {
    const agreementId = await renewals.agree();
    const former = await renewals.agreement(agreementId);
    expect((await replace(agreementId, { number: "4000000000007353" })).ended.status).toBe("DECLINED");
    renewals.vault.hasLost = true;
    const { session, ended } = await replace(agreementId);
    renewals.vault.hasLost = false;
    expect([ended.status, (await savingOf(base, ended))?.saving]).toEqual(["SUCCEEDED", "FAILED"]);
    expect(session.amountMinor).toBe(0);
    expect(await renewals.agreement(agreementId)).toEqual(former);
  });

  it("is refused for an agreement that is over, is another merchant's, or does not exist", async () => {
    const agreementId = await renewals.agree();
    await cancelAgreement(core, { merchantId, agreementId }, "merchant");
    await expect(create({ agreementId })).rejects.toMatchObject({
      code: "agreement_not_active",
      state: { status: "CANCELLED" },
    });
    await expect(create({ agreementId: v7() as AgreementId })).rejects.toMatchObject({ code: "not_found" });
    const others = { ...base.owner, merchantId: v7() as typeof merchantId };
    await expect(createSetUp(core, others, { agreementId })).rejects.toMatchObject({ code: "not_found" });
  });

  it("is found again by its key, also when the agreement was cancelled since", async () => {
    const agreementId = await renewals.agree();
    const [key, other] = [v7(), v7()];
    const { session } = await createSetUp(core, base.owner, { agreementId }, key);
    await cancelAgreement(core, { merchantId, agreementId }, "merchant");
    const again = await createSetUp(core, base.owner, { agreementId }, key);
    expect(again).toMatchObject({ session: { id: session.id }, agreementId, replayed: true });
    await expect(createSetUp(core, base.owner, { agreementId }, other)).rejects.toMatchObject({
      code: "agreement_not_active",
    });
    await createSetUp(core, base.owner, { customerRef: v7(), currency: "EUR" }, other);
    await expect(createSetUp(core, base.owner, { agreementId }, other)).rejects.toMatchObject({
      code: "idempotency_key_reused",
    });
  });

  it("is found by its key in the cell that its merchant has left", async () => {
    const agreementId = await renewals.agree();
    const key = v7();
    const { session } = await createSetUp(core, base.owner, { agreementId }, key);
    // The same database as the other cell, which has no such key.
    const database = Object.create(core.database) as typeof core.database;
    database.query = async (statement, values) =>
      statement.name === "select_first_answer" || statement.name.startsWith("create_session")
        ? Promise.reject(new Error("a second set-up"))
        : core.database.query(statement, values);
    const again = await createSetUp({ ...core, database }, base.owner, { agreementId }, key, [core]);
    expect(again).toMatchObject({ session: { id: session.id }, replayed: true });
  });

  it("takes its customer, currency and terms from the agreement alone", async () => {
    const agreementId = await renewals.agree();
    const given = { agreementId, customerRef: "c", currency: "EUR", saveCard: {} };
    const pointers = ["/customerRef", "/currency", "/saveCard"].map((pointer) => ({ pointer }));
    await expect(createSetUp(core, base.owner, given)).rejects.toMatchObject({
      code: "invalid_field",
      problems: pointers,
    });
    await expect(createSetUp(core, base.owner, {})).rejects.toMatchObject({ problems: pointers.slice(0, 2) });
  });

  it("changes no agreement of another customer, whatever its row names", async () => {
    const [one, other] = [await renewals.agree(), await renewals.agree()];
    const { session } = await replace(one);
    const former = await renewals.agreement(other);
    // As if the set-up named another customer's agreement.
    const text = `SELECT app.renew_agreement(jsonb_populate_record(p, jsonb_build_object('agreement_id', $2::text)), p.method_id)
      FROM stored_payment p WHERE p.session_id = $1`;
    await rowsOf(base, text, [session.id, other]);
    expect(await renewals.agreement(other)).toEqual(former);
  });
});
