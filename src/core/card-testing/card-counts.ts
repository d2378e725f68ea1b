/**
 * Counts the submissions of a card and how many of them were declined, so that nobody can try out what belongs to a
 * number. `claim` (src/migrations/environment/payment-functions.sql) counts and refuses; the end of a declined payment is
 * recorded here.
 */
import type { Statement, Tx } from "../../platform/database.ts";
import type { Plan } from "../decide/plan-route.ts";

/** The most submissions of a card in an hour, and the most declined ones in a day, of which a wrong code counts as two. */
export const cardLimits = { submissionsPerHour: 10, declinesPerDay: 5 };

/** The count that has reached its limit. */
export type CardBrake = "submissions" | "declines";

// Raised by app.brake.
const brakeCode = "LL003";

/** Returns the count for which `claim` has refused a submission; undefined for any other error. */
export function brakeOf(error: unknown): CardBrake | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === brakeCode ? (message as CardBrake) : undefined;
}

/** Returns the plan of a payment that no gateway gets, and why. */
export function brakedPlan({ plan, skipped }: Plan, because: string): Plan {
  const left = plan.map(({ gateway, connectionId }) => ({ gateway, connectionId, because }));
  return { plan: [], skipped: [...left, ...skipped] };
}

// Who guesses at a card tries these; a decline for any other reason may be an honest customer's.
const guessedCodes = ["incorrect_cvc", "card_expired"];

const countDeclineStatement: Statement = {
  name: "count_card_decline",
  partitionKey: 1,
  text: `
    UPDATE card_submission SET declines = declined.counts
    FROM (SELECT CASE WHEN bool_or(decline_code = ANY ($2)) THEN 2 ELSE 1 END AS counts
          FROM attempt WHERE session_id = $1 AND status = 'DECLINED' HAVING count(*) > 0) declined
    WHERE card_submission.session_id = $1`,
};

/** Counts the end of a declined payment against its card, if a gateway has declined it. */
export function countDecline(tx: Tx, sessionId: string): void {
  tx.send(countDeclineStatement, [sessionId, guessedCodes]);
}
