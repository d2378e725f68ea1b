/** Paying a renewal by a link: one capture for each renewal, whoever pays it, and the agreement goes on with the card. */
import { describe, expect, it } from "vitest";
import { renewalTriesMax } from "../../../limits.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { shopper } from "../../scenarios/authentication.fixture.ts";
import { cards } from "../../scenarios/core.fixture.ts";
import { cancelAgreement, endAgreementsOnce } from "../agreements.ts";
import { deleteMethod } from "../payment-methods.ts";
import { consent } from "../stored-cards.fixture.ts";
import { listStoredCards, useStoredCard } from "../use-stored-card.ts";
import { verifyLinkToken } from "./link-token.ts";
import {
  bank,
  capturedOf,
  declined,
  fixture,
  hour,
  idOf,
  linkOf,
  open,
  pay,
  renewalsOf,
  sessionOf,
  storedOf,
  wantsCustomer,
} from "./recovery-links.fixture.ts";

describe("a declined renewal, by its link", () => {
  it("is paid with another card, with which the agreement goes on", async () => {
    const agreementId = await declined();
    const before = (await fixture.agreement(agreementId)).agreement;
    const opened = await open(await linkOf(agreementId, { returnTo: "https://shop.example/" }));
    expect(opened).toMatchObject({
      amountMinor: 900,
      currency: "EUR",
      text: before.text,
      returnTo: "https://shop.example/",
      refused: undefined,
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

  it("is paid with no other card of its customer: nobody has signed in", async () => {
    const customerRef = systemRuntime.uuid();
    const other = await fixture.agree({ customerRef });
    const agreementId = await fixture.agree({ number: wantsCustomer, customerRef });
    await fixture.charge(agreementId);
    const session = await sessionOf(await linkOf(agreementId));
    const { session: read } = await fixture.base.loadSession(session);
    const { cards: listed } = await listStoredCards(fixture.core, read);
    expect(listed.map(({ last4 }) => last4)).toEqual(["7296"]);
    const { methodId } = (await fixture.agreement(other)).agreement;
    await expect(useStoredCard(fixture.core, read, methodId!)).rejects.toMatchObject({ code: "not_found" });
    const { rows } = await fixture.base.asOwner.pool.query("SELECT FROM app.use_stored_card($1, $2, $3)", [
      session.id,
      methodId,
      Buffer.alloc(32),
    ]);
    expect(rows).toEqual([]);
  });

  it("is paid after the agreement's last day, but nothing is charged that was not", async () => {
    const endsOn = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const agreementId = await fixture.agree({
      number: wantsCustomer,
      terms: { type: "RECURRING", everyDays: 30, endsOn },
    });
    await fixture.charge(agreementId);
    const token = await linkOf(agreementId);
    await fixture.base.setClockAhead(48 * hour);
    await endAgreementsOnce(fixture.core);
    expect((await fixture.agreement(agreementId)).agreement).toMatchObject({ status: "ENDED" });
    expect(await open(token)).toMatchObject({ refused: undefined });
    await expect(linkOf(agreementId, { renewalRef: "another" })).rejects.toMatchObject({
      code: "agreement_not_active",
    });
    fixture.vault.number = cards.approved;
    expect((await pay(await sessionOf(token))).status).toBe("SUCCEEDED");
    expect((await fixture.agreement(agreementId)).agreement).toMatchObject({ status: "ENDED" });
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
      status: "ACTIVE",
      chainVersion: 2,
      methodId: listed[0]!.id,
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
    expect(await fixture.base.submitWith(session, { ...given, consent, shopper: {} })).toMatchObject({
      status: "DECLINED",
      declineCode: "authentication_required",
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
