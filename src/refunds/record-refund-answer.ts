/** Records what gateways answer about refunds, and alarms a person and the merchant about those without an answer. */
import type { Core } from "../core/core.ts";
import { loadSession } from "../core/record/load-session.ts";
import { emitEvent } from "../core/record/settle.ts";
import { openWorkItem } from "../core/record/work-items.ts";
import type { Refund } from "../core/rows/entities.ts";
import type { Payment } from "../core/rows/payment.ts";
import type { ListedRefund, RefundAnswer, RefundAtGateway, RefundRecord } from "../gateways/connector.ts";
import { gatewayReferenceCharactersMax } from "../limits.ts";
import type { Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { recordListed } from "./listed-refunds.ts";
import {
  absenceCertainInMs,
  isOverdue,
  overdueReason,
  pauseAfterLookUp,
  pauseMs,
  type RefundWork,
  unansweredMs,
} from "./next-refund-step.ts";
import { itemOf, moveRefund, recordEnd } from "./refund-rows.ts";

/** Pause in which only a person can continue. */
export const daily = 24 * 60 * 60_000;

export type Current = { readonly loaded: Payment; readonly refund: Refund };

/** Sets the time of the next step; null for none. */
export async function postpone(tx: Tx, refund: Refund, ms: number | null): Promise<void> {
  await moveRefund(tx, refund, refund.status, { set: {}, dueInMs: ms });
}

/** Repeats a step later, and raises the alarm of a refund that has had no answer for too long. */
export async function repeatIn(tx: Tx, core: Core, current: Current, ms: number): Promise<void> {
  await postpone(tx, current.refund, ms);
  if (current.refund.status === "REQUESTED") await reportUnanswered(tx, core, current);
}

/** The current rows, with the answer to a call that was made for the rows of before. */
export type Answered<Answer> = Current & { readonly work: RefundWork; readonly answer: Answer };

/** Records the answer to a request for a refund, which was sent under this key. */
export async function recordAnswer(
  tx: Tx,
  core: Core,
  answered: Answered<RefundAnswer> & { readonly key: 1 | 2 },
): Promise<void> {
  const { loaded, refund, answer } = answered;
  switch (answer.type) {
    case "done":
    case "accepted": {
      const { gatewayReference } = answer;
      if (gatewayReference.length > gatewayReferenceCharactersMax) return repeatLater(tx, core, answered, false);
      await recordMade(tx, core, answered, {
        status: answer.type === "done" ? "succeeded" : "pending",
        gatewayReference,
      });
      return;
    }
    case "refused":
      if (!answer.definitive) return repeatUnmade(tx, core, answered);
      // A report that the gateway has made the refund meanwhile counts for more: it is about the money.
      if (refund.status !== "REQUESTED") return;
      if (mayBeMadeBefore(answered)) return lookUpInstead(tx, core, answered);
      await recordEnd(tx, core, {
        loaded,
        refund,
        dueInMs: undefined,
        end: { status: "FAILED", failureCode: answer.gatewayCode },
      });
      return;
    case "unknown":
      if (answer.isNeverSent) return repeatUnmade(tx, core, answered);
      return repeatLater(tx, core, answered, answer.isKept === true);
    default:
      return unreachable(answer);
  }
}

/** Reports whether a request other than the answered one may have made the refund. */
function mayBeMadeBefore({ refund, key }: Sent): boolean {
  return refund.unanswered > (key === refund.keys ? 1 : 0);
}

type Sent = Current & { readonly key: 1 | 2 };

/** Lets a refund wait for its next request, after one that has certainly not made it. */
async function repeatUnmade(tx: Tx, core: Core, sent: Sent): Promise<void> {
  const { refund, key } = sent;
  if (refund.status === "REQUESTED" && key === refund.keys && refund.unanswered > 0)
    await moveRefund(tx, refund, "REQUESTED", { set: { unanswered: refund.unanswered - 1 } });
  await repeatLater(tx, core, sent, false);
}

/** Records that the gateway has a refund. Returns false if that is no news, also if a person is alarmed about it. */
async function recordMade(
  tx: Tx,
  core: Core,
  { loaded, refund, work }: Current & { readonly work: RefundWork },
  made: Pick<ListedRefund, "status" | "gatewayReference">,
): Promise<boolean> {
  const { refundReference, amountMinor, currency } = atGateway(refund);
  const one = { refundReference, amountMinor, currency, ...made };
  return recordListed(tx, core, { loaded, captured: work.captured, traits: work.traits, listed: [one] });
}

/** Lets a refund without an answer wait for its next request. One that a notification has ended meanwhile is left. */
async function repeatLater(tx: Tx, core: Core, current: Current, isKept: boolean): Promise<void> {
  const { refund } = current;
  if (refund.status !== "REQUESTED") return;
  const set = isKept ? { lookUpFirst: true } : {};
  const dueInMs = isKept
    ? absenceCertainInMs({ ...refund, lookUpFirst: true }, current.loaded.readAt)
    : pauseMs(refund);
  await moveRefund(tx, refund, "REQUESTED", { set, dueInMs });
  await reportUnanswered(tx, core, current);
}

/**
 * Lets a look-up or a person end a refund, by giving up its key. The request without an answer may be on its way for as long as
 * any other.
 */
async function lookUpInstead(tx: Tx, core: Core, current: Current): Promise<void> {
  const { refund, loaded } = current;
  await moveRefund(tx, refund, "REQUESTED", { set: { keyUntil: loaded.readAt }, dueInMs: pauseMs(refund) });
  await reportUnanswered(tx, core, current);
}

/** Alarms a person and the merchant when a refund has had no answer for an hour, or could not be sent for so long. */
async function reportUnanswered(tx: Tx, core: Core, current: Current): Promise<void> {
  const { loaded, refund } = current;
  const { firstSentAt, createdAt, gateway } = refund;
  const since = firstSentAt ?? createdAt;
  if (loaded.readAt.getTime() - since.getTime() < unansweredMs) return;
  const named = `${encodeId("ref", refund.id)} since ${since.toISOString().slice(0, 16)}Z`;
  const detail = firstSentAt
    ? `${gateway} has not answered ${named}.`
    : `${gateway} is not connected, or its refunds of the payment cannot be read, so it has not been sent ${named}.`;
  await openWorkItem(tx, core, { ...itemOf(refund), detail });
  await emitPending(tx, core, current);
}

/** Tells the merchant once about a refund that has had no answer for an hour. */
export async function emitPending(tx: Tx, core: Core, { loaded, refund }: Current): Promise<void> {
  const since = refund.firstSentAt ?? refund.createdAt;
  const isLate = loaded.readAt.getTime() - since.getTime() >= unansweredMs;
  if (refund.status !== "REQUESTED" || refund.pendingEventAt || !isLate) return;
  await moveRefund(tx, refund, "REQUESTED", { set: { pendingEventAt: loaded.readAt } });
  await emitEvent(tx, core, loaded.session, "refund.pending", { refundId: refund.id });
}

/** Records the refunds that the gateway lists; undefined if the list could not be read. */
export async function recordList(
  tx: Tx,
  core: Core,
  given: Current & { readonly work: RefundWork; readonly listed: readonly ListedRefund[] | undefined },
): Promise<void> {
  const { loaded, refund, work, listed = [] } = given;
  await recordListed(tx, core, { loaded, captured: work.captured, traits: work.traits, listed });
  const now = await loadSession(tx, refund.sessionId);
  const fresh = now.refunds.find(({ id }) => id === refund.id)!;
  await lookLater(tx, core, { loaded: now, refund: fresh, work });
}

/** Lets a refund that the gateway has wait for its next look-up, and alarms a person about one without an end. */
async function lookLater(tx: Tx, core: Core, { loaded, refund, work }: Current & { work: RefundWork }): Promise<void> {
  if (refund.status === "PENDING" && isOverdue(refund, loaded.readAt))
    await openWorkItem(tx, core, { ...itemOf(refund), detail: overdueReason(refund) });
  await postpone(tx, refund, pauseAfterLookUp(refund, work.traits, loaded.readAt) ?? null);
}

export async function recordLookUp(tx: Tx, core: Core, answered: Answered<RefundRecord>): Promise<void> {
  const { loaded, refund, work, answer } = answered;
  switch (answer.type) {
    case "succeeded":
    case "pending": {
      const { type: status, gatewayReference } = answer;
      if (await recordMade(tx, core, answered, { status, gatewayReference })) return;
      return lookLater(tx, core, answered);
    }
    case "failed": {
      const { gatewayCode: failureCode, gatewayReference } = answer;
      const end = { status: "FAILED", failureCode, gatewayReference } as const;
      await recordEnd(tx, core, { loaded, refund, end, dueInMs: undefined });
      return;
    }
    case "absent":
      return recordAbsent(tx, core, answered);
    case "cannotTell":
      if (refund.status !== "REQUESTED") return lookLater(tx, core, answered);
      if (work.traits.canRead) return repeatLater(tx, core, answered, false);
      await openWorkItem(tx, core, { ...itemOf(refund), detail: untold(refund) });
      await emitPending(tx, core, answered);
      return postpone(tx, refund, daily);
    default:
      return unreachable(answer);
  }
}

/** Returns the text for a person about a refund of which the gateway can say nothing. */
export function untold({ gateway }: Refund): string {
  return `${gateway} cannot be asked whether it has this refund, and repeating the request tells nothing more. Check there, then record its end.`;
}

async function recordAbsent(tx: Tx, core: Core, current: Answered<RefundRecord>): Promise<void> {
  const { refund, work } = current;
  if (refund.status === "FAILED") return postpone(tx, refund, null);
  if (refund.status !== "REQUESTED") {
    const detail = `${refund.gateway} has no record of this refund any more. Check there, then record its end.`;
    await openWorkItem(tx, core, { ...itemOf(refund), detail });
    return postpone(tx, refund, daily);
  }
  // The look-up began when the work was loaded; another process may have sent the refund since. rule:refund-quiet-time
  const certainInMs = absenceCertainInMs(refund, work.loaded.readAt);
  if (certainInMs > 0) return repeatIn(tx, core, current, certainInMs);
  await moveRefund(tx, refund, "REQUESTED", { set: {}, stamp: ["absentAt"], dueInMs: 0 });
  await reportUnanswered(tx, core, current);
}

export function atGateway(refund: Refund): RefundAtGateway {
  return {
    refundReference: encodeId("ref", refund.id),
    gatewayReference: refund.gatewayReference ?? undefined,
    amountMinor: refund.amountMinor,
    currency: refund.currency,
    reason: refund.reason ?? undefined,
  };
}
