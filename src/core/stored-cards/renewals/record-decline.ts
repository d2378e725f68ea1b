/** Acts on the decline of a stored card in the transaction that records it: "After a decline" in docs/subscriptions.md. */
import type { Declined } from "../../../gateways/declines.ts";
import type { Statement, Tx } from "../../../platform/database.ts";
import { unreachable } from "../../../platform/errors.ts";
import type { AgreementId } from "../../../platform/ids.ts";
import type { Core } from "../../core.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { emitAgreement } from "../keep-card.ts";
import { type AfterDecline, afterDecline } from "./after-decline.ts";
import { type RefusalReason, refusalInWords } from "./refusals.ts";

const actStatement: Statement = {
  name: "act_on_decline",
  text: 'SELECT a AS "agreementId" FROM app.act_on_decline($1, $2, $3, $4, $5, $6, $7) a',
};

/** Stops the card, lets it wait, ends agreements or leaves the renewal to its customer, as the decline says. The session is locked. */
export async function actOnDecline(
  tx: Tx,
  core: Pick<Core, "outbox" | "describeSession">,
  session: Pick<PaymentSession, "id" | "merchantId" | "cardBrand">,
  declined: Declined,
): Promise<void> {
  const { stopped, waitMs, status, ofAll, byLink } = effectOf(afterDecline(session.cardBrand ?? "", declined));
  if (!stopped && waitMs === undefined && !status && !byLink) return;
  const why = declined.declineCode;
  const values = [
    session.id,
    stopped ? why : null,
    waitMs ?? null,
    status ?? null,
    ofAll ?? false,
    byLink ?? false,
    why,
  ];
  const changed = await tx.query<{ agreementId: AgreementId }>(actStatement, values);
  for (const { agreementId } of changed) await emitAgreement(tx, core, session, agreementId);
}

type Effect = {
  readonly stopped?: true;
  readonly waitMs?: number;
  readonly status?: "CANCELLED" | "NEEDS_CARD";
  /** True if the status is for each agreement of the card. */
  readonly ofAll?: true;
  readonly byLink?: true;
};

const hourMs = 3_600_000;

/** Returns what `app.act_on_decline` records of a decline. */
function effectOf(meaning: AfterDecline): Effect {
  switch (meaning.type) {
    case "cardStopped":
      return { stopped: true };
    case "agreementCancelled":
      return { status: "CANCELLED" };
    case "allAgreementsCancelled":
      return { status: "CANCELLED", ofAll: true };
    case "needsCard":
      return { status: "NEEDS_CARD" };
    case "customerNeeded":
      return { byLink: true };
    case "notBefore":
      return { waitMs: meaning.hours * hourMs };
    case "mayRetry":
      return {};
    default:
      return unreachable(meaning);
  }
}

const selectRefusal: Statement = {
  name: "select_refusal_of_next_try",
  partitionKey: 1,
  text: `
    SELECT coalesce(c.because, CASE WHEN r.only_by_link THEN 'link' END) AS reason
    FROM stored_payment p JOIN payment_method m ON m.id = p.method_id
      JOIN renewal r ON r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref
      LEFT JOIN LATERAL app.card_refusal(m.merchant_id, m.fingerprint, m.brand) c ON true
    WHERE p.session_id = $1 AND p.role = 'RENEWAL'`,
};

/** Returns why a renewal's card is tried no further at once; undefined if it may be. */
export async function whyNoFurtherTry(tx: Tx, { id }: Pick<PaymentSession, "id">): Promise<string | undefined> {
  const [row] = await tx.query<{ reason: RefusalReason | null }>(selectRefusal, [id]);
  return row?.reason ? refusalInWords(row.reason) : undefined;
}
