/** Returns the stored cards that can pay a session, and pays with one. */
import type { OpenedCard } from "../../card-vault/card-vault.ts";
import type { Statement } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { MethodId } from "../../platform/ids.ts";
import { sha256, unseal } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { handleAssociatedData } from "./claim-stored.ts";
import { loadStored } from "./load-stored.ts";
import { loseCard } from "./payment-methods.ts";
import { type PaymentMethod, PaymentMethodEntity, storedColumns } from "./stored-rows.ts";

/** The stored cards of a session's customer, and the session's question about storing one. */
export type CustomersCards = {
  /** The last used one first. */
  readonly cards: readonly PaymentMethod[];
  readonly needsSecurityCode: boolean;
  /** Absent if the customer has no choice to make; without a text it is a checkbox, unless the session is a set-up. */
  readonly saving?: { readonly agreementText: string | undefined; readonly isSetUp?: true } | undefined;
};

// More than a person has; the widget shows them all.
const cardsMax = 20;

// S11: the cards are found by the merchant and the customer's reference of the session itself. A link opens without a
// sign-in, so it shows the card of its agreement alone.
const ofSession = `
  payment_session s JOIN payment_method m ON m.merchant_id = s.merchant_id AND m.customer_ref = s.customer_ref
  WHERE s.id = $1 AND m.status = 'ACTIVE' AND m.stopped_because IS NULL AND app.is_card_usable(m.merchant_id, m.fingerprint)
    AND NOT EXISTS (SELECT FROM stored_payment p JOIN agreement a ON a.id = p.agreement_id
      WHERE p.session_id = s.id AND p.role = 'RECOVERY' AND a.method_id IS DISTINCT FROM m.id)`;

const selectCards: Statement = {
  name: "select_cards_of_customer",
  partitionKey: 1,
  text: `SELECT ${storedColumns(PaymentMethodEntity, "m")} FROM ${ofSession} ORDER BY coalesce(m.last_used_at, m.created_at) DESC, m.id DESC LIMIT ${cardsMax}`,
};

/** Returns the cards that a session's customer can pay with; none for a session without the merchant's reference of the customer. */
export async function listStoredCards(
  core: Pick<Core, "database" | "vault">,
  { id, stored: hasStored }: Pick<PaymentSession, "id" | "stored">,
): Promise<CustomersCards> {
  if (!hasStored || core.vault.stored === undefined) return { cards: [], needsSecurityCode: true };
  const [stored, cards] = await Promise.all([
    loadStored(core.database, id),
    core.database.query<PaymentMethod>(selectCards, [id]),
  ]);
  const isSetUp = stored.role === "SETUP";
  return {
    // A set-up stores another card.
    cards: isSetUp ? [] : cards,
    needsSecurityCode: stored.securityCode === "required",
    saving:
      isSetUp || stored.role === "SAVE" || stored.role === "RECOVERY"
        ? { agreementText: stored.terms?.text, ...(isSetUp && { isSetUp }) }
        : undefined,
  };
}

const selectHandle: Statement = {
  name: "select_handle_of_card",
  partitionKey: 1,
  text: `SELECT m.handle_sealed AS "handleSealed", m.handle_hash AS "handleHash" FROM ${ofSession} AND m.id = $2`,
};
const useCard: Statement = {
  name: "use_stored_card",
  partitionKey: 1,
  text: "SELECT p.session_id FROM app.use_stored_card($1, $2, $3) p",
};

/**
 * Makes a card of the session's customer a token of the session. Throws `not_found` for a card that the session's
 * customer cannot pay with, `session_ended` if the session no longer takes a card, and `unavailable` if the vault opens
 * none.
 */
export async function useStoredCard(
  core: Pick<Core, "database" | "vault" | "sealing" | "outbox" | "describeSession">,
  session: Pick<PaymentSession, "id" | "merchantId" | "stored">,
  methodId: MethodId,
): Promise<OpenedCard> {
  const { id: sessionId, merchantId } = session;
  const cards = core.vault.stored;
  if (!session.stored || cards === undefined) throw noSuchCard();
  type Row = { handleSealed: string; handleHash: Buffer };
  const [[card], stored] = await Promise.all([
    core.database.query<Row>(selectHandle, [sessionId, methodId]),
    loadStored(core.database, sessionId),
  ]);
  if (card === undefined) throw noSuchCard();
  const handle = unseal(core.sealing, handleAssociatedData(merchantId, card.handleHash), card.handleSealed);
  const code = stored.securityCode === "skip" ? "none" : "required";
  const opened = await cards.open({ sessionId, merchantId, handle, code });
  if (opened === "lost") {
    await loseCard(core, { merchantId, methodId, handleHash: card.handleHash });
    throw noSuchCard();
  }
  const used = await core.database.query(useCard, [sessionId, methodId, sha256(opened.token.expose())]);
  if (used.length === 0)
    throw new DomainError("session_ended", "The session takes no card any more; create a new one.");
  return opened;
}

function noSuchCard(): DomainError {
  return new DomainError("not_found", "The session's customer has no such card; choose another one.");
}
