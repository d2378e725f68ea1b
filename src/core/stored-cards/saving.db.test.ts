/** Tests that a card is stored after consent and approval, whatever dies or stays silent meanwhile, and that each saving ends. */
import { expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { cancelSession } from "../capture-later.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { recoverSessionsOnce } from "../submit-payment.ts";
import { eraseCardsOnce, saveDueCardsOnce } from "./keep-card.ts";
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

const fixture = await forFile(startCoreFixture);
await fixture.setRule([]);

let customers = 0;
const newCustomer = () => `customer-${++customers}`;

it("stores the card of an approved payment whose customer wants it", async () => {
  const { core, vault, forgotten } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef });
  const paid = await payAndStore(fixture, core, session);
  expect(paid.status).toBe("SUCCEEDED");
  const [method, ...others] = await methodsOf(fixture, customerRef);
  expect(others).toEqual([]);
  expect(method).toMatchObject({ status: "ACTIVE", last4: "4242", exp_year: 2031 });
  expect(await savingOf(fixture, session)).toMatchObject({ saving: "KEPT", methodId: method!.id, agreementId: null });
  expect([...vault.cards.keys()]).toEqual([method!.handle]);
  expect(forgotten).toEqual([]);
  expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_method.saved"]);
  const [kept] = await rowsOf(fixture, "SELECT token_sealed, handle_sealed FROM stored_payment WHERE session_id = $1", [
    session.id,
  ]);
  expect(kept).toEqual({ token_sealed: null, handle_sealed: null });
});

it("makes the agreement with the card, under the id that the creation said", async () => {
  const { core } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef, agreement: monthly });
  await payAndStore(fixture, core, session);
  const [method] = await methodsOf(fixture, customerRef);
  const { agreementId } = (await savingOf(fixture, session))!;
  expect(await agreementsOf(fixture, customerRef)).toEqual([
    { id: agreementId, method_id: method!.id, status: "ACTIVE", status_because: null, chain_version: 1 },
  ]);
  const events = ["payment_session.succeeded", "payment_method.saved", "agreement.updated"];
  expect(await fixture.eventTypes(session)).toEqual(events);
  const bodies = await rowsOf<{ body: Buffer }>(fixture, "SELECT body FROM outbox_event WHERE session_id = $1", [
    session.id,
  ]);
  for (const { body } of bodies) {
    expect(body.toString()).not.toContain(customerRef);
    expect(body.toString()).not.toContain(monthly.text);
  }
});

it("stores nothing without consent, and forgets the card at once", async () => {
  const { core, vault, forgotten } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef });
  await fixture.submitWith(session, { number: cards.approved, core });
  await Promise.all(core.inFlight);
  expect([vault.keeps, forgotten]).toEqual([0, [session.id]]);
  expect(await savingOf(fixture, session)).toMatchObject({ saving: "NOT_WANTED", methodId: null });
});

it("takes no submission without consent where the session begins an agreement", async () => {
  const { core } = withVault(fixture);
  const session = await savingSession(fixture, { customerRef: newCustomer(), agreement: monthly });
  const submitted = fixture.submitWith(session, { number: cards.approved, core });
  await expect(submitted).rejects.toMatchObject({ code: "consent_required" });
  expect((await fixture.loadSession(session)).session.phase).toBe("IDLE");
});

it("stores nothing for a session that only names its customer", async () => {
  const { core, vault, forgotten } = withVault(fixture);
  const session = await fixture.newSession({ customerRef: newCustomer() });
  await payAndStore(fixture, core, session);
  expect([vault.keeps, forgotten]).toEqual([0, [session.id]]);
  expect(await savingOf(fixture, session)).toMatchObject({ role: "CUSTOMER", saving: null, consentedAt: null });
});

it("stores nothing of a declined payment", async () => {
  const { core, vault, forgotten } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef, agreement: monthly });
  await fixture.submitWith(session, { number: cards.softDecline, core, consent });
  await Promise.all(core.inFlight);
  expect(forgotten).toContain(session.id);
  await fixture.after(1, () => saveDueCardsOnce(core));
  expect([vault.keeps, await methodsOf(fixture, customerRef), await agreementsOf(fixture, customerRef)]).toEqual([
    0,
    [],
    [],
  ]);
  expect(await savingOf(fixture, session)).toMatchObject({ saving: "DROPPED" });
  expect(await fixture.eventTypes(session)).toEqual(["payment_session.declined"]);
});

it("waits for a payment that is not decided yet", async () => {
  const { core, vault } = withVault(fixture);
  const session = await savingSession(fixture, { customerRef: newCustomer() });
  await fixture.sandbox.hold("a.capture");
  const paying = fixture.submitWith(session, { number: cards.approved, core, consent });
  await fixture.sandbox.paused({ operation: "a.capture" });
  await rowsOf(fixture, "UPDATE stored_payment SET save_due_at = app.clock() WHERE session_id = $1", [session.id]);
  await saveDueCardsOnce(core);
  expect([vault.keeps, (await savingOf(fixture, session))?.saving]).toEqual([0, "REQUESTED"]);
  await fixture.sandbox.release({ operation: "a.capture" });
  await paying;
  while (core.inFlight.size > 0) await Promise.all(core.inFlight);
  expect((await savingOf(fixture, session))?.saving).toBe("KEPT");
});

it("goes on where the process died after the claim", async () => {
  const { core } = withVault(fixture);
  const session = await savingSession(fixture, { customerRef: newCustomer(), agreement: monthly });
  const dying: typeof core = { ...core, inFlight: new Set(), bind: () => new Promise(() => {}) };
  void fixture.submitWith(session, { number: cards.approved, core: dying, consent }).catch(() => {});
  await expect.poll(async () => (await savingOf(fixture, session))?.saving).toBe("REQUESTED");
  await fixture.lapseLease(session);
  await recoverSessionsOnce(core);
  while (core.inFlight.size > 0) await Promise.all(core.inFlight);
  await fixture.sandbox.quiet();
  const { session: ended, stored } = await fixture.loadSession(session);
  const isPaid = ended.status === "SUCCEEDED";
  await fixture.after(1, () => saveDueCardsOnce(core));
  expect([isPaid ? "KEPT" : "DROPPED", stored?.consentedAt != null]).toEqual([
    (await savingOf(fixture, session))?.saving,
    true,
  ]);
});

it("goes on where the process died after the approval", async () => {
  const { core, vault } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef, agreement: monthly });
  vault.isAway = true;
  await payAndStore(fixture, core, session);
  expect((await savingOf(fixture, session))?.saving).toBe("REQUESTED");
  vault.isAway = false;
  await fixture.after(1, () => saveDueCardsOnce(core));
  expect((await savingOf(fixture, session))?.saving).toBe("KEPT");
  expect((await agreementsOf(fixture, customerRef)).map(({ status }) => status)).toEqual(["ACTIVE"]);
});

it("goes on with the same card where the vault's answer was lost", async () => {
  const { core, vault } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef });
  vault.losesAnswer = true;
  await payAndStore(fixture, core, session);
  expect([vault.cards.size, (await savingOf(fixture, session))?.saving]).toEqual([1, "REQUESTED"]);
  await fixture.after(1, () => Promise.all([saveDueCardsOnce(core), saveDueCardsOnce(core)]));
  expect([vault.cards.size, (await methodsOf(fixture, customerRef)).length]).toEqual([1, 1]);
  expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_method.saved"]);
});

it("gives up once the vault has the card no longer, and makes the agreement without one", async () => {
  const { core, vault } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef, agreement: monthly });
  vault.isAway = true;
  await payAndStore(fixture, core, session);
  for (const minutes of [5, 14]) {
    await fixture.setClockAhead(minutes);
    await saveDueCardsOnce(core);
    expect((await savingOf(fixture, session))?.saving).toBe("REQUESTED");
  }
  await fixture.setClockAhead(16);
  await saveDueCardsOnce(core);
  expect((await savingOf(fixture, session))?.saving).toBe("FAILED");
  const [agreement] = await agreementsOf(fixture, customerRef);
  expect(agreement).toMatchObject({ status: "NEEDS_CARD", status_because: "card_not_stored", method_id: null });
  expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "agreement.updated"]);
  // The vault may have stored it under a handle that nobody has.
  vault.isAway = false;
  await eraseCardsOnce(core);
  await fixture.setClockAhead(0);
  expect(vault.erased).toHaveLength(1);
  expect(await rowsOf(fixture, "SELECT 1 FROM card_erasure WHERE erase_due_at <= app.clock()")).toEqual([]);
});

it("gives up at once where the vault says that it has lost the card", async () => {
  const { core, vault } = withVault(fixture);
  vault.hasLost = true;
  const session = await savingSession(fixture, { customerRef: newCustomer() });
  expect((await payAndStore(fixture, core, session)).status).toBe("SUCCEEDED");
  expect((await savingOf(fixture, session))?.saving).toBe("FAILED");
  expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
});

it("updates the method of the same number of the same customer, and erases the earlier card an hour later", async () => {
  const { core, vault } = withVault(fixture);
  const customerRef = newCustomer();
  await payAndStore(fixture, core, await savingSession(fixture, { customerRef }));
  const [first] = await methodsOf(fixture, customerRef);
  await payAndStore(fixture, core, await savingSession(fixture, { customerRef }));
  const [second, ...others] = await methodsOf(fixture, customerRef);
  expect([second!.id, others]).toEqual([first!.id, []]);
  expect(second!.handle).not.toBe(first!.handle);
  await eraseCardsOnce(core);
  expect(vault.erased).not.toContain(first!.handle);
  await fixture.after(61, () => eraseCardsOnce(core));
  expect(vault.erased).toContain(first!.handle);
  expect([...vault.cards.keys()]).toContain(second!.handle);
});

it("lifts a stop with the same number, and neither its wait nor what counts against it", async () => {
  const { core, vault } = withVault(fixture);
  vault.number = "4242424242424267";
  const customerRef = newCustomer();
  await payAndStore(fixture, core, await savingSession(fixture, { customerRef }));
  const ofCard =
    "FROM payment_method m WHERE m.customer_ref = $1 AND c.merchant_id = m.merchant_id AND c.fingerprint = m.fingerprint";
  await rowsOf(
    fixture,
    `INSERT INTO card_state (merchant_id, fingerprint, stopped_at, stopped_because, not_before)
     SELECT merchant_id, fingerprint, app.clock(), 'lost_or_stolen', '2099-01-01Z' FROM payment_method WHERE customer_ref = $1`,
    [customerRef],
  );
  await rowsOf(
    fixture,
    `INSERT INTO card_decline (merchant_id, fingerprint, attempt_id, declined_at, by_customer)
     SELECT merchant_id, fingerprint, gen_random_uuid(), app.clock(), false FROM payment_method WHERE customer_ref = $1`,
    [customerRef],
  );
  // The vault has another key by now.
  vault.hasNewKey = true;
  await payAndStore(fixture, core, await savingSession(fixture, { customerRef }));
  const state = `SELECT stopped_at AS stopped, not_before = '2099-01-01Z' AS waits FROM card_state c WHERE EXISTS (SELECT ${ofCard})`;
  expect(await rowsOf(fixture, state, [customerRef])).toEqual([{ stopped: null, waits: true }]);
  const counts = `SELECT count(*)::int AS count FROM card_decline c WHERE EXISTS (SELECT ${ofCard})`;
  expect(await rowsOf(fixture, counts, [customerRef])).toEqual([{ count: 1 }]);
  expect(await rowsOf(fixture, "SELECT 1 FROM card_state WHERE stopped_at IS NOT NULL")).toEqual([]);
});

it("keeps the same number of two customers apart", async () => {
  const { core } = withVault(fixture);
  const [one, other] = [newCustomer(), newCustomer()];
  for (const customerRef of [one, other])
    await payAndStore(fixture, core, await savingSession(fixture, { customerRef }));
  expect((await methodsOf(fixture, one)).length + (await methodsOf(fixture, other)).length).toBe(2);
});

it("makes one method of the same number that two payments store at once", async () => {
  const { core } = withVault(fixture);
  const customerRef = newCustomer();
  const sessions = await Promise.all([1, 2, 3].map(() => savingSession(fixture, { customerRef })));
  await Promise.all(sessions.map((session) => payAndStore(fixture, core, session)));
  expect(await methodsOf(fixture, customerRef)).toHaveLength(1);
});

it("stores the card with the hold of a payment that is captured later", async () => {
  const { core, forgotten } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef, capture: "manual" });
  await payAndStore(fixture, core, session);
  expect((await savingOf(fixture, session))?.saving).toBe("KEPT");
  expect(forgotten).toEqual([]);
  await cancelSession(core, { sessionId: session.id, merchantId: fixture.owner.merchantId });
  await Promise.all(core.inFlight);
  expect((await methodsOf(fixture, customerRef)).map(({ status }) => status)).toEqual(["ACTIVE"]);
});

it("stores nothing of a hold that ended before the vault was there, and has the card erased", async () => {
  const { core, vault } = withVault(fixture);
  const customerRef = newCustomer();
  const session = await savingSession(fixture, { customerRef, capture: "manual" });
  vault.losesAnswer = true;
  await payAndStore(fixture, core, session);
  await cancelSession(core, { sessionId: session.id, merchantId: fixture.owner.merchantId });
  await Promise.all(core.inFlight);
  await fixture.setClockAhead(1);
  await saveDueCardsOnce(core);
  await eraseCardsOnce(core);
  await fixture.setClockAhead(0);
  expect([(await savingOf(fixture, session))?.saving, await methodsOf(fixture, customerRef)]).toEqual(["DROPPED", []]);
  expect(vault.cards.size).toBe(0);
});
