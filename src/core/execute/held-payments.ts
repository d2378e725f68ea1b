/**
 * Payments that their merchants capture later: the hold, the looks at it, and its end without a capture. The merchant's
 * orders are in capture-later.ts; docs/capture-later.md has the rules C1 to C7.
 */

import type { CardSummary } from "../../card-vault/card-vault.ts";
import type { CaptureRecord, LookUpAnswer } from "../../gateways/connector.ts";
import { captureDueMs, holdAlarmMs, holdLookAgainMs, holdLookMs, holdMarginMs } from "../../limits.ts";
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import type { SessionId } from "../../platform/ids.ts";
import { dropProof } from "../authentication/provided-rows.ts";
import type { Core } from "../core.ts";
import { because, type holdEnded } from "../decide/because.ts";
import { keepOrder, recordOrderLost } from "../orders/order-winner.ts";
import {
  move,
  type OtherAmount,
  recordCaptured,
  recordCaptureOrdered,
  recordGivenUp,
  recordHeld,
  recordHoldGivenUp,
} from "../record/attempts.ts";
import { type Lease, lockAndRenew, nameWinner, renewLease, required } from "../record/lease.ts";
import { type HoldNames, recordHeldAndOrdered } from "../record/payment-functions.ts";
import { type EndParts, emitEvent, settleSession } from "../record/settle.ts";
import { lookUpInNotifications } from "../record/stored-notifications.ts";
import { openWorkItem } from "../record/work-items.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import { beginChain } from "../stored-cards/gateway-use.ts";
import { releaseCard } from "../stored-cards/keep-card.ts";
import { type FoundCapture, lookUp, voidHold } from "./gateway-calls.ts";
import { type SettlingParts, settleReported } from "./late-captures.ts";

const beginHold: Statement = {
  name: "begin_hold",
  partitionKey: 1,
  text: required("app.begin_hold($1, $2, $3, $4)", "the payment is held already"),
};

const lookLater: Statement = {
  name: "look_at_hold_later",
  partitionKey: 1,
  text: "SELECT FROM app.look_at_hold_later($1, $2, $3)",
};

/**
 * Records a hold as `recordHeld` does. Of a payment that is captured later, card, proof and browser data are forgotten,
 * and the merchant gets the event. `payerId` is the session that pays the order instead.
 */
export async function recordWinner(
  tx: Tx,
  core: Core,
  session: PaymentSession,
  {
    attempt,
    hold,
    payerId,
  }: { readonly attempt: Attempt; readonly hold: HoldNames; readonly payerId?: SessionId | undefined },
): Promise<void> {
  if (payerId !== undefined) return recordOrderLost(tx, { attempt, hold, payerId });
  if (session.stored) beginChain(tx, { session }, attempt, hold);
  recordHeld(tx, attempt, hold);
  if (!session.manualCapture) return;
  const { holdLifeMs = 0 } = core.connectorOf(attempt.gateway) ?? {};
  recordHold(tx, { attempt, hold }, holdLifeMs);
  const held = await emitEvent(tx, core, session, "payment_session.held");
  tx.afterCommit(() => (session.stored ? releaseCard(core, held) : core.vault.forget(session.id)));
}

/** Sets the time of the next look at a hold. */
export function lookAtHoldAfter(tx: Tx, { sessionId, id }: Pick<Attempt, "sessionId" | "id">, afterMs: number): void {
  tx.send(lookLater, [sessionId, id, afterMs]);
}

/**
 * Records that the winner is held from now on. A gateway that names no end holds for `lifeMs` from the attempt on,
 * because a look-up may find the hold hours later.
 */
export function recordHold(
  tx: Tx,
  { attempt, hold }: { readonly attempt: Attempt; readonly hold: HoldNames },
  lifeMs: number,
): void {
  const { sessionId, startedAt } = attempt;
  const goneAt = hold.heldUntil ?? new Date(startedAt.getTime() + lifeMs);
  tx.send(beginHold, [sessionId, goneAt, holdMarginMs, captureDueMs]);
  lookAtHoldAfter(tx, attempt, holdLookMs);
  dropProof(tx, sessionId);
}

/**
 * Records the hold that an authorization has answered with, and orders its capture unless the merchant does so later. `end` records
 * the end of an authentication, if there was one.
 */
export async function recordAuthorized(
  tx: Tx,
  core: Core,
  lease: Lease,
  held: {
    readonly loaded: Payment;
    readonly attempt: Attempt;
    readonly hold: HoldNames;
    readonly card: CardSummary | undefined;
    readonly end: () => void;
    readonly payerId?: SessionId | undefined;
  },
): Promise<void> {
  const { attempt, hold, card, end, payerId } = held;
  const { session } = held.loaded;
  // rule:manual-capture
  if (!session.manualCapture && payerId === undefined) {
    await recordHeldAndOrdered(tx, lease, { loaded: held.loaded, attempt, hold, card });
    if (session.stored) beginChain(tx, held.loaded, attempt, { ...hold, brand: card?.brand });
    return end();
  }
  renewLease(tx, lease, card);
  end();
  await recordWinner(tx, core, session, { attempt, hold, payerId });
}

const askCapture: Statement = {
  name: "ask_for_capture",
  partitionKey: 1,
  text: "SELECT FROM app.ask_for_capture($1)",
};

/** Records that the capture of a winner is ordered, of this amount where the payment is captured later. */
export function recordOrder(tx: Tx, session: PaymentSession, attempt: Attempt, amountMinor?: number): void {
  if (session.manualCapture) tx.send(askCapture, [session.id]);
  recordCaptureOrdered(tx, attempt, session.manualCapture ? (amountMinor ?? attempt.amountMinor) : undefined);
}

/** Ends a held payment without a capture: the winner is cleared, its hold is voided, and the session is DECLINED. */
export async function endHold(
  tx: Tx,
  core: EndParts,
  { session, attempt }: HeldAttempt,
  declineCode: keyof typeof holdEnded,
): Promise<void> {
  recordHoldGivenUp(tx, attempt, declineCode);
  await settleSession(tx, core, session, { status: "DECLINED", declineCode });
}

/**
 * Asks the gateway about a hold, and ends it once its time is over or the gateway has voided it. A capture that was made at
 * the gateway is an order of its amount, which a person has to know.
 */
export async function lookAtHold({ core, lease, loaded }: HoldWork, attempt: Attempt): Promise<void> {
  const isTimeOver = loaded.session.heldUntil != null && loaded.session.heldUntil <= loaded.readAt;
  let answer = await lookUp(core, attempt);
  const isOpen = answer.type !== "captured" && answer.type !== "voided";
  const mayBeTaken = isTimeOver && isOpen && (await mayHaveLostOrder(core, core.database, loaded.session, attempt));
  if (mayBeTaken) answer = await voidFirst(core, loaded, attempt);
  await core.database.transaction(async (tx) => {
    const { session, now } = await lockAndRenew(tx, lease);
    const held = { session, attempt };
    // A notification that came meanwhile has woken no session, because this one was being worked on.
    const isAsked = core.connectorOf(attempt.gateway)?.canRead || answer.type === "voided";
    if (!isAsked) answer = await lookUpInNotifications(tx, attempt);
    if (answer.type === "captured") return adoptCapture(tx, core, held, answer);
    const isOver = answer.type === "voided" || (!mayBeTaken && session.heldUntil != null && session.heldUntil <= now);
    if (mayBeTaken && !isOver) {
      const pauseMs = Math.min(voidAgainMs * 2 ** attempt.retries, holdLookAgainMs);
      const nextRetryAt = new Date(now.getTime() + pauseMs);
      return void move(tx, attempt, "AUTHORIZED", { set: { retries: attempt.retries + 1, nextRetryAt } });
    }
    if (isOver) return endHold(tx, core, held, "capture_expired");
    lookAtHoldAfter(tx, attempt, answer.type === "held" ? holdLookMs : holdLookAgainMs);
  });
}

/** A held session that one process works on. */
type HoldWork = { readonly core: Core; readonly lease: Lease; readonly loaded: Payment };

// Pause after the first void, doubled up to an hour: a gateway that only refuses it leaves the matter to a person. A
// notification makes the session due at once.
const voidAgainMs = 60_000;

const selectRestored: Statement = {
  name: "select_restored_after",
  text: "SELECT restored_at >= $1 AS lost FROM replica_mark",
};

/**
 * Reports whether a restore may have lost the order of a hold's capture, and its gateway cannot be read. Then only a void
 * shows whether the hold was captured.
 */
export async function mayHaveLostOrder(
  core: Pick<Core, "connectorOf">,
  queryable: Queryable,
  { heldAt }: PaymentSession,
  { gateway }: Attempt,
): Promise<boolean> {
  if (core.connectorOf(gateway)?.canRead) return false;
  const [mark] = await queryable.query<{ lost: boolean | null }>(selectRestored, [heldAt]);
  return mark?.lost === true;
}

/** Voids a hold whose capture may have been ordered and lost, before its session ends. Each void has its own key. */
async function voidFirst(core: Core, loaded: Payment, attempt: Attempt): Promise<LookUpAnswer> {
  const retries = Math.floor(core.runtime.now().getTime() / 1_000);
  const answer = await voidHold(core, loaded, { ...attempt, retries });
  if (answer.type === "done") return { type: "voided" };
  return { type: "inconclusive", reason: "a void was sent" };
}

type Captured = Pick<FoundCapture, "capturedMinor"> & CaptureRecord;
type HeldAttempt = { readonly session: PaymentSession; readonly attempt: Attempt };

/**
 * Records a capture that was found at the gateway as ordered and made, and settles the session. Nothing is sent: a gateway
 * may capture a hold again under another key than the one that captured it.
 */
export async function recordFoundCapture(
  tx: Tx,
  core: SettlingParts,
  { session, attempt }: HeldAttempt,
  answer: Captured,
): Promise<void> {
  recordOrder(tx, session, attempt, answer.capturedMinor);
  recordCaptured(tx, { ...attempt, status: "AUTHORIZED" }, answer);
  await settleReported(tx, core, session, attempt);
}

/**
 * Takes a capture that was made at the gateway as the order of its amount, also if another amount was ordered. A person
 * has to know both.
 */
export async function adoptCapture(tx: Tx, core: SettlingParts, held: HeldAttempt, answer: Captured): Promise<void> {
  const { session, attempt } = held;
  const { sessionId, id: attemptId, gateway } = attempt;
  await keepOrder(tx, core, session);
  const capturedMinor = answer.capturedMinor ?? attempt.amountMinor;
  let reason: string | undefined;
  if (attempt.captureOrderedAt === null) {
    await recordFoundCapture(tx, core, held, answer);
    reason = because.capturedUnordered(attempt, capturedMinor);
  } else {
    const other = otherAmount(attempt, capturedMinor, `${gateway} has captured`);
    recordCaptured(tx, attempt, answer, other);
    if (attempt.status === "VOIDING") nameWinner(tx, attempt);
    await settleReported(tx, core, session, attempt);
    reason = other?.because;
  }
  if (reason === undefined) return;
  const detail = `${reason} Compare the amount with the gateway.`;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, detail });
}

/**
 * Describes a captured amount that is not the ordered one, in a sentence that begins with `captured`; undefined if it
 * is.
 */
export function otherAmount(
  { capturedAmountMinor: orderedMinor, currency }: Attempt,
  capturedMinor: number,
  captured: string,
): OtherAmount | undefined {
  if (orderedMinor == null || capturedMinor === orderedMinor) return undefined;
  return {
    capturedMinor,
    because: because.otherAmount(captured, { made: capturedMinor, ordered: orderedMinor, currency }),
  };
}

/** Reports whether a hold waits so long past its end that a person may end it: a worker does so within seconds. */
export function isOverdue({ heldUntil }: Pick<PaymentSession, "heldUntil">, now: Date): boolean {
  return heldUntil != null && heldUntil.getTime() + holdAlarmMs <= now.getTime();
}

/**
 * Ends a hold about which its gateway reports nothing, because a person has stated that none of its money is kept. A capture
 * that the gateway has reported counts for more.
 */
export async function endOverdueHold({ core, lease }: Omit<HoldWork, "loaded">, attempt: Attempt): Promise<void> {
  const answer = await lookUp(core, attempt);
  await core.database.transaction(async (tx) => {
    const { session } = await lockAndRenew(tx, lease);
    if (answer.type === "captured") return adoptCapture(tx, core, { session, attempt }, answer);
    recordGivenUp(tx, attempt);
    await settleSession(tx, core, session, { status: "DECLINED", declineCode: "capture_expired" });
  });
}

const recordDue: Statement = {
  name: "record_capture_due",
  partitionKey: 1,
  text: "SELECT id FROM app.record_capture_due($1)",
};

/** Reminds the merchant once of a hold that ends within a day. */
export async function emitCaptureDue(tx: Tx, core: Core, session: PaymentSession): Promise<void> {
  const rows = await tx.query(recordDue, [session.id]);
  if (rows.length > 0) await emitEvent(tx, core, session, "payment_session.capture_due");
}
