/** Steps of tests about stored cards: sessions that store a card, and views of the stored rows. */
import type { Core } from "../core.ts";
import type { NewSession } from "../create-session.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { type CoreFixture, cards } from "../scenarios/core.fixture.ts";
import { MemoryVault } from "../scenarios/stored-vault.fixture.ts";
import type { AgreementTerms } from "./stored-rows.ts";

/** The sentence that the customer has agreed to. */
export const consent = { template: "card.1", locale: "en" };

/** Terms that every test may use. */
export const monthly: AgreementTerms = {
  type: "RECURRING",
  text: "49.00 EUR each month until you cancel.",
  everyDays: 28,
  endsOn: "2099-12-31",
};

/** Returns a core with its own vault, and the sessions that the vault has forgotten. */
export function withVault({ core }: CoreFixture, vault = new MemoryVault()) {
  const forgotten: string[] = [];
  const own: Core = {
    ...core,
    inFlight: new Set(),
    vault: { ...core.vault, stored: vault, forget: (sessionId) => void forgotten.push(sessionId) },
  };
  return { core: own, vault, forgotten };
}

/** Creates a session that stores its card, with an agreement if terms are given. */
export function savingSession(
  fixture: CoreFixture,
  fields: Partial<NewSession> & { readonly agreement?: AgreementTerms } = {},
): Promise<PaymentSession> {
  const { agreement, ...order } = fields;
  return fixture.newSession({ customerRef: "customer-1", saveCard: { agreement }, ...order });
}

/** Pays with an approved card whose customer wants it to be stored, and waits until it is. */
export async function payAndStore(fixture: CoreFixture, core: Core, session: PaymentSession, token?: string) {
  const paid = await fixture.submitWith(session, { number: cards.approved, core, consent, ...(token && { token }) });
  while (core.inFlight.size > 0) await Promise.all(core.inFlight);
  return paid;
}

/** Returns the rows of a table, as its owner reads them. */
export async function rowsOf<Row>(fixture: CoreFixture, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await fixture.asOwner.pool.query(text, [...values])).rows as Row[];
}

/** Returns the recorded state of storing a session's card. */
export async function savingOf(fixture: CoreFixture, { id }: PaymentSession) {
  const { stored } = await fixture.loadSession({ id });
  return stored;
}

/** Returns the methods of a customer, oldest first. */
export function methodsOf(fixture: CoreFixture, customerRef: string) {
  type Row = { id: string; handle: string; status: string; last4: string; exp_year: number };
  const text = `SELECT id, encode(handle_hash, 'hex') AS handle, status, last4, exp_year FROM payment_method WHERE customer_ref = $1 ORDER BY id`;
  return rowsOf<Row>(fixture, text, [customerRef]);
}

/** Returns the agreements of a customer, oldest first. */
export function agreementsOf(fixture: CoreFixture, customerRef: string) {
  type Row = {
    id: string;
    method_id: string | null;
    status: string;
    status_because: string | null;
    chain_version: number;
  };
  const text =
    "SELECT id, method_id, status, status_because, chain_version FROM agreement WHERE customer_ref = $1 ORDER BY id";
  return rowsOf<Row>(fixture, text, [customerRef]);
}
