/**
 * Loads the stored cards and agreements of one customer: cards with the reasons that stop them, and agreements with
 * their gateways and newest renewals.
 */

import type { Core } from "../core/core.ts";
import type { SessionStatus } from "../core/rows/entities.ts";
import { type AgreementGateway, loadGatewaysFor } from "../core/stored-cards/agreements.ts";
import {
  type Agreement,
  AgreementEntity,
  type PaymentMethod,
  PaymentMethodEntity,
  storedColumns,
} from "../core/stored-cards/stored-rows.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { AgreementId, MerchantId, SessionId } from "../platform/ids.ts";

// More cards and agreements than a person has, and as many renewals of each as a page shows.
const rowsMax = 100;
const renewalsMax = 20;

/** A card that is not deleted. */
export type ShownCard = PaymentMethod & {
  /** Why no further try of it is allowed; null if one is. */
  readonly stopped: string | null;
  readonly stoppedAt: Date | null;
  /** The earliest time of the next try of a renewal; null if it is past. */
  readonly notBefore: Date | null;
  /** Declines of the customer's own payments hide it from the checkout. */
  readonly hidden: boolean;
};

/** A charge of an agreement, with the payment of its last try; its amount is null if that is in another cell. */
export type ShownRenewal = {
  readonly agreementId: AgreementId;
  readonly renewalRef: string;
  readonly tries: number;
  readonly sessionId: SessionId | null;
  readonly isPaid: boolean;
  readonly customerNeeded: boolean;
  readonly createdAt: Date;
  readonly amountMinor: number | null;
  readonly currency: string | null;
  readonly status: SessionStatus | null;
  /** The number of all renewals of the agreement. */
  readonly total: number;
};

export type ShownAgreement = {
  readonly agreement: Agreement;
  readonly gateways: readonly AgreementGateway[];
  readonly renewals: readonly ShownRenewal[];
};

const selectCards: Statement = {
  name: "select_shown_cards",
  text: `
    SELECT ${storedColumns(PaymentMethodEntity, "m")}, coalesce(m.stopped_because, c.stopped_because) AS stopped, c.stopped_at AS "stoppedAt",
      CASE WHEN c.not_before > app.clock() THEN c.not_before END AS "notBefore",
      c.stopped_at IS NULL AND NOT app.is_card_usable(m.merchant_id, m.fingerprint) AS hidden
    FROM payment_method m LEFT JOIN card_state c ON c.merchant_id = m.merchant_id AND c.fingerprint = m.fingerprint
    WHERE m.merchant_id = $1 AND m.customer_ref = $2 AND m.status = 'ACTIVE' ORDER BY m.id DESC LIMIT ${rowsMax}`,
};

const selectAgreements: Statement = {
  name: "select_shown_agreements",
  text: `SELECT ${storedColumns(AgreementEntity, "a")} FROM agreement a
    WHERE a.merchant_id = $1 AND a.customer_ref = $2 ORDER BY a.id DESC LIMIT ${rowsMax}`,
};

const selectRenewals: Statement = {
  name: "select_shown_renewals",
  text: `
    SELECT r.agreement_id AS "agreementId", r.renewal_ref AS "renewalRef", r.tries, r.session_id AS "sessionId",
      r.paid_session_id IS NOT NULL AS "isPaid", r.only_by_link AS "customerNeeded", r.created_at AS "createdAt", r.total,
      s.amount_minor AS "amountMinor", s.currency, s.status
    FROM unnest($1::uuid[]) g (id) CROSS JOIN LATERAL (
        SELECT r.*, (count(*) OVER ())::int AS total FROM renewal r
        WHERE r.agreement_id = g.id ORDER BY r.created_at DESC, r.renewal_ref LIMIT ${renewalsMax}) r
      LEFT JOIN payment_session s ON s.id = r.session_id
    ORDER BY r.created_at DESC, r.renewal_ref`,
};

/** Loads the cards and agreements of a customer, newest first; both are empty if nothing is stored. */
export async function loadStoredCards(
  queryable: Queryable,
  core: Pick<Core, "connectorOf">,
  { merchantId, customerRef }: { readonly merchantId: MerchantId; readonly customerRef: string },
): Promise<{ readonly cards: readonly ShownCard[]; readonly agreements: readonly ShownAgreement[] }> {
  const [cards, agreements, gatewaysFor] = await Promise.all([
    queryable.query<ShownCard>(selectCards, [merchantId, customerRef]),
    queryable.query<Agreement>(selectAgreements, [merchantId, customerRef]),
    loadGatewaysFor(queryable, core, merchantId),
  ]);
  const ids = agreements.map(({ id }) => id);
  const renewals = ids.length === 0 ? [] : await queryable.query<ShownRenewal>(selectRenewals, [ids]);
  const shown = agreements.map((agreement) => ({
    agreement,
    // Providers of authentication are left out: they charge nothing.
    gateways: gatewaysFor(agreement).filter(({ gateway }) => core.connectorOf(gateway) !== undefined),
    renewals: renewals.filter(({ agreementId }) => agreementId === agreement.id),
  }));
  return { cards, agreements: shown };
}
