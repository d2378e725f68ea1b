/**
 * Counts the submissions of a card, and of its customer's network, and how many of them were declined, to stop card
 * testing: trying out which numbers work, or which expiry and security code belong to a number. `claim`
 * (src/migrations/environment/payment-functions.sql) counts and refuses; the end of a declined payment is recorded
 * here.
 */

import { outageCodes } from "../../gateways/outages.ts";
import type { CardFingerprint } from "../../platform/card-token.ts";
import type { Statement, Tx } from "../../platform/database.ts";
import type { MerchantId, SessionId } from "../../platform/ids.ts";
import type { Plan } from "../decide/plan-route.ts";
import type { Block } from "./blocked.ts";

/**
 * The most submissions of a card in an hour, and the most declined ones in a day, of which a wrong code counts as two; and
 * the declined cards in an hour from which on a network is braked, if they are half of its cards. One card that is declined again is no
 * further sign of a tester, and its own limit stops it.
 */
export const cardLimits = { submissionsPerHour: 10, declinesPerDay: 5, declinedPerNetwork: 30 };

/** SQL: reports whether the merchant of parameter 1 brakes now (brake-merchants.ts). */
export const isBrakingInSql = "EXISTS (SELECT FROM braking WHERE merchant_id = $1 AND ended_at IS NULL)";

/** The count that has reached its limit. */
export type CardBrake = "submissions" | "declines" | "network";

/** Thrown for a submission that a count or the merchant's block list refuses; the session is not claimed. */
export class ClaimRefused extends Error {
  override readonly name = "ClaimRefused";
  readonly by: CardBrake | Block;

  constructor(by: CardBrake | Block) {
    super("the claim was refused");
    this.by = by;
  }
}

/** Returns the plan of a payment that no gateway gets, and why. */
export function brakedPlan({ plan, skipped }: Plan, because: string): Plan {
  const left = plan.map(({ gateway, connectionId }) => ({ gateway, connectionId, because }));
  return { plan: [], skipped: [...left, ...skipped] };
}

// The declines of guessing at a card's details; a decline for any other reason may be an honest customer's.
const guessedCodes = ["incorrect_cvc", "card_expired"];
// The declines of testing whether stolen or invented numbers work. A bank that gives no reason answers `card_declined`.
const testedCodes = [...guessedCodes, "incorrect_number", "insufficient_funds", "card_declined"];

const countDeclineStatement: Statement = {
  name: "count_card_decline",
  partitionKey: 1,
  text: `
    WITH declined AS (
      SELECT CASE WHEN bool_or(decline_code = ANY ($2)) THEN 2 ELSE 1 END AS counts, bool_or(decline_code = ANY ($3)) AS is_tested
      FROM attempt WHERE session_id = $1 AND status = 'DECLINED' AND (gateway || ' ' || gateway_code = ANY ($4)) IS NOT TRUE
        -- A challenge that a brake has added, and that fails, tells nothing of the customer.
        AND NOT (decline_code = 'authentication_failed' AND (SELECT brakes IS NOT NULL FROM payment_session WHERE id = $1))
      HAVING count(*) > 0),
    counted AS (UPDATE card_submission SET declines = declined.counts FROM declined WHERE session_id = $1)
    INSERT INTO tested_payment (session_id, merchant_id, fingerprint, tested_at)
    SELECT s.id, s.merchant_id, s.card_fingerprint, app.clock() FROM payment_session s, declined
    WHERE s.id = $1 AND s.card_fingerprint IS NOT NULL AND declined.is_tested AND EXISTS (SELECT FROM card_submission WHERE session_id = $1) ON CONFLICT DO NOTHING`,
};

// A payment with such a code was held, or its order was another session's.
const notOfCard = /^(capture|order)_/;

/** Counts the end of a declined payment against its card, if a gateway has declined it and not for an outage. */
export function countDecline(tx: Tx, sessionId: SessionId, declineCode: string | null): void {
  if (declineCode !== null && notOfCard.test(declineCode)) return;
  tx.send(countDeclineStatement, [sessionId, guessedCodes, testedCodes, outageCodes]);
}

const countRefusedStatement: Statement = {
  name: "count_refused_card",
  text: `INSERT INTO tested_payment (session_id, merchant_id, fingerprint, tested_at, refused) VALUES ($1, $2, $3, app.clock(), true)`,
};

/**
 * Counts a payment that was refused because its card was declined too often. It counts in test only, where many
 * payments share one card.
 */
export function countRefused(
  tx: Tx,
  session: { readonly id: SessionId; readonly merchantId: MerchantId },
  card: CardFingerprint,
): void {
  tx.send(countRefusedStatement, [session.id, session.merchantId, card.versions[0]]);
}
