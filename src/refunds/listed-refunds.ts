/** Records refunds that the gateway has and this database does not: those made by hand, and those that a restore has lost. */

import type { Core } from "../core/core.ts";
import { loadSession } from "../core/record/load-session.ts";
import { emitEvent } from "../core/record/settle.ts";
import { openWorkItem } from "../core/record/work-items.ts";
import type { Attempt, Refund } from "../core/rows/entities.ts";
import type { Payment } from "../core/rows/payment.ts";
import { reportOverlaps } from "../disputes/dispute-rows.ts";
import type { ListedRefund } from "../gateways/connector.ts";
import type { Tx } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";
import { amountInWords } from "../platform/money.ts";
import { pauseAfterLookUp, type RefundTraits } from "./next-refund-step.ts";
import { eventOf, insertRefund, listedRefundIdOf, type RefundEnd, recordEnd } from "./refund-rows.ts";

/** Reports whether the gateway lists a refund under our reference. */
export function isCarried({ id }: Pick<Refund, "id">, listed: readonly ListedRefund[]): boolean {
  return listed.some(({ refundReference }) => refundReference !== undefined && decodeId("ref", refundReference) === id);
}

/** A locked session, and the refunds that its gateway lists. */
export type Listing = {
  readonly loaded: Payment;
  readonly captured: Attempt;
  readonly traits: Pick<RefundTraits, "canRead">;
  readonly listed: readonly ListedRefund[];
};

/**
 * Records every listed refund that has no row, and the state of those that have one. Money that no row explains is a
 * matter for a person, and counts as refunded all the same. Returns true if a row was added or moved.
 */
export async function recordListed(tx: Tx, core: Core, listing: Listing): Promise<boolean> {
  let { loaded } = listing;
  let isNews = false;
  for (const one of listing.listed) {
    const isMoved = await recordOne(tx, core, { ...listing, loaded }, one);
    // Two of them may carry the same reference.
    if (isMoved) loaded = await loadSession(tx, loaded.session.id);
    isNews ||= isMoved;
  }
  return isNews;
}

async function recordOne(tx: Tx, core: Core, listing: Listing, one: ListedRefund): Promise<boolean> {
  const known = findListed(listing.loaded.refunds, one);
  if (known === undefined) return recordNew(tx, core, listing, one);
  return isSame(known, one, listing.traits)
    ? recordKnown(tx, core, listing, known, one)
    : recordOther(tx, core, listing, known, one);
}

/** Returns the refund that a report is about, by the gateway's reference first and ours second. */
function findListed(
  refunds: readonly Refund[],
  { refundReference, gatewayReference }: Pick<ListedRefund, "refundReference" | "gatewayReference">,
): Refund | undefined {
  const id = refundReference === undefined ? undefined : decodeId("ref", refundReference);
  return (
    refunds.find((refund) => refund.gatewayReference === gatewayReference) ?? refunds.find((refund) => refund.id === id)
  );
}

/** Reports whether a refund of the gateway can be the money of this row. */
function isSame(refund: Refund, one: ListedRefund, { canRead }: Listing["traits"]): boolean {
  if (refund.amountMinor !== one.amountMinor || refund.currency !== one.currency) return false;
  const isNamed = refund.gatewayReference === one.gatewayReference;
  if (one.status === "failed") return isNamed || refund.gatewayReference === null || !canRead;
  // A notification about this very refund that arrives after the one about its failure is older.
  if (refund.status === "FAILED") return isNamed && refund.decidedBy === null && !canRead;
  return isNamed || refund.gatewayReference === null;
}

async function recordKnown(tx: Tx, core: Core, listing: Listing, refund: Refund, one: ListedRefund): Promise<boolean> {
  const { loaded, traits } = listing;
  const end = endOf(one);
  const completedAt = end.status === "PENDING" ? null : loaded.readAt;
  const dueInMs = pauseAfterLookUp({ ...refund, status: end.status, completedAt }, traits, loaded.readAt);
  return recordEnd(tx, core, { loaded, refund, end, dueInMs });
}

function endOf({ status, gatewayReference }: ListedRefund): RefundEnd {
  if (status === "failed") return { status: "FAILED", failureCode: "failed", gatewayReference };
  return { status: status === "succeeded" ? "SUCCEEDED" : "PENDING", gatewayReference };
}

/** Records money that is not that of the row with its reference: a second refund, or one of a row that has failed. */
async function recordOther(tx: Tx, core: Core, listing: Listing, known: Refund, one: ListedRefund): Promise<boolean> {
  if (one.status === "failed") return false;
  await reportOther(tx, core, listing, one);
  const isCounted = known.gatewayReference === one.gatewayReference || one.currency !== listing.captured.currency;
  return isCounted ? false : recordNew(tx, core, listing, { ...one, refundReference: undefined });
}

async function recordNew(tx: Tx, core: Core, listing: Listing, one: ListedRefund): Promise<boolean> {
  const { loaded, captured, traits } = listing;
  const { session } = loaded;
  if (one.currency !== captured.currency) {
    await reportOther(tx, core, listing, one);
    return false;
  }
  const ours = one.refundReference === undefined ? undefined : decodeId("ref", one.refundReference);
  const id = ours ?? listedRefundIdOf(session.id, one.gatewayReference);
  const end = endOf(one);
  const completedAt = end.status === "PENDING" ? null : loaded.readAt;
  const { connectionId, gateway, currency } = captured;
  insertRefund(tx, {
    sessionId: session.id,
    id,
    attemptId: captured.id,
    connectionId,
    gateway,
    amountMinor: one.amountMinor,
    currency,
    status: end.status,
    origin: "GATEWAY",
    gatewayReference: one.gatewayReference,
    failureCode: end.status === "FAILED" ? end.failureCode : null,
    dueInMs: pauseAfterLookUp({ status: end.status, createdAt: loaded.readAt, completedAt }, traits, loaded.readAt),
  });
  if (loaded.disputes) await reportOverlaps(tx, core, await loadSession(tx, session.id));
  if (end.status !== "PENDING") await emitEvent(tx, core, session, eventOf[end.status], { refundId: id });
  return true;
}

async function reportOther(tx: Tx, core: Core, { loaded, captured }: Listing, one: ListedRefund): Promise<void> {
  const { amountMinor, currency, gatewayReference } = one;
  const detail = `${captured.gateway} has the refund ${gatewayReference.slice(0, 100)} of ${amountInWords(amountMinor, currency)}, which differs from ours.`;
  const about = { sessionId: loaded.session.id, attemptId: captured.id };
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", ...about, detail });
}
