/** Records refunds that the gateway has and this database does not: those made by hand, and those that a restore has lost. */
import type { Core } from "../core/core.ts";
import type { Attempt, Refund } from "../core/entities.ts";
import type { SessionWithAttempts } from "../core/session-with-attempts.ts";
import { emitEvent } from "../core/settle.ts";
import { openWorkItem } from "../core/work-items.ts";
import type { ListedRefund } from "../gateways/connector.ts";
import type { Tx } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";
import { pauseAfterLookUp, type RefundTraits } from "./next-refund-step.ts";
import { insertRefund, listedRefundIdOf, type RefundEnd, recordEnd } from "./refund-rows.ts";

/** Reports whether the gateway lists a refund under our reference. */
export function isCarried({ id }: Pick<Refund, "id">, listed: readonly ListedRefund[]): boolean {
  return listed.some(({ refundReference }) => refundReference !== undefined && decodeId("ref", refundReference) === id);
}

/** A locked session, and the refunds that its gateway lists. */
export type Listing = {
  readonly loaded: SessionWithAttempts;
  readonly captured: Attempt;
  readonly traits: RefundTraits;
  readonly listed: readonly ListedRefund[];
};

/**
 * Records every listed refund that has no row, and the state of those that have one. A refund in another currency is a
 * matter for a person.
 */
export async function recordListed(tx: Tx, core: Core, listing: Listing): Promise<void> {
  for (const one of listing.listed) {
    const known = findListed(listing.loaded.refunds, one);
    if (known !== undefined) await recordKnown(tx, core, listing, known, one);
    else await recordNew(tx, core, listing, one);
  }
}

/** Returns the refund that a report is about, by our reference first and the gateway's second. */
export function findListed(
  refunds: readonly Refund[],
  { refundReference, gatewayReference }: Pick<ListedRefund, "refundReference" | "gatewayReference">,
): Refund | undefined {
  const id = refundReference === undefined ? undefined : decodeId("ref", refundReference);
  return (
    refunds.find((refund) => refund.id === id) ?? refunds.find((refund) => refund.gatewayReference === gatewayReference)
  );
}

async function recordKnown(tx: Tx, core: Core, listing: Listing, refund: Refund, one: ListedRefund): Promise<void> {
  const { loaded, traits } = listing;
  if (refund.amountMinor !== one.amountMinor || refund.currency !== one.currency)
    return reportOther(tx, core, listing, one);
  const end = endOf(one);
  // A person has ended it as never made, and it was made all the same.
  if (refund.status === "FAILED" && refund.decidedBy && end.status !== "FAILED")
    return reportOther(tx, core, listing, one);
  const completedAt = end.status === "PENDING" ? null : loaded.readAt;
  const dueInMs = pauseAfterLookUp({ ...refund, status: end.status, completedAt }, traits, loaded.readAt);
  await recordEnd(tx, core, { loaded, refund, end, dueInMs });
}

function endOf({ status, gatewayReference }: ListedRefund): RefundEnd {
  if (status === "failed") return { status: "FAILED", failureCode: "failed", gatewayReference };
  return { status: status === "succeeded" ? "SUCCEEDED" : "PENDING", gatewayReference };
}

async function recordNew(tx: Tx, core: Core, listing: Listing, one: ListedRefund): Promise<void> {
  const { loaded, captured, traits } = listing;
  if (one.currency !== captured.currency) return reportOther(tx, core, listing, one);
  const { session } = loaded;
  const ours = one.refundReference === undefined ? undefined : decodeId("ref", one.refundReference);
  const id = ours ?? listedRefundIdOf(session.id, one.gatewayReference);
  const end = endOf(one);
  const completedAt = end.status === "PENDING" ? null : loaded.readAt;
  const { connectionId, gateway, currency } = captured;
  insertRefund(tx, {
    ...{
      sessionId: session.id,
      id,
      attemptId: captured.id,
      connectionId,
      gateway,
      amountMinor: one.amountMinor,
      currency,
    },
    ...{ status: end.status, origin: "GATEWAY", gatewayReference: one.gatewayReference },
    failureCode: end.status === "FAILED" ? end.failureCode : null,
    lookAfterMs: pauseAfterLookUp({ status: end.status, createdAt: loaded.readAt, completedAt }, traits, loaded.readAt),
  });
  if (end.status === "SUCCEEDED") await emitEvent(tx, core, session, "refund.succeeded", { refundId: id });
}

async function reportOther(tx: Tx, core: Core, { loaded, captured }: Listing, one: ListedRefund): Promise<void> {
  const { amountMinor, currency, gatewayReference } = one;
  const detail = `${captured.gateway} has the refund ${gatewayReference.slice(0, 100)} of ${amountMinor} ${currency}, which differs from ours.`;
  const about = { sessionId: loaded.session.id, attemptId: captured.id };
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", ...about, detail });
}
