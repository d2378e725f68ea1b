/**
 * Records an owner's decision about a dispute: to end one without news, which a later report of the gateway overrides;
 * or to link the refund by which the gateway settled it.
 */
import { lockSession } from "../core/record/load-session.ts";
import type { Dispute, DisputeDecision } from "../core/rows/disputes.ts";
import type { Refund } from "../core/rows/entities.ts";
import type { Payment } from "../core/rows/payment.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { RefundId } from "../platform/ids.ts";
import type { DisputeName } from "./dispute-files.ts";
import { type EmittingCore, emitNews } from "./dispute-rows.ts";

const day = 24 * 60 * 60_000;
// Gateways end a dispute without an answer within days, and banks decide within four months.
const silentDays = { underReview: 180, withoutDeadline: 60, afterDeadline: 30 } as const;

/** SQL: true of a dispute `d` that is open, and of which nothing has been heard for too long. */
export const silentSql = `d.closed_at IS NULL AND (SELECT app.clock()) > CASE
  WHEN d.status = 'UNDER_REVIEW' THEN d.updated_at + interval '${silentDays.underReview} days'
  WHEN d.respond_by IS NULL THEN d.updated_at + interval '${silentDays.withoutDeadline} days'
  ELSE greatest(d.updated_at, d.respond_by) + interval '${silentDays.afterDeadline} days' END`;

/** The same rule as `silentSql`. */
export function isSilent({ closedAt, status, updatedAt, respondBy }: Dispute, now: Date): boolean {
  if (closedAt !== null) return false;
  const since = (from: Date) => (now.getTime() - from.getTime()) / day;
  if (status === "UNDER_REVIEW") return since(updatedAt) > silentDays.underReview;
  if (!respondBy) return since(updatedAt) > silentDays.withoutDeadline;
  return since(respondBy > updatedAt ? respondBy : updatedAt) > silentDays.afterDeadline;
}

const decide: Statement = {
  name: "decide_dispute",
  partitionKey: 1,
  text: "SELECT * FROM app.decide_dispute($1, $2, $3)",
};

/**
 * Records that a silent dispute was won or lost. Money that was taken for a won dispute came back. Returns the status
 * before. Throws `not_found`, and `state_conflict` for one that its gateway still reports.
 */
export async function decideDispute(
  tx: Tx,
  core: EmittingCore,
  { merchantId, sessionId, id }: DisputeName,
  word: Pick<DisputeDecision, "status" | "by" | "reason">,
): Promise<Pick<Dispute, "status">> {
  const loaded = await lockSession(tx, sessionId);
  const known = loaded?.disputes?.find((one) => one.id === id && one.merchantId === merchantId);
  if (loaded === undefined || known === undefined)
    throw new DomainError("not_found", "There is no dispute with this id.");
  if (!isSilent(known, loaded.readAt)) {
    const message =
      "An end is recorded only for a dispute that is open, and of which its gateway has reported nothing for long (DISPUTE_SILENT).";
    throw new DomainError("state_conflict", message, { state: { status: known.status } });
  }
  await tx.query(decide, [sessionId, id, JSON.stringify(word)]);
  await emitNews(tx, core, { sessionId, id, known });
  return known;
}

/** Returns the refunds by which the gateway may have settled a dispute: of its amount, made there, and linked to none. */
export function linkableRefunds({ refunds }: Pick<Payment, "refunds">, dispute: Dispute): readonly Refund[] {
  const { status, amountMinor, currency } = dispute;
  const isLinked = refunds.some((one) => one.disputeId === dispute.id && one.status !== "FAILED");
  if (isLinked || (status !== "LOST" && status !== "ACCEPTED")) return [];
  return refunds.filter(
    (one) =>
      one.origin === "GATEWAY" &&
      one.status !== "FAILED" &&
      one.disputeId === null &&
      one.amountMinor === amountMinor &&
      one.currency === currency,
  );
}

const link: Statement = {
  name: "link_dispute_refund",
  partitionKey: 1,
  text: "SELECT * FROM app.link_dispute_refund($1, $2, $3, $4, $5)",
};

/**
 * Records that the gateway settled a dispute by its own refund: the two are the same money, and count as the refund.
 * Throws `not_found`, and `state_conflict` for a refund that cannot be the settlement.
 */
export async function linkRefund(
  tx: Tx,
  core: EmittingCore,
  { merchantId, sessionId, id }: DisputeName,
  word: { readonly refundId: RefundId } & Pick<DisputeDecision, "by" | "reason">,
): Promise<void> {
  const loaded = await lockSession(tx, sessionId);
  const known = loaded?.disputes?.find((one) => one.id === id && one.merchantId === merchantId);
  if (loaded === undefined || known === undefined)
    throw new DomainError("not_found", "There is no dispute with this id.");
  if (!loaded.refunds.some((one) => one.id === word.refundId))
    throw new DomainError("not_found", "The payment has no refund with this id.");
  if (!linkableRefunds(loaded, known).some((one) => one.id === word.refundId)) {
    const message =
      "Only a refund that was made at the gateway, has not failed and is of the disputed amount settles a dispute, once, after it is LOST or ACCEPTED.";
    throw new DomainError("state_conflict", message, { state: { status: known.status } });
  }
  await tx.query(link, [sessionId, id, word.refundId, word.by, word.reason]);
  await emitNews(tx, core, { sessionId, id, known });
}
