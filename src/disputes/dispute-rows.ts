/** A dispute's rows: the gateway's reports, folded, recorded under the session's lock with its events. */

import type { Core } from "../core/core.ts";
import { loadSession } from "../core/record/load-session.ts";
import { deriveId } from "../core/record/open-attempt.ts";
import { emitEvent } from "../core/record/settle.ts";
import { type AlarmingCore, openWorkItem, resolveWorkItem } from "../core/record/work-items.ts";
import type { Dispute, DisputeStatus, ReportedNotice } from "../core/rows/disputes.ts";
import type { Attempt } from "../core/rows/entities.ts";
import { leftRefunds, type Payment } from "../core/rows/payment.ts";
import type { EventType } from "../events/outbox.ts";
import type { DisputeEvent } from "../gateways/dispute-notice.ts";
import type { DisputeReading, Taken } from "../gateways/dispute-readings.ts";
import { disputeReasonOf } from "../gateways/dispute-reasons.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { type DisputeId, encodeId, type SessionId } from "../platform/ids.ts";
import { amountInWords } from "../platform/money.ts";
import { type FoldedDispute, foldDispute } from "./fold-dispute.ts";

// A gateway reports a dispute in a dozen notices. The holder of its secret can sign more: of those, only notices that
// change something are kept.
const noticesMax = 100;

/** Returns the id of a gateway's dispute, or of a network's warning of fraud, which may bear the reference of the dispute that follows. */
function disputeIdOf(sessionId: SessionId, gatewayReference: string, isWarning: boolean): DisputeId {
  return deriveId(sessionId, `${isWarning ? "fraud warning" : "dispute"} ${gatewayReference}`);
}

/** A locked session with its captured attempt, and the gateway's reports about a dispute of it. */
export type Reported = {
  readonly loaded: Payment;
  readonly captured: Attempt;
  readonly gatewayReference: string;
  readonly notice: ReportedNotice;
};

const recordStatement: Statement = {
  name: "record_dispute",
  partitionKey: 1,
  text: "SELECT id FROM app.record_dispute($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
};

/** Records a notice. `unknown`: it is a remark about an unknown dispute. A notice without news changes nothing. */
export async function recordNotice(tx: Tx, core: Core, reported: Reported): Promise<"unknown" | undefined> {
  const { loaded, captured, gatewayReference, notice } = reported;
  const { session } = loaded;
  const id = disputeIdOf(session.id, gatewayReference, notice.event === "fraudReported");
  const known = loaded.disputes?.find((one) => one.id === id);
  const notices = known?.notices ?? [];
  const alike = notices.filter((one) => isSame(one, notice));
  if (alike.length > 1 || alike.some((one) => one.id === notice.id)) return undefined;
  const reportedSoFar = [...notices, alike.length > 0 ? { ...notice, isRepeat: true as const } : notice];
  const whole = { amountMinor: captured.capturedAmountMinor ?? captured.amountMinor, currency: captured.currency };
  const folded = foldDispute(reportedSoFar, whole);
  if (folded === undefined) return "unknown";
  const isFull = notices.length >= noticesMax && (alike.length === 0 || !movesMoney(notice.event));
  // rule:dispute-notices
  if (isFull && JSON.stringify(folded) === JSON.stringify(foldDispute(notices, whole))) return undefined;
  const change = { loaded, captured, gatewayReference, id, known };
  const respondBy = deadlineOf(folded, known);
  await recordDispute(tx, { ...change, state: { ...folded, respondBy, notices: reportedSoFar } });
  if (alike.length > 0) await reportRepeat(tx, core, reported);
  await emitNews(tx, core, { sessionId: session.id, id, known });
  return undefined;
}

/** A gateway's own record of a dispute of a locked session, and the time of the request for it. */
export type Read = {
  readonly loaded: Payment;
  readonly captured: Attempt;
  readonly reading: DisputeReading;
  readonly askedAt: Date;
};

/** Records a reading. A reading that was requested before the recorded one changes nothing. */
export async function recordReading(tx: Tx, core: Core, { loaded, captured, reading, askedAt }: Read): Promise<void> {
  const { session } = loaded;
  const { gatewayReference, unknownStatus, networkReasonCode } = reading;
  const id = disputeIdOf(session.id, gatewayReference, reading.stage === "FRAUD_WARNING");
  const known = loaded.disputes?.find((one) => one.id === id);
  // rule:dispute-asked
  if (known?.askedAt && known.askedAt >= askedAt) return;
  const named = reading.reason ?? "other";
  const reason = named === "other" ? disputeReasonOf(networkReasonCode) : named;
  const kept = unknownStatus !== undefined && known ? { stage: known.stage, status: known.status } : {};
  const { openedAt, respondBy = null } = reading;
  const state = { ...reading, ...kept, reason, respondBy, openedAt, askedAt, notices: [] };
  await recordDispute(tx, { loaded, captured, gatewayReference, id, known, state });
  if (unknownStatus !== undefined) {
    const { sessionId, id: attemptId } = captured;
    const detail = `The gateway gives the dispute ${gatewayReference.slice(0, 100)} a status that is not known here: ${unknownStatus.slice(0, 40)}.`;
    await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, rule: gatewayReference, detail });
  }
  await emitNews(tx, core, { sessionId: session.id, id, known });
}

type DisputeState = Omit<FoldedDispute, "respondBy"> & {
  readonly respondBy: Date | null;
  readonly notices: readonly ReportedNotice[];
  readonly askedAt?: Date;
  readonly openedAt?: Date | undefined;
};

/** Writes the rows of a dispute as it is now. */
async function recordDispute(
  tx: Tx,
  given: Pick<Reported, "loaded" | "captured" | "gatewayReference"> & {
    readonly id: DisputeId;
    readonly known: Dispute | undefined;
    readonly state: DisputeState;
  },
): Promise<void> {
  const { loaded, captured, gatewayReference, id, known, state } = given;
  const sessionId = loaded.session.id;
  // Without a valid amount, all that was captured may be at stake.
  const { amountMinor, currency } = state.amount ?? {
    amountMinor: captured.capturedAmountMinor ?? captured.amountMinor,
    currency: captured.currency,
  };
  await tx.query(recordStatement, [
    ...[sessionId, id, captured.id, captured.connectionId, captured.gateway, gatewayReference],
    ...[state.stage, statusBeside(known, state), amountMinor, currency, state.reason, state.networkReasonCode ?? null],
    ...[state.network ?? null, state.respondBy, JSON.stringify(state.notices)],
    ...[state.askedAt ?? null, state.openedAt ?? null],
  ]);
  await recordMovements(tx, { sessionId, id, known, taken: state.taken });
}

/** Returns the status beside what we know: one that we accepted ended by that, and an owner's word holds against what the gateway had said before. */
function statusBeside(
  known: Dispute | undefined,
  { stage, status }: Pick<DisputeState, "stage" | "status">,
): DisputeStatus {
  const isAccepted = known?.responses.some((one) => one.type === "ACCEPT" && one.status !== "REFUSED");
  if (status === "LOST" && isAccepted) return "ACCEPTED";
  const { decision } = known ?? {};
  const isOld = decision && known?.status === decision.status && known.stage === stage && status === decision.before;
  return isOld ? decision.status : status;
}

/**
 * Alarms a person about money that was moved twice by the same amount, or once: only a day that is not signed could
 * decide. It may raise the held amount, and never lowers it.
 */
async function reportRepeat(tx: Tx, core: Core, { captured, gatewayReference, notice }: Reported): Promise<void> {
  if (!movesMoney(notice.event)) return;
  const { sessionId, id: attemptId } = captured;
  const what = notice.event === "returned" ? "a reversal" : "a chargeback";
  const detail = `The gateway reports ${what} of the same amount a second time for the dispute ${gatewayReference.slice(0, 100)}. If it is another one, it is not counted here.`;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, rule: gatewayReference, detail });
}

function movesMoney(event: DisputeEvent): boolean {
  return event === "charged" || event === "chargedAgain" || event === "returned";
}

// The signed fields. A repeat may differ in the others.
function isSame(left: ReportedNotice, right: ReportedNotice): boolean {
  return left.event === right.event && left.amountMinor === right.amountMinor && left.currency === right.currency;
}

// rule:dispute-deadline
function deadlineOf({ stage, respondBy }: FoldedDispute, known: Dispute | undefined): Date | null {
  const before = known?.stage === stage ? known.respondBy : undefined;
  if (!before || !respondBy) return respondBy ?? before ?? null;
  return respondBy < before ? respondBy : before;
}

const insertMovement: Statement = {
  name: "insert_dispute_movement",
  partitionKey: 1,
  text: "SELECT FROM app.insert_dispute_movement($1, $2, $3, $4, $5)",
};

/** Records the amounts taken and returned beyond those on record. */
async function recordMovements(
  tx: Tx,
  given: { sessionId: SessionId; id: DisputeId; known: Dispute | undefined; taken: readonly Taken[] },
): Promise<void> {
  const { sessionId, id, known, taken } = given;
  for (const { currency, takenMinor, returnedMinor } of taken) {
    for (const [type, total] of [
      ["CHARGEBACK", takenMinor],
      ["CHARGEBACK_REVERSED", returnedMinor],
    ] as const) {
      const moved = (known?.movements ?? []).filter((one) => one.type === type && one.currency === currency);
      const missing = total - moved.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
      if (missing > 0) await tx.query(insertMovement, [sessionId, id, type, missing, currency]);
    }
  }
}

const isOpen = (status: DisputeStatus) => status === "NEEDS_RESPONSE" || status === "UNDER_REVIEW";

/** A core that emits events and raises alarms. */
export type EmittingCore = AlarmingCore & Pick<Core, "outbox" | "describeSession">;

/** Emits the changes of a dispute since `known`. */
export async function emitNews(
  tx: Tx,
  core: EmittingCore,
  given: { sessionId: SessionId; id: DisputeId; known: Dispute | undefined },
): Promise<void> {
  const { sessionId, id, known } = given;
  const loaded = await loadSession(tx, sessionId);
  const now = loaded.disputes!.find((one) => one.id === id)!;
  await reportOverlaps(tx, core, loaded);
  const emit = (type: EventType) => emitEvent(tx, core, loaded.session, type, { disputeId: id });
  if (known === undefined) await emit("dispute.created");
  const isNews = known === undefined || shownOf(known) !== shownOf(now);
  const isEnd = now.stage !== "FRAUD_WARNING" && !isOpen(now.status) && known?.status !== now.status;
  if (isEnd) await emit("dispute.closed");
  else if (known !== undefined && isNews) await emit("dispute.updated");
}

function shownOf({
  stage,
  status,
  amountMinor,
  currency,
  heldMinor,
  overlapMinor,
  respondBy,
  reason,
  movements,
}: Dispute) {
  const shown = [stage, status, amountMinor, currency, heldMinor, overlapMinor, respondBy, reason, movements.length];
  return JSON.stringify(shown);
}

/** Alarms a person about each dispute that takes money which refunds had paid back already, or which another dispute holds. */
export async function reportOverlaps(tx: Tx, core: AlarmingCore, loaded: Payment): Promise<void> {
  for (const dispute of loaded.disputes ?? []) await reportOverlap(tx, core, loaded, dispute);
}

async function reportOverlap(tx: Tx, core: AlarmingCore, loaded: Payment, dispute: Dispute): Promise<void> {
  const { sessionId, attemptId, id, gateway, overlapMinor } = dispute;
  const item = { kind: "PAID_BACK_TWICE", sessionId, attemptId, rule: encodeId("dsp", id) } as const;
  // rule:dispute-settled
  if (overlapMinor === 0 || overlapMinor === settledMinor(loaded, dispute)) return resolveWorkItem(tx, item);
  const amount = amountInWords(overlapMinor, loaded.session.currency);
  const detail =
    leftRefunds(loaded).length > 0
      ? `A dispute at ${gateway} takes ${amount} that refunds have paid back already. Answer it with the refund.`
      : `The disputes of this payment at ${gateway} hold ${amount} more than was captured. Ask the gateway which of them counts.`;
  await openWorkItem(tx, core, { ...item, detail });
}

/**
 * Returns the amount that PayPal has paid back by its own refund to settle a dispute that we accepted or lost: "PayPal
 * automatically refunds money to the customer", as its OpenAPI file of disputes (2024) says of `accept-claim`. The
 * refund has the same amount, and was not made here.
 */
function settledMinor({ refunds }: Payment, { gateway, status, amountMinor, currency, responses }: Dispute): number {
  const isGivenUp = responses.some((one) => one.type === "ACCEPT" && one.status !== "REFUSED");
  if (gateway !== "PAYPAL" || !(isGivenUp || status === "ACCEPTED" || status === "LOST")) return 0;
  const isSettlement = refunds.some(
    (one) =>
      one.origin === "GATEWAY" &&
      one.status !== "FAILED" &&
      one.amountMinor === amountMinor &&
      one.currency === currency,
  );
  return isSettlement ? amountMinor : 0;
}
