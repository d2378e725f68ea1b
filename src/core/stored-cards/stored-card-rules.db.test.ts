/** Tests what PostgreSQL refuses of stored cards, whoever calls it: rules S1 and S9 to S12 of docs/safety.md. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { fingerprintOf } from "../scenarios/stored-vault.fixture.ts";
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
const { core, vault } = withVault(fixture);

let customers = 0;
const newCustomer = () => `customer-${++customers}`;

/** Runs a statement as the service's own role, which calls functions only. */
const asService = async (text: string, values: readonly unknown[] = []) =>
  (await core.database.pool.query(text, [...values])).rows;
const asOwner = (text: string, values: readonly unknown[] = []) => rowsOf(fixture, text, values);

/** A payment that began an agreement. */
async function agreed() {
  const customerRef = newCustomer();
  vault.number = `424242424242${1_000 + customers}`;
  const session = await savingSession(fixture, { customerRef, agreement: monthly });
  await payAndStore(fixture, core, session);
  const [[method], [agreement]] = [await methodsOf(fixture, customerRef), await agreementsOf(fixture, customerRef)];
  return { customerRef, session, methodId: method!.id, agreementId: agreement!.id };
}

/** A payment with consent that was declined. */
async function declined(): Promise<PaymentSession> {
  const session = await savingSession(fixture, { customerRef: newCustomer(), agreement: monthly });
  await fixture.submitWith(session, { number: cards.softDecline, core, consent });
  await Promise.all(core.inFlight);
  return session;
}

const keepCard = (session: PaymentSession) =>
  asService("SELECT * FROM app.keep_card($1, gen_random_uuid(), 'visa', '4242', 4, 2031, $2::uuid[], 0)", [
    session.id,
    [fingerprintOf("4242424242424242")],
  ]);

describe("S1: no method or agreement without recorded consent and a winner", () => {
  it("refuses to store the card of a payment without a winner", async () => {
    await expect(keepCard(await declined())).rejects.toThrow(
      "a card is stored with a customer's consent and an approved payment",
    );
  });

  it("stores nothing where the customer did not consent", async () => {
    const session = await savingSession(fixture, { customerRef: newCustomer() });
    await fixture.submitWith(session, { number: cards.approved, core });
    await Promise.all(core.inFlight);
    expect(await keepCard(session)).toEqual([]);
    const forced = asOwner("UPDATE stored_payment SET saving = 'REQUESTED' WHERE session_id = $1", [session.id]);
    await expect(forced).rejects.toThrow("illegal transition of a saving");
  });

  it("records no consent after the payment was approved", async () => {
    const session = await fixture.newSession({ customerRef: newCustomer() });
    await payAndStore(fixture, core, session);
    const late = asOwner(
      "UPDATE stored_payment SET consented_at = now(), consent_template = 'x', consent_locale = 'en' WHERE session_id = $1",
      [session.id],
    );
    await expect(late).rejects.toThrow("a consent comes before the payment");
  });

  it("refuses a claim without consent of a session that begins an agreement", async () => {
    const session = await savingSession(fixture, { customerRef: newCustomer(), agreement: monthly });
    const claim = core.database.transaction(async (tx) => {
      const claimed = {
        name: "attack_claim",
        text: `SELECT FROM app.claim($1, 30000, 45000, 't', sha256('t'), 1, '[]', '[]', NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false, 9, 9, NULL, NULL, NULL)`,
      };
      await tx.query(claimed, [session.id]);
      const text = "SELECT FROM app.claim_stored($1, 't', 'h', sha256('h'), NULL, NULL, NULL, NULL, 0, 900000)";
      await tx.query({ name: "attack_claim_stored", text }, [session.id]);
    });
    await expect(claim).rejects.toThrow("an agreement needs the customer's consent");
  });

  it("refuses agreements and cards that the owner inserts without a consented payment", async () => {
    const session = await declined();
    const agreement = asOwner(
      `INSERT INTO agreement (id, merchant_id, customer_ref, type, text, currency, status, status_because, session_id, consented_at)
       SELECT gen_random_uuid(), merchant_id, customer_ref, 'UNSCHEDULED', 'x', 'EUR', 'NEEDS_CARD', 'x', id, now() FROM payment_session WHERE id = $1`,
      [session.id],
    );
    await expect(agreement).rejects.toThrow("an agreement has a customer's consent and an approved payment");
    const method = asOwner(
      `INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id)
       SELECT gen_random_uuid(), merchant_id, customer_ref, 'visa', '4242', 4, 2031, gen_random_uuid(), 'x', sha256('x'), id FROM payment_session WHERE id = $1`,
      [session.id],
    );
    await expect(method).rejects.toThrow("a card is stored with a customer's consent and an approved payment");
  });

  it("lets the service write none of the tables", async () => {
    const tables =
      "stored_payment payment_method card_erasure agreement renewal renewal_try card_state card_decline".split(" ");
    for (const table of tables) {
      const statements = [
        `INSERT INTO ${table} DEFAULT VALUES`,
        `DELETE FROM ${table}`,
        `SELECT FROM ${table} FOR UPDATE`,
      ];
      for (const text of statements) await expect(asService(text)).rejects.toThrow("permission denied");
      expect(await asService(`SELECT FROM ${table} LIMIT 0`)).toEqual([]);
    }
    const helpers = ["app.make_agreement(NULL, NULL)", "app.count_card_decline(gen_random_uuid(), gen_random_uuid())"];
    for (const call of helpers)
      await asService(`SELECT ${call}`).catch(({ message }) => expect(message).toMatch(/permission denied/));
  });
});

describe("S9: a chain begins anew only by a customer's approved payment with consent", () => {
  const change = (id: string, set: string) => asOwner(`UPDATE agreement SET ${set} WHERE id = '${id}'`);

  it.each([
    "network_transaction_id = 'n-1'",
    "network_transaction_id = 'n-1', chain_version = chain_version + 1",
    "own_connection_id = gen_random_uuid(), own_customer = 'c', own_method = 'm'",
    "chain_version = chain_version + 1",
    "consented_at = now()",
  ])("refuses %s", async (set) => {
    const { agreementId } = await agreed();
    await expect(change(agreementId, set)).rejects.toThrow("a chain begins anew with a customer's payment");
  });

  it("refuses a payment that was not approved", async () => {
    const { agreementId } = await agreed();
    const other = await declined();
    const set = `network_transaction_id = 'n-1', chain_version = chain_version + 1, session_id = '${other.id}'`;
    await expect(change(agreementId, set)).rejects.toThrow(
      "an agreement has a customer's consent and an approved payment",
    );
  });

  it("takes another consented and approved payment", async () => {
    const { agreementId } = await agreed();
    const { session } = await agreed();
    await change(
      agreementId,
      `network_transaction_id = 'n-1', chain_version = chain_version + 1, session_id = '${session.id}'`,
    );
  });

  it("refuses to go on once the agreement has ended, and other terms at any time", async () => {
    const { agreementId } = await agreed();
    await expect(change(agreementId, "max_amount_minor = 1")).rejects.toThrow(
      "what a customer has agreed to never changes",
    );
    await asService("SELECT FROM app.cancel_agreement($1, $2, 'merchant')", [fixture.owner.merchantId, agreementId]);
    await expect(change(agreementId, "status = 'ACTIVE', ended_at = NULL")).rejects.toThrow(
      "an agreement that has ended stays so",
    );
  });
});

describe("S10: deleting is one transaction and one way", () => {
  const deleted = "status = 'DELETED', handle_sealed = NULL, deleted_at = now()";
  const change = (id: string, set: string) => asOwner(`UPDATE payment_method SET ${set} WHERE id = '${id}'`);
  const remove = (methodId: string) =>
    asService("SELECT FROM app.delete_method($1, $2)", [fixture.owner.merchantId, methodId]);

  it("refuses a deletion that leaves an agreement, or the card in the vault", async () => {
    const { methodId, agreementId } = await agreed();
    await expect(change(methodId, deleted)).rejects.toThrow("no agreement goes on with a deleted card");
    await asService("SELECT FROM app.cancel_agreement($1, $2, 'merchant')", [fixture.owner.merchantId, agreementId]);
    await expect(change(methodId, deleted)).rejects.toThrow("a card that is deleted or replaced is erased");
    await expect(change(methodId, "handle_sealed = NULL")).rejects.toThrow(/check constraint/);
  });

  it("never takes a deletion back, and gives no agreement the card again", async () => {
    const { methodId } = await agreed();
    const { agreementId } = await agreed();
    await remove(methodId);
    await expect(change(methodId, "status = 'ACTIVE', handle_sealed = 'x', deleted_at = NULL")).rejects.toThrow(
      "a deleted card stays deleted",
    );
    const given = asOwner("UPDATE agreement SET method_id = $1 WHERE id = $2", [methodId, agreementId]);
    await expect(given).rejects.toThrow(/another card with a customer's payment|violates foreign key/);
    const rows = await asOwner(
      "SELECT handle_sealed, encode(handle_hash, 'hex') AS hash FROM payment_method WHERE id = $1",
      [methodId],
    );
    const [{ hash }] = rows as [{ hash: string }];
    expect(rows).toEqual([{ handle_sealed: null, hash }]);
    expect(await asOwner("SELECT 1 AS one FROM card_erasure WHERE encode(handle_hash, 'hex') = $1", [hash])).toEqual([
      { one: 1 },
    ]);
  });

  it("deletes nothing of another merchant's", async () => {
    const { methodId, customerRef } = await agreed();
    await asService("SELECT FROM app.delete_method(gen_random_uuid(), $1)", [methodId]);
    expect(await methodsOf(fixture, customerRef)).toMatchObject([{ status: "ACTIVE" }]);
  });
});

describe("S11: cards are found by merchant and customer together", () => {
  it("lets no session use another customer's card", async () => {
    const { methodId } = await agreed();
    const session = await fixture.newSession({ customerRef: newCustomer() });
    const used = asService("SELECT p.session_id FROM app.use_stored_card($1, $2, sha256('t')) p", [
      session.id,
      methodId,
    ]);
    expect(await used).toEqual([]);
    const forced = asOwner("UPDATE stored_payment SET method_id = $1 WHERE session_id = $2", [methodId, session.id]);
    await expect(forced).rejects.toThrow("a stored card pays for its own customer");
    expect(await savingOf(fixture, session)).toMatchObject({ methodId: null });
  });

  it("lets no agreement have another customer's card", async () => {
    const { methodId } = await agreed();
    const { session, agreementId } = await agreed();
    const other = await agreed();
    const set = "method_id = $1, chain_version = chain_version + 1, session_id = $2";
    expect(session.id).not.toBe(other.session.id);
    const forced = asOwner(`UPDATE agreement SET ${set} WHERE id = $3`, [methodId, other.session.id, agreementId]);
    await expect(forced).rejects.toThrow(/foreign key/);
  });
});

describe("S12: amount 0 exactly for a set-up", () => {
  it.each(["SETUP", "SAVE"])("refuses the role %s for another amount", async (role) => {
    const session = await fixture.newSession();
    const amount = role === "SETUP" ? 4900 : 0;
    const inserted = asOwner(
      "INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role) SELECT id, merchant_id, $2, currency, 'c', $3 FROM payment_session WHERE id = $1",
      [session.id, amount, role],
    );
    await expect(inserted).rejects.toThrow(/check constraint/);
  });

  it("refuses an amount that is not the session's", async () => {
    const session = await fixture.newSession();
    const inserted = asOwner(
      "INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role) SELECT id, merchant_id, 0, currency, 'c', 'SETUP' FROM payment_session WHERE id = $1",
      [session.id],
    );
    await expect(inserted).rejects.toThrow(/foreign key/);
  });

  const copyOf = (id: string, set: string) =>
    `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at, stored)
     SELECT $2, merchant_id, ${set}, expires_at, ${id} FROM payment_session WHERE id = $1`;
  const zero = "0, currency, order_ref, secret_version";

  it("refuses a session of 0 that is no set-up", async () => {
    const session = await fixture.newSession();
    const inserted = asOwner(copyOf("false", zero), [session.id, v7()]);
    await expect(inserted).rejects.toThrow(/an amount is between 1 and/);
    await expect(fixture.newSession({ amountMinor: 0 })).rejects.toThrow(/an amount is between 1 and/);
  });

  it("refuses an attempt of a session that has no row about its stored card", async () => {
    const [session, id] = [await fixture.newSession(), v7()];
    await asOwner(copyOf("true", zero), [session.id, id]);
    const guarded = asOwner("SELECT app.guard_stored_attempt($1, gen_random_uuid(), gen_random_uuid(), 0)", [id]);
    await expect(guarded).rejects.toThrow(/has a row that says what it does with it/);
  });
});
