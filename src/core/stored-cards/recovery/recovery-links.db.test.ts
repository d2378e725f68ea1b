/** Paying a renewal by a link: one capture for each renewal, whoever pays it, and the agreement goes on with the card. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { recordSettings } from "../../../accounts/merchant-settings.ts";
import { renewalTriesMax } from "../../../limits.ts";
import { declareRestore } from "../../../oversight/declare-restore.ts";
import { type AgreementId, encodeId, type SessionId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { attemptIdOf, deriveId } from "../../record/open-attempt.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { AuthenticationFixture, shopper } from "../../scenarios/authentication.fixture.ts";
import { cards } from "../../scenarios/core.fixture.ts";
import * as restore from "../../scenarios/restore.fixture.ts";
import { cancelAgreement } from "../agreements.ts";
import { deleteMethod } from "../payment-methods.ts";
import { type RenewalFixture, startRenewals } from "../renewals/renewals.fixture.ts";
import { consent } from "../stored-cards.fixture.ts";
import { listStoredCards, useStoredCard } from "../use-stored-card.ts";
import { verifyLinkToken } from "./link-token.ts";
import { createRecoveryLink, openRecoveryLink, type WantedLink } from "./recovery-links.ts";

let fixture: RenewalFixture;
let bank: AuthenticationFixture;
beforeAll(async () => {
  fixture = await startRenewals();
  bank = new AuthenticationFixture(fixture.base);
  const { owner, core } = fixture.base;
  await core.database.transaction((tx) => recordSettings(tx, owner));
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await fixture.base.setClockAhead(0);
  await fixture.base.asOwner.pool.query(
    "DELETE FROM card_decline; DELETE FROM card_state; UPDATE replica_mark SET restored_at = NULL, restores = 0",
  );
});

// Renewals are declined for want of the customer, until the number is stored again.
const wantsCustomer = "4000000000007296";
const hour = 60;
const asked = { amountMinor: 900, currency: "EUR", orderRef: "invoice-1" };
const pageOrigin = "https://pay.example";

/** Makes the link of the renewal, and returns its token. */
async function linkOf(agreementId: AgreementId, change: Partial<WantedLink> = {}): Promise<string> {
  const { merchantId } = fixture.base.owner;
  const { token } = await createRecoveryLink(fixture.core, { merchantId, agreementId, ...asked, ...change });
  return token.expose();
}

async function open(token: string) {
  const named = verifyLinkToken(fixture.core.clientSecretKeys, token);
  const opened = named && (await openRecoveryLink(fixture.core, named, { pageOrigin }));
  if (opened === undefined) throw new Error("there is no such link");
  return opened;
}

async function sessionOf(token: string): Promise<{ readonly id: SessionId }> {
  const { session } = await open(token);
  if (session === undefined) throw new Error("nothing can be paid");
  return { id: session.sessionId };
}

/** Pays as the customer on the page does. */
async function pay(
  session: { readonly id: SessionId },
  { number = cards.approved, token = `tok_${systemRuntime.uuid()}` } = {},
): Promise<PaymentSession> {
  const paid = await fixture.base.submitWith(session, { number, token, core: fixture.core, consent, shopper });
  await fixture.settled();
  return paid;
}

/** An agreement whose renewal was declined for want of the customer. */
async function declined(): Promise<AgreementId> {
  const agreementId = await fixture.agree({ number: wantsCustomer });
  const { payment } = await fixture.charge(agreementId);
  expect(payment.session).toMatchObject({ status: "DECLINED" });
  return agreementId;
}

const renewalsOf = async (agreementId: AgreementId) => (await fixture.agreement(agreementId)).renewals;
const capturedOf = (session: { readonly id: SessionId }) => fixture.base.capturedAtGateways(session);
const storedOf = async (session: { readonly id: SessionId }) => (await fixture.base.loadSession(session)).stored!;
const idOf = ({ id }: { readonly id: SessionId }) => encodeId("ps", id);

describe("a declined renewal, by its link", () => {
  it("is paid with another card, with which the agreement goes on", async () => {
    const agreementId = await declined();
    const before = (await fixture.agreement(agreementId)).agreement;
    const opened = await open(await linkOf(agreementId, { returnTo: "https://shop.example/" }));
    expect(opened).toMatchObject({
      ...{
        amountMinor: 900,
        currency: "EUR",
        text: before.text,
        returnTo: "https://shop.example/",
        refused: undefined,
      },
      card: { brand: "visa", last4: "7296" },
      session: { vault: { storedCards: true } },
    });
    const session = { id: opened.session!.sessionId };
    fixture.vault.number = cards.approved;
    expect(await pay(session)).toMatchObject({ status: "SUCCEEDED", amountMinor: 900, orderRef: "invoice-1" });
    expect(await capturedOf(session)).toBe(1);
    expect(await storedOf(session)).toMatchObject({ role: "RECOVERY", renewalRef: "invoice-1", saving: "KEPT" });
    const { agreement } = await fixture.agreement(agreementId);
    expect(agreement).toMatchObject({ status: "ACTIVE", chainVersion: 2, sessionId: session.id });
    expect(agreement.methodId).not.toBe(before.methodId);
    expect(agreement.ownMethod).not.toBe(before.ownMethod);
    expect(await fixture.base.eventTypes(session)).toEqual([
      ...["payment_session.succeeded", "payment_method.saved", "agreement.updated"],
    ]);
    expect(await renewalsOf(agreementId)).toEqual([
      { renewalRef: "invoice-1", sessionId: session.id, paidSessionId: session.id, tries: 2 },
    ]);
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_paid" });
    const next = await fixture.charge(agreementId, { renewalRef: "next" });
    expect(next.payment.session.status).toBe("SUCCEEDED");
    expect(next.payment.stored).toMatchObject({ chainVersion: 2, methodId: agreement.methodId });
  });

  it("is paid with the stored card, for which the bank is asked", async () => {
    const agreementId = await declined();
    const session = await sessionOf(await linkOf(agreementId));
    const { session: read } = await fixture.base.loadSession(session);
    const { cards: listed, saving } = await listStoredCards(fixture.core, read);
    expect([listed.map(({ last4 }) => last4), saving]).toEqual([["7296"], { agreementText: "Charged each month." }]);
    const { token } = await useStoredCard(fixture.core, read, listed[0]!.id);
    const waiting = await pay(session, { number: wantsCustomer, token: token.expose() });
    expect(waiting.awaitingSince).not.toBeNull();
    await bank.answerAndReturn(waiting, "pass");
    await fixture.settled();
    expect(await fixture.base.loadSession(session)).toMatchObject({ session: { status: "SUCCEEDED" } });
    expect((await fixture.agreement(agreementId)).agreement).toMatchObject({
      ...{ status: "ACTIVE", chainVersion: 2, methodId: listed[0]!.id },
    });
    const next = await fixture.charge(agreementId, { renewalRef: "next" });
    expect(next.payment.session.status).toBe("SUCCEEDED");
  });

  it("makes an agreement ACTIVE again whose card was deleted, and pays what was never tried", async () => {
    const agreementId = await fixture.agree();
    const { agreement } = await fixture.agreement(agreementId);
    await deleteMethod(fixture.core, { merchantId: fixture.base.owner.merchantId, methodId: agreement.methodId! });
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "agreement_not_active" });
    const { card, session } = await open(await linkOf(agreementId));
    expect(card).toBeUndefined();
    await pay({ id: session!.sessionId });
    expect((await fixture.agreement(agreementId)).agreement).toMatchObject({ status: "ACTIVE", statusBecause: null });
    expect(await renewalsOf(agreementId)).toMatchObject([{ paidSessionId: session!.sessionId, tries: 1 }]);
  });

  it("takes another card in a fresh session after a decline", async () => {
    const agreementId = await declined();
    const token = await linkOf(agreementId);
    const first = await sessionOf(token);
    expect((await pay(first, { number: cards.fraud })).status).toBe("DECLINED");
    const second = await sessionOf(token);
    expect(second.id).not.toBe(first.id);
    expect((await pay(second)).status).toBe("SUCCEEDED");
    expect(await capturedOf(first)).toBe(0);
    expect(await renewalsOf(agreementId)).toMatchObject([{ paidSessionId: second.id, tries: 3 }]);
  });

  it("is not paid without the customer's consent, nor by a page that cannot ask the customer", async () => {
    const agreementId = await declined();
    const token = await linkOf(agreementId);
    const session = await sessionOf(token);
    const given = { number: cards.approved, token: "tok_9", core: fixture.core };
    await expect(fixture.base.submitWith(session, { ...given, shopper })).rejects.toMatchObject({
      code: "consent_required",
    });
    expect(await fixture.base.submitWith(session, { ...given, consent })).toMatchObject({
      ...{ status: "DECLINED", declineCode: "authentication_required" },
    });
    expect(await renewalsOf(agreementId)).toMatchObject([{ paidSessionId: null }]);
  });
});

describe("opening a link", () => {
  it("changes neither the renewal nor the agreement, and shows one session however often", async () => {
    const agreementId = await declined();
    const token = await linkOf(agreementId);
    const before = await fixture.agreement(agreementId);
    const first = await sessionOf(token);
    expect(await Promise.all([sessionOf(token), sessionOf(token), sessionOf(token)])).toEqual([first, first, first]);
    expect(await fixture.agreement(agreementId)).toEqual(before);
    expect(await fixture.base.loadSession(first)).toMatchObject({ session: { status: "CREATED", phase: "IDLE" } });
  });

  it("shows another session once the first one has expired", async () => {
    const agreementId = await declined();
    const token = await linkOf(agreementId);
    const first = await sessionOf(token);
    await fixture.base.setClockAhead(hour);
    const second = await sessionOf(token);
    expect(second.id).not.toBe(first.id);
    await expect(pay(first)).rejects.toMatchObject({ code: "session_ended" });
    expect((await pay(second)).status).toBe("SUCCEEDED");
  });

  it("needs the address as it was made", async () => {
    const keys = fixture.core.clientSecretKeys;
    const agreementId = await declined();
    const token = await linkOf(agreementId);
    expect(verifyLinkToken(keys, token)).toMatchObject({ version: 1 });
    const otherLink = await linkOf(await declined());
    const wrong = [
      `${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`,
      token.replace("_t1_1_", "_t1_2_"),
      token.replace("_t1_1_", "_l1_1_"),
      token.replace("_t1_1_", "_t2_1_"),
      `${otherLink.slice(0, 29)}${token.slice(29)}`,
      token.slice(0, -2),
      "",
    ];
    for (const one of wrong) expect(verifyLinkToken(keys, one)).toBeUndefined();
    expect(verifyLinkToken({ ...keys, keys: new Map([[1, Buffer.alloc(32, 2)]]) }, token)).toBeUndefined();
    const rows = await fixture.base.asOwner.pool.query("SELECT l::text AS row FROM recovery_link l");
    expect(rows.rows.map(({ row }) => row).join()).not.toContain(token.slice(-43));
  });
});

describe("two who pay one renewal", () => {
  it("in two tabs pay it once", async () => {
    const agreementId = await declined();
    const token = await linkOf(agreementId);
    const session = await sessionOf(token);
    const paid = await Promise.allSettled([pay(session), pay(session), pay(session)]);
    expect(paid.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(1);
    for (const one of paid) {
      if (one.status === "rejected") expect(one.reason.code).toMatch(/^(already_submitted|session_ended)$/);
    }
    expect(await capturedOf(session)).toBe(1);
    expect(await renewalsOf(agreementId)).toMatchObject([{ paidSessionId: session.id, tries: 2 }]);
  });

  it("refuses a charge of the merchant while the customer's payment is under way", async () => {
    const agreementId = await fixture.agree();
    const session = await sessionOf(await linkOf(agreementId));
    await fixture.base.sandbox.hold("a.authorize");
    const paying = pay(session);
    await fixture.base.sandbox.paused({ operation: "a.authorize" });
    const refusal = await fixture.charge(agreementId).catch((error: unknown) => error);
    await fixture.base.sandbox.release({});
    expect((await paying).status).toBe("SUCCEEDED");
    expect(refusal).toMatchObject({ code: "renewal_in_progress", state: { sessionId: idOf(session) } });
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_paid" });
    expect(await capturedOf(session)).toBe(1);
  });

  it("refuses the customer, who had the link open, while the merchant's charge is under way", async () => {
    const agreementId = await fixture.agree();
    const token = await linkOf(agreementId);
    const session = await sessionOf(token);
    await fixture.base.sandbox.hold("a.authorize");
    const charging = fixture.charge(agreementId);
    await fixture.base.sandbox.paused({ operation: "a.authorize" });
    const refusal = await pay(session).catch((error: unknown) => error);
    const meanwhile = await open(token);
    await fixture.base.sandbox.release({});
    const { payment } = await charging;
    const state = { sessionId: idOf(payment.session) };
    expect(refusal).toMatchObject({ code: "renewal_in_progress", state });
    expect(meanwhile).toMatchObject({ refused: "in_progress", session: undefined });
    expect(payment.session.status).toBe("SUCCEEDED");
    await expect(pay(session)).rejects.toMatchObject({ code: "renewal_paid", state });
    expect(await open(token)).toMatchObject({ refused: "paid", session: undefined });
    expect((await fixture.base.loadSession(session)).attempts).toEqual([]);
    await expect(linkOf(agreementId)).rejects.toMatchObject({ code: "renewal_paid", state });
  });

  it("at the same moment pay it once", async () => {
    for (let round = 0; round < 10; round++) {
      const agreementId = await fixture.agree();
      const session = await sessionOf(await linkOf(agreementId));
      const token = `tok_${systemRuntime.uuid()}`;
      const [charged, paid] = await Promise.allSettled([fixture.charge(agreementId), pay(session, { token })]);
      expect([charged.status, paid.status].toSorted()).toEqual(["fulfilled", "rejected"]);
      const [renewal] = await renewalsOf(agreementId);
      const paidSessionId = renewal?.paidSessionId ?? "";
      expect(await capturedOf({ id: paidSessionId })).toBe(1);
      expect(await capturedOf(session)).toBe(paidSessionId === session.id ? 1 : 0);
      await fixture.settled();
    }
  });
});

describe("a link", () => {
  it("is one for each renewal, and keeps its amount", async () => {
    const agreementId = await declined();
    const token = await linkOf(agreementId);
    expect(await linkOf(agreementId, { expiresInHours: 300 })).toBe(token);
    for (const change of [{ amountMinor: 901 }, { orderRef: "other", renewalRef: "invoice-1" }]) {
      await expect(linkOf(agreementId, change)).rejects.toMatchObject({
        code: "invalid_field",
        problems: [{ param: "amountMinor" }],
      });
    }
    expect(await linkOf(agreementId, { renewalRef: "other" })).not.toBe(token);
  });

  it("has another address once it has expired, and the old one stays dead", async () => {
    const agreementId = await declined();
    const token = await linkOf(agreementId, { expiresInHours: 2 });
    const session = await sessionOf(token);
    const { session: read } = await fixture.base.loadSession(session);
    expect(read.expiresAt.getTime() - read.createdAt.getTime()).toBe(fixture.base.owner.sessionLifetimeMs);
    await fixture.base.setClockAhead(2 * hour - 10);
    const last = (await fixture.base.loadSession(await sessionOf(token))).session;
    expect(last.expiresAt.getTime() - last.createdAt.getTime()).toBeLessThanOrEqual(10 * 60_000);
    await fixture.base.setClockAhead(2 * hour + 1);
    expect(await open(token)).toMatchObject({ refused: "link_expired", session: undefined });
    await expect(pay(last)).rejects.toMatchObject({ code: "session_ended" });
    const another = await linkOf(agreementId);
    expect(another).not.toBe(token);
    expect(await open(token)).toMatchObject({ refused: "link_expired", session: undefined });
    expect((await pay(await sessionOf(another))).status).toBe("SUCCEEDED");
  });

  it("ends with the agreement, also while it is open", async () => {
    const agreementId = await declined();
    const token = await linkOf(agreementId);
    const session = await sessionOf(token);
    await cancelAgreement(fixture.core, { merchantId: fixture.base.owner.merchantId, agreementId }, "merchant");
    await expect(pay(session)).rejects.toMatchObject({ code: "agreement_not_active", state: { status: "CANCELLED" } });
    expect(await open(token)).toMatchObject({ refused: "cancelled", session: undefined });
    await expect(linkOf(agreementId)).rejects.toMatchObject({ code: "agreement_not_active" });
  });

  it("is of the merchant's own agreements, and within them", async () => {
    const agreementId = await fixture.agree({ terms: { maxAmountMinor: 1_000 } });
    const strange = { merchantId: systemRuntime.uuid() };
    await expect(linkOf(agreementId, strange)).rejects.toMatchObject({ code: "not_found" });
    await expect(linkOf(systemRuntime.uuid())).rejects.toMatchObject({ code: "not_found" });
    const exceeds = { code: "amount_exceeds_agreement" };
    await expect(linkOf(agreementId, { amountMinor: 1_001 })).rejects.toMatchObject(exceeds);
    await expect(linkOf(agreementId, { currency: "USD" })).rejects.toMatchObject(exceeds);
    await expect(linkOf(agreementId, { currency: "XXX" })).rejects.toMatchObject({ code: "invalid_field" });
    await expect(linkOf(agreementId, { renewalRef: " " })).rejects.toMatchObject({
      problems: [{ param: "renewalRef" }],
    });
    expect(await renewalsOf(agreementId)).toEqual([]);
  });

  it("takes as many payments as a renewal has tries", async () => {
    const agreementId = await fixture.agree();
    const token = await linkOf(agreementId);
    for (let nth = 0; nth < renewalTriesMax; nth++)
      expect((await pay(await sessionOf(token), { number: cards.fraud })).status).toBe("DECLINED");
    expect(await open(token)).toMatchObject({ refused: "link_tries", session: undefined });
  });
});

describe("after a restore", () => {
  const declare = () => declareRestore(fixture.base.asOwner, { backupTakenAt: undefined });
  const nameOf = (agreementId: AgreementId, nth: number, restores = 0) =>
    deriveId(String(agreementId), `recovery ${restores} ${nth} invoice-1`);

  it("a lost payment by a link pays the renewal that its merchant charges again", async () => {
    const agreementId = await fixture.agree();
    const lost = { id: nameOf(agreementId, 2), ...asked } as PaymentSession;
    const reference = await restore.payUnseen(fixture.base, lost, 1, "captured");
    await declare();
    const { payment } = await fixture.charge(agreementId, { signal: AbortSignal.abort() });
    const paid = await restore.turns(fixture.base, payment.session, 7, fixture.core);
    expect(paid).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    const connectionId = fixture.base.connectionIds[1]!;
    expect((await fixture.base.loadSession(paid)).attempts).toMatchObject([
      { id: attemptIdOf({ sessionId: lost.id, connectionId }), status: "CAPTURED" },
    ]);
    expect((await fixture.base.sandbox.authorizations(reference)).map(({ status }) => status)).toEqual(["captured"]);
  });

  it("a lost payment by a link that was open pays its renewal", async () => {
    const agreementId = await fixture.agree();
    const opened = await sessionOf(await linkOf(agreementId));
    const lost = { id: nameOf(agreementId, 1), ...asked } as PaymentSession;
    await restore.payUnseen(fixture.base, lost, 0, "captured");
    await declare();
    const paid = await restore.turns(fixture.base, opened as PaymentSession, 7, fixture.core);
    expect(paid).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect(await renewalsOf(agreementId)).toMatchObject([{ paidSessionId: opened.id }]);
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_paid" });
  });

  it("a link waits until a charge of its merchant has asked the gateways", async () => {
    const agreementId = await fixture.agree({ number: wantsCustomer });
    const token = await linkOf(agreementId);
    const opened = await sessionOf(token);
    await declare();
    await expect(pay(opened)).rejects.toMatchObject({ code: "already_submitted" });
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_in_progress" });
    expect((await restore.turns(fixture.base, opened as PaymentSession, 7, fixture.core)).status).not.toBe("SUCCEEDED");
    await fixture.base.setClockAhead(0);
    expect(await open(token)).toMatchObject({ refused: "doubt", session: undefined });
    const { payment } = await fixture.charge(agreementId, { signal: AbortSignal.abort() });
    expect((await restore.turns(fixture.base, payment.session, 7, fixture.core)).status).toBe("DECLINED");
    await fixture.base.setClockAhead(0);
    // Not under the old names, which the gateways have voided.
    const session = await sessionOf(token);
    expect((await fixture.base.loadSession(session)).session.namedBy).toBe(nameOf(agreementId, 1, 1));
    expect((await pay(session)).status).toBe("SUCCEEDED");
    expect(await capturedOf(session)).toBe(1);
  });
});
