/** Acts on the decline of a stored card in the transaction that records it: "After a decline" in docs/subscriptions.md. */
import type { Declined } from "../../../gateways/declines.ts";
import type { Statement, Tx } from "../../../platform/database.ts";
import type { AgreementId } from "../../../platform/ids.ts";
import type { Core } from "../../core.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { emitAgreement } from "../keep-card.ts";
import { afterDecline } from "./after-decline.ts";
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
  const { card, stopAll, agreement, notBeforeMs, linkOnly } = afterDecline(declined, session.cardBrand ?? undefined);
  if (!card && !agreement && notBeforeMs === undefined && !linkOnly) return;
  const why = declined.declineCode;
  const stopped = card === undefined ? null : why;
  const values = [session.id, stopped, notBeforeMs ?? null, agreement ?? null, stopAll ?? false, linkOnly ?? false, why];
  const changed = await tx.query<{ agreementId: AgreementId }>(actStatement, values);
  for (const { agreementId } of changed) await emitAgreement(tx, core, session, agreementId);
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
