/** Tests that a customer sees and uses the own cards only, that a card which may not pay does not, and that codes cannot be guessed. */
import { expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { MethodId } from "../../platform/ids.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { cancelAgreement, findAgreement, listAgreements } from "./agreements.ts";
import { eraseCardsOnce } from "./keep-card.ts";
import { deleteMethod, findMethod, listMethods } from "./payment-methods.ts";
import {
  agreementsOf,
  consent,
  methodsOf,
  monthly,
  payAndStore,
  rowsOf,
  savingOf,
  savingSession,
  withVault,
} from "./stored-cards.fixture.ts";
import { listStoredCards, useStoredCard } from "./use-stored-card.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule([]);
const { core, vault } = withVault(fixture);
const { merchantId } = fixture.owner;

let customers = 0;

/** A customer with one stored card, of a number of its own. */
async function customerWithCard(agreement?: typeof monthly) {
  const customerRef = `customer-${++customers}`;
  vault.number = `424242424242${String(1_000 + customers)}`;
  await payAndStore(fixture, core, await savingSession(fixture, { customerRef, ...(agreement && { agreement }) }));
  const [method] = await methodsOf(fixture, customerRef);
  return { customerRef, methodId: method!.id as MethodId, handle: method!.handle };
}

async function pay(session: PaymentSession, methodId: MethodId, number: string = cards.approved) {
  const { token } = await useStoredCard(core, session, methodId);
  const paid = await fixture.submitWith(session, { number, core, token: token.expose() });
  while (core.inFlight.size > 0) await Promise.all(core.inFlight);
  return paid;
}

it("lists a customer's cards, the last used one first, without what opens them", async () => {
  const { customerRef, methodId } = await customerWithCard();
  vault.number = "4000000000007270";
  await payAndStore(fixture, core, await savingSession(fixture, { customerRef }));
  const session = await fixture.newSession({ customerRef });
  const { cards: listed, needsSecurityCode, saving } = await listStoredCards(core, session);
  expect(listed.map(({ last4 }) => last4)).toEqual(["7270", expect.any(String)]);
  expect(listed.map(({ id }) => id)).toContain(methodId);
  expect(JSON.stringify(listed)).not.toMatch(/handle|sealed/i);
  expect([needsSecurityCode, saving]).toEqual([true, undefined]);
  await pay(session, methodId);
  const again = await listStoredCards(core, await fixture.newSession({ customerRef }));
  expect(again.cards[0]!.id).toBe(methodId);
});

it("says what the session asks about storing the card", async () => {
  const ask = async (session: PaymentSession) => (await listStoredCards(core, session)).saving;
  expect(await ask(await savingSession(fixture))).toEqual({ agreementText: undefined });
  expect(await ask(await savingSession(fixture, { agreement: monthly }))).toEqual({ agreementText: monthly.text });
  expect(await ask(await fixture.newSession())).toBeUndefined();
});

it("pays with a stored card, and names it in the session", async () => {
  const { customerRef, methodId } = await customerWithCard();
  const session = await fixture.newSession({ customerRef });
  expect((await pay(session, methodId)).status).toBe("SUCCEEDED");
  expect(await savingOf(fixture, session)).toMatchObject({ role: "CUSTOMER", methodId, saving: null });
  expect(vault.opened.at(-1)).toEqual({ code: "required", sessionId: session.id });
});

it("asks for no code where the session says so", async () => {
  const { customerRef, methodId } = await customerWithCard();
  await pay(await fixture.newSession({ customerRef, storedCardSecurityCode: "skip" }), methodId);
  expect(vault.opened.at(-1)!.code).toBe("none");
});

it("does not store a stored card again, and makes its agreement", async () => {
  const { customerRef, methodId, handle } = await customerWithCard();
  const plain = await savingSession(fixture, { customerRef });
  const { token } = await useStoredCard(core, plain, methodId);
  await fixture.submitWith(plain, { number: cards.approved, core, token: token.expose(), consent });
  while (core.inFlight.size > 0) await Promise.all(core.inFlight);
  expect((await savingOf(fixture, plain))?.saving).toBe("NOT_WANTED");
  const session = await savingSession(fixture, { customerRef, agreement: monthly });
  const opened = await useStoredCard(core, session, methodId);
  await fixture.submitWith(session, { number: cards.approved, core, token: opened.token.expose(), consent });
  while (core.inFlight.size > 0) await Promise.all(core.inFlight);
  expect(await savingOf(fixture, session)).toMatchObject({ saving: "KEPT", methodId });
  expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "agreement.updated"]);
  expect(await agreementsOf(fixture, customerRef)).toMatchObject([{ method_id: methodId, status: "ACTIVE" }]);
  expect(await methodsOf(fixture, customerRef)).toMatchObject([{ id: methodId, handle }]);
});

it("pays with another card where the customer changes the mind, and stores that one", async () => {
  const { customerRef, methodId } = await customerWithCard();
  vault.number = "4000000000007288";
  const session = await savingSession(fixture, { customerRef });
  await useStoredCard(core, session, methodId);
  await payAndStore(fixture, core, session, "tok_another");
  const { methodId: stored } = (await savingOf(fixture, session))!;
  expect(stored).not.toBe(methodId);
  expect(await methodsOf(fixture, customerRef)).toHaveLength(2);
});

it("pays by a token of a stored card as by that card, also after another one was chosen", async () => {
  const { customerRef, methodId } = await customerWithCard();
  const session = await savingSession(fixture, { customerRef });
  const first = await useStoredCard(core, session, methodId);
  await useStoredCard(core, session, methodId);
  await deleteMethod(core, { merchantId: fixture.owner.merchantId, methodId });
  const submitted = fixture.submitWith(session, { number: cards.approved, core, token: first.token.expose(), consent });
  await expect(submitted).rejects.toThrow();
  expect(await savingOf(fixture, session)).toMatchObject({ saving: null });
});

it("gives no card of another customer, nor one to a session without a customer", async () => {
  const { methodId } = await customerWithCard();
  for (const session of [await fixture.newSession({ customerRef: "somebody" }), await fixture.newSession()]) {
    expect((await listStoredCards(core, session)).cards).toEqual([]);
    await expect(useStoredCard(core, session, methodId)).rejects.toMatchObject({ code: "not_found" });
  }
});

it("gives no card once the session was submitted", async () => {
  const { customerRef, methodId } = await customerWithCard();
  const session = await fixture.newSession({ customerRef });
  await pay(session, methodId);
  await expect(useStoredCard(core, session, methodId)).rejects.toMatchObject({ code: "session_ended" });
});

it("names no stored card in a payment that was submitted with another one meanwhile", async () => {
  const { customerRef, methodId } = await customerWithCard();
  const session = await fixture.newSession({ customerRef });
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const { promise: locked, resolve: onLocked } = Promise.withResolvers<void>();
  const claiming = fixture.asOwner.transaction(async (tx) => {
    const text = `SELECT FROM app.claim($1, 30000, 45000, 't', sha256('t'), 1, '[]', '[]', NULL, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false, 9, 9, NULL, NULL, NULL)`;
    await tx.query({ name: "claim_slowly", text }, [session.id]);
    onLocked();
    await mayCommit;
  });
  await locked;
  const using = useStoredCard(core, session, methodId).catch((error) => error);
  // A role sees what its own sessions wait for.
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  await expect.poll(async () => (await core.database.pool.query(waiting)).rowCount).toBe(1);
  commit();
  await claiming;
  expect(await using).toMatchObject({ code: "session_ended" });
  expect(await savingOf(fixture, session)).toMatchObject({ methodId: null, openedTokenHash: null });
});

it("hides a card for a day after five declines of its customer, also from a session that has opened it", async () => {
  const { customerRef, methodId } = await customerWithCard();
  const early = await fixture.newSession({ customerRef });
  const { token } = await useStoredCard(core, early, methodId);
  for (let declines = 1; declines <= 5; declines++) {
    const session = await fixture.newSession({ customerRef });
    expect((await listStoredCards(core, session)).cards).toHaveLength(1);
    expect((await pay(session, methodId, cards.softDecline)).status).toBe("DECLINED");
  }
  const session = await fixture.newSession({ customerRef });
  expect((await listStoredCards(core, session)).cards).toEqual([]);
  await expect(useStoredCard(core, session, methodId)).rejects.toMatchObject({ code: "not_found" });
  const submitted = fixture.submitWith(early, { number: cards.approved, core, token: token.expose() });
  await expect(submitted).rejects.toMatchObject({ code: "token_not_found" });
  expect((await fixture.loadSession(early)).session.phase).toBe("IDLE");
  await fixture.setClockAhead(25 * 60);
  const nextDay = await fixture.newSession({ customerRef });
  expect((await listStoredCards(core, nextDay)).cards).toHaveLength(1);
  await fixture.setClockAhead(0);
});

it("counts each declined try of a stored card, and none of another card", async () => {
  await fixture.setRule(["HARD_DECLINE"]);
  const { customerRef, methodId } = await customerWithCard();
  const declinesOf = () =>
    rowsOf<{ by_customer: boolean }>(
      fixture,
      "SELECT d.by_customer FROM card_decline d JOIN payment_method m ON m.fingerprint = d.fingerprint WHERE m.id = $1",
      [methodId],
    );
  await fixture.submitWith(await fixture.newSession({ customerRef }), { number: cards.softDecline, core });
  expect(await declinesOf()).toEqual([]);
  await pay(await fixture.newSession({ customerRef }), methodId, cards.failover);
  expect(await declinesOf()).toEqual([{ by_customer: true }]);
  await fixture.setRule([]);
});

it("deletes a card at once and for ever, and its agreements need another one", async () => {
  const { customerRef, methodId, handle } = await customerWithCard(monthly);
  const session = await fixture.newSession({ customerRef });
  const { token } = await useStoredCard(core, session, methodId);
  expect(await deleteMethod(core, { merchantId, methodId })).toBe(true);
  expect(await findMethod(core.database, { merchantId, methodId })).toBeUndefined();
  const submitted = fixture.submitWith(session, { number: cards.approved, core, token: token.expose() });
  await expect(submitted).rejects.toMatchObject({ code: "token_not_found" });
  await expect(useStoredCard(core, session, methodId)).rejects.toMatchObject({ code: "not_found" });
  const [agreement] = await agreementsOf(fixture, customerRef);
  expect(agreement).toMatchObject({ status: "NEEDS_CARD", status_because: "card_deleted", method_id: null });
  vault.isAway = true;
  await eraseCardsOnce(core);
  vault.isAway = false;
  await fixture.after(1, () => eraseCardsOnce(core));
  expect(vault.erased).toContain(handle);
  expect(await rowsOf(fixture, "SELECT handle_sealed FROM payment_method WHERE id = $1", [methodId])).toEqual([
    { handle_sealed: null },
  ]);
  expect(await deleteMethod(core, { merchantId, methodId })).toBe(true);
  expect(await deleteMethod(core, { merchantId: core.runtime.uuid(), methodId })).toBe(false);
});

it("needs another card where the vault has lost one", async () => {
  const { customerRef, methodId, handle } = await customerWithCard(monthly);
  vault.cards.delete(handle);
  const session = await fixture.newSession({ customerRef });
  await expect(useStoredCard(core, session, methodId)).rejects.toMatchObject({ code: "not_found" });
  expect(await agreementsOf(fixture, customerRef)).toMatchObject([
    { status: "NEEDS_CARD", status_because: "card_lost" },
  ]);
  expect(await findMethod(core.database, { merchantId, methodId })).toMatchObject({ stopped: "card_lost" });
  expect((await listStoredCards(core, session)).cards).toEqual([]);
});

it("lists a merchant's cards and agreements by customer, page by page", async () => {
  const { customerRef, methodId } = await customerWithCard(monthly);
  vault.number = "4000000000007296";
  await payAndStore(fixture, core, await savingSession(fixture, { customerRef, agreement: monthly }));
  const wanted = { merchantId, customerRef, keys: core.pageTokenKey, now: new Date(), pageSize: 1 };
  const first = await listMethods(core.database, wanted);
  const second = await listMethods(core.database, { ...wanted, pageToken: first.nextPageToken });
  expect(first.methods[0]).toMatchObject({ last4: "7296", stopped: null });
  expect([second.methods.map(({ id }) => id), second.nextPageToken]).toEqual([[methodId], undefined]);
  const other = listMethods(core.database, { ...wanted, customerRef: "other", pageToken: first.nextPageToken });
  await expect(other).rejects.toMatchObject({ code: "invalid_parameter" });
  const expiring = async (day: string) =>
    (await listMethods(core.database, { ...wanted, pageSize: 9, expiresBefore: new Date(day) })).methods.length;
  expect([await expiring("2031-05-01T00:00:00Z"), await expiring("2031-05-01T00:00:01Z")]).toEqual([0, 2]);
  const agreements = await listAgreements(core.database, { ...wanted, pageSize: 9 });
  expect(agreements.agreements.map(({ status, endsOn }) => [status, endsOn])).toEqual(
    Array(2).fill(["ACTIVE", monthly.endsOn]),
  );
  expect((await listMethods(core.database, { ...wanted, merchantId: core.runtime.uuid() })).methods).toEqual([]);
});

it("cancels an agreement once, and says which gateways could charge it", async () => {
  const { customerRef } = await customerWithCard(monthly);
  const [row] = await agreementsOf(fixture, customerRef);
  const named = { merchantId, agreementId: row!.id };
  const found = await findAgreement(core, named);
  expect(found!.gateways.map(({ gateway }) => gateway)).toEqual(["SANDBOX_A", "SANDBOX_B"]);
  for (let times = 0; times < 2; times++) await cancelAgreement(core, named, "merchant");
  expect((await findAgreement(core, named))!.agreement).toMatchObject({
    status: "CANCELLED",
    statusBecause: "merchant",
  });
  const { agreement } = found!;
  expect((await fixture.eventTypes({ id: agreement.sessionId })).slice(-1)).toEqual(["agreement.updated"]);
  expect(
    (await fixture.eventTypes({ id: agreement.sessionId })).filter((type) => type === "agreement.updated"),
  ).toHaveLength(2);
});
