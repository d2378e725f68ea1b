/**
 * A person's decision about an attempt that its gateway never ends: given up, or captured. It is stored on the attempt,
 * and in live another person has to confirm it. The flow executes it under its lease, so it never runs beside a request
 * of ours.
 */

import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { AttemptId, MerchantId, SessionId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { pendingFrom } from "../decide/next-step.ts";
import type { TheirRecord } from "../decide/reconcile-records.ts";
import { keepOrder } from "../orders/order-winner.ts";
import { recordCaptured, recordGivenUp } from "../record/attempts.ts";
import { lockAndRenew, nameWinner, wakeLocked } from "../record/lease.ts";
import { loadSession } from "../record/load-session.ts";
import { settleSession } from "../record/settle.ts";
import { openWorkItem } from "../record/work-items.ts";
import type { Attempt, Decision, PaymentSession } from "../rows/entities.ts";
import { isHeld, type Payment } from "../rows/payment.ts";
import * as gateway from "./gateway-calls.ts";
import { adoptCapture, endOverdueHold, isOverdue, otherAmount, recordOrder } from "./held-payments.ts";
import { actOnReports, type CaptureReports, queryCaptureReports, readCaptureReports } from "./late-captures.ts";
import type { Work } from "./work.ts";

/** A stored decision. Without `confirmedAt` it has no effect yet. */
export type RecordedDecision = {
  readonly attemptId: AttemptId;
  readonly decision: Decision;
  /** The gateway's reference of the captured payment; null if the attempt is given up. */
  readonly reference: string | null;
  /** The captured amount; null if it is the ordered one. */
  readonly amountMinor: number | null;
  readonly currency: string;
  readonly reason: string;
  readonly decidedBy: string;
  readonly decidedAt: Date;
  readonly takesTwo: boolean;
  readonly confirmedBy: string | null;
  readonly confirmedAt: Date | null;
};

/** The decision that a person wants, and whether another person has to confirm it. */
export type WantedDecision = Pick<RecordedDecision, "decision" | "reference" | "reason" | "takesTwo"> & {
  readonly by: string;
  readonly amountMinor?: number | undefined;
};

/** An attempt of a merchant's session. */
export type DecidedAttempt = {
  readonly merchantId: MerchantId;
  readonly sessionId: SessionId;
  readonly attemptId: AttemptId;
};

/**
 * Returns the decisions that a person may take about an attempt now. Its void never ends, or its capture stays
 * unanswered after the last moment at which the flow would have tried another gateway. A held payment that no worker
 * ends in time can be given up. CAPTURED is allowed only if the capture was ordered and not definitively refused, and
 * only while the session has not ended: one capture then belongs to the session, or none.
 */
export function decisionsOpen(loaded: Payment, attempt: Attempt): readonly Decision[] {
  // After a restore another gateway may have captured: first the gateways answer, or a person adopts a capture.
  return loaded.session.unrecordedCheckAt ? [] : decisionsBesideDoubt(loaded, attempt);
}

function decisionsBesideDoubt({ session, readAt }: Payment, attempt: Attempt): readonly Decision[] {
  if (attempt.completedAt || attempt.decisionConfirmedAt) return [];
  if (isWaitingHold(session, attempt)) return isOverdue(session, readAt) ? ["GIVEN_UP"] : [];
  const isOrdered = attempt.captureOrderedAt !== null;
  const pendingAt = pendingFrom(session, [attempt]);
  const isPastDeadline = pendingAt !== undefined && pendingAt <= readAt;
  // Before the deadline the flow may still try another gateway, beside a capture that may have succeeded.
  if (isOrdered && session.status === "CREATED" && !isPastDeadline) return [];
  if (attempt.status !== "VOIDING" && !(attempt.status === "AUTHORIZED" && isOrdered)) return [];
  const mayHaveLanded = isOrdered && attempt.captureRefusalCode === null;
  return mayHaveLanded && session.status === "CREATED" ? ["GIVEN_UP", "CAPTURED"] : ["GIVEN_UP"];
}

/** Reports whether an attempt is a hold whose capture was not ordered, or whose order a restore has lost. */
function isWaitingHold(session: PaymentSession, { id, status }: Attempt): boolean {
  return status === "AUTHORIZED" && isHeld(session) && session.winnerAttemptId === id;
}

/** Returns the decisions that a person may take about an attempt who has looked at every gateway after a restore. */
function decisionsAfterRestore(loaded: Payment, attempt: Attempt): readonly Decision[] {
  if (!isWaitingHold(loaded.session, attempt)) return decisionsBesideDoubt(loaded, attempt);
  return attempt.decisionConfirmedAt ? [] : ["CAPTURED"];
}

const columns = `
  id AS "attemptId", decision, decision_reference AS reference, decision_amount_minor::float8 AS "amountMinor", currency, decision_reason AS reason, decided_by AS "decidedBy",
  decided_at AS "decidedAt", decision_takes_two AS "takesTwo", decision_confirmed_by AS "confirmedBy",
  decision_confirmed_at AS "confirmedAt"`;
const selectDecisions: Statement = {
  name: "select_decisions",
  text: `SELECT ${columns} FROM attempt WHERE session_id = $1 AND decision IS NOT NULL`,
};

/** Loads the decisions about a session's attempts. */
export async function loadDecisions(queryable: Queryable, sessionId: SessionId): Promise<readonly RecordedDecision[]> {
  return queryable.query<RecordedDecision>(selectDecisions, [sessionId]);
}

const lockOfMerchant: Statement = {
  name: "lock_session_for_decision",
  partitionKey: 1,
  text: "SELECT id FROM app.lock_session_of($1, $2)",
};
const setDecision: Statement = {
  name: "set_decision",
  partitionKey: 1,
  text: `SELECT ${columns} FROM app.set_decision($1, $2, $3, $4, $5, $6, $7, $8)`,
};

/** A decision before and after a change. */
export type DecisionChange = {
  readonly before: RecordedDecision | undefined;
  readonly after: RecordedDecision | undefined;
};

/**
 * Stores a decision and replaces one that is not confirmed yet. It takes effect at once if no second person is needed.
 * `isAdopted` also allows it while the session is in doubt after a restore. Throws `not_found`, and `state_conflict` if
 * the attempt cannot be ended this way.
 */
export async function decideAttempt(
  tx: Tx,
  of: DecidedAttempt,
  wanted: WantedDecision,
  { isAdopted = false }: { isAdopted?: boolean } = {},
): Promise<DecisionChange> {
  const { before, loaded, attempt } = await lockAttempt(tx, of);
  const open = isAdopted ? decisionsAfterRestore(loaded, attempt) : decisionsOpen(loaded, attempt);
  if (!open.includes(wanted.decision)) throw new DomainError("state_conflict", whyClosed(loaded, wanted.decision));
  const { decision, reference, reason, by, takesTwo, amountMinor = attempt.capturedAmountMinor } = wanted;
  if (amountMinor != null && amountMinor > attempt.amountMinor) {
    const field = "amountMinor";
    throw new DomainError("amount_exceeds_held", "The amount is more than the amount that is held.", { field });
  }
  const otherMinor = amountMinor === attempt.capturedAmountMinor ? null : (amountMinor ?? null);
  const values = [of.sessionId, of.attemptId, decision, reference, reason, by, takesTwo, otherMinor];
  const [after] = await tx.query<RecordedDecision>(setDecision, values);
  await wakeLocked(tx, of.sessionId);
  return { before, after };
}

const confirm: Statement = {
  name: "confirm_decision",
  partitionKey: 1,
  text: `SELECT ${columns} FROM app.confirm_decision($1, $2, $3)`,
};

/**
 * Confirms a decision in the name of a second person, who has seen its content. Throws `not_found`, and
 * `state_conflict` if the decision has changed since, is not waiting for confirmation, or was made by this person.
 */
export async function confirmDecision(
  tx: Tx,
  of: DecidedAttempt,
  seen: Pick<WantedDecision, "decision" | "reference" | "amountMinor" | "by">,
): Promise<DecisionChange> {
  const { before, loaded, attempt } = await lockAttempt(tx, of);
  if (before === undefined || before.confirmedAt !== null || attempt.completedAt) {
    throw new DomainError("state_conflict", "No decision about this attempt is waiting for confirmation.");
  }
  if (!decisionsOpen(loaded, attempt).includes(before.decision)) {
    throw new DomainError("state_conflict", whyNotConfirmed(loaded));
  }
  const isSame = before.reference === seen.reference && (before.amountMinor ?? undefined) === seen.amountMinor;
  if (before.decision !== seen.decision || !isSame) {
    throw new DomainError("state_conflict", "The decision has changed. Read it again before you confirm it.");
  }
  if (before.decidedBy === seen.by) {
    throw new DomainError("state_conflict", "You made this decision. Another member has to confirm it.");
  }
  const [after] = await tx.query<RecordedDecision>(confirm, [of.sessionId, of.attemptId, seen.by]);
  await wakeLocked(tx, of.sessionId);
  return { before, after };
}

const withdraw: Statement = {
  name: "withdraw_decision",
  partitionKey: 1,
  text: "SELECT FROM app.withdraw_decision($1, $2)",
};

/** Withdraws a decision that is not confirmed yet. Throws `not_found`, and `state_conflict` if there is none. */
export async function withdrawDecision(tx: Tx, of: DecidedAttempt): Promise<DecisionChange> {
  const { before, attempt } = await lockAttempt(tx, of);
  if (before === undefined || before.confirmedAt !== null || attempt.completedAt) {
    throw new DomainError("state_conflict", "No decision about this attempt is waiting for confirmation.");
  }
  await tx.query(withdraw, [of.sessionId, of.attemptId]);
  return { before, after: undefined };
}

async function lockAttempt(tx: Tx, { merchantId, sessionId, attemptId }: DecidedAttempt) {
  const isThere = (await tx.query(lockOfMerchant, [sessionId, merchantId])).length > 0;
  const loaded = isThere ? await loadSession(tx, sessionId) : undefined;
  const attempt = loaded?.attempts.find(({ id }) => id === attemptId);
  if (loaded === undefined || attempt === undefined) {
    throw new DomainError("not_found", "The payment has no such attempt.");
  }
  const before = (await loadDecisions(tx, sessionId)).find((one) => one.attemptId === attemptId);
  return { before, loaded, attempt };
}

const whyInDoubt =
  "The payment is in doubt after a restore. Wait until its gateways have answered, or release the doubt.";

function whyNotConfirmed({ session }: Payment): string {
  if (session.unrecordedCheckAt) return whyInDoubt;
  return "The decision can no longer take effect: withdraw it. The capture has been refused, or the payment has ended.";
}

function whyClosed({ session }: Payment, decision: Decision): string {
  if (session.unrecordedCheckAt) return whyInDoubt;
  return decision === "CAPTURED"
    ? "An attempt can be recorded as captured only if its capture was requested, was not refused and has had no answer within the payment's time, and only while the payment has not ended."
    : "An attempt can be given up only once, and only if it is being voided or its capture has had no answer within the payment's time.";
}

const endDoubt: Statement = {
  name: "end_doubt",
  partitionKey: 1,
  text: "SELECT FROM app.set_unrecorded_check($1, NULL, NULL)",
};

/**
 * Executes a confirmed decision unless the gateway contradicts it: the gateway outweighs a person. A capture that it
 * reports becomes the session's. If it reports that the capture was refused or is impossible, the decision is withdrawn
 * and the flow continues without it. The order of a capture that a restore has lost is recorded only with the capture,
 * so that a payment whose decision is withdrawn is held as before.
 */
export async function endDecided({ core, lease, loaded }: Work, attempt: Attempt): Promise<void> {
  const isGivenUp = attempt.decision === "GIVEN_UP";
  const isAsked = attempt.captureOrderedAt !== null;
  if (isGivenUp && isWaitingHold(loaded.session, attempt)) return endOverdueHold({ core, lease }, attempt);
  const mayBeCaptured = isAsked || attempt.decisionAmountMinor !== null;
  const record = mayBeCaptured ? await gateway.readRecord(core, attempt) : undefined;
  await core.database.transaction(async (tx) => {
    const { session } = await lockAndRenew(tx, lease);
    if (isAsked && !session.unrecordedCheckAt && record?.answer.type === "captured" && isOtherAmount(attempt, record)) {
      if (!isGivenUp) await withdrawContradicted(tx, core, attempt, "a capture of another amount");
      return adoptCapture(tx, core, { session, attempt }, record.answer);
    }
    // A report may have been stored since the look-up, and processed while the attempt was open.
    const reports = mayBeCaptured ? await readCaptureReports(queryCaptureReports(tx, attempt)) : undefined;
    const isCaptured = hasCaptured(attempt, record, reports);
    if (isGivenUp && !isCaptured) return recordGivenUp(tx, attempt);
    const refusal = isCaptured ? undefined : refusalIn(attempt, record, reports);
    if (refusal !== undefined) return withdrawContradicted(tx, core, attempt, refusal);
    // A person who adopts money after a restore has looked at the other gateways too.
    if (session.unrecordedCheckAt) await tx.query(endDoubt, [session.id]);
    const seen = attempt.decisionAmountMinor ?? undefined;
    await keepOrder(tx, core, session);
    if (!isAsked) recordOrder(tx, session, attempt, seen);
    recordCaptured(tx, attempt, {}, seen === undefined ? seen : otherAmount(attempt, seen, seenCaptured));
    if (attempt.status === "VOIDING") nameWinner(tx, attempt);
    await settleSession(tx, core, session, { status: "SUCCEEDED", winner: attempt, captureConfirmed: true });
    // This row comes first: it is the graver one, and only one is open at a time.
    if (reports !== undefined) await actOnReports(tx, core, { session, attemptId: attempt.id, reports });
    if (isGivenUp) await reportContradiction(tx, core, attempt, "captured");
  });
}

const seenCaptured = "A person has seen the capture of";

/** Withdraws a decision that the gateway contradicts. It is logged even while an earlier row is open. */
async function withdrawContradicted(tx: Tx, core: Core, attempt: Attempt, refusal: string): Promise<void> {
  const { sessionId, id: attemptId } = attempt;
  await reportContradiction(tx, core, attempt, refusal);
  await tx.query(withdraw, [sessionId, attemptId]);
  // The audit trail keeps the person who decided.
  const reason = contradictionOf(attempt, refusal);
  tx.afterCommit(() => core.log.warn({ sessionId, attemptId, reason }, "a person's decision is withdrawn"));
}

/** The reports of a gateway that contradict an executed decision. */
const contradictions: Record<Decision, readonly string[]> = {
  GIVEN_UP: ["captured", "already_captured"],
  CAPTURED: ["voided", "absent", "declined"],
};

/**
 * Reports whether the gateway has captured. A capture that was reported and then failed counts only if a capture has
 * just been read.
 */
function hasCaptured(attempt: Attempt, record: TheirRecord | undefined, reports: CaptureReports | undefined): boolean {
  const isRecordedCaptured = record?.answer.type === "captured" && !isOtherAmount(attempt, record);
  if (isRecordedCaptured && record.source === "read") return true;
  return (isRecordedCaptured || reports?.captured === true) && !reports?.failed;
}

/**
 * Reports whether a gateway's record has a capture of another amount than the ordered one, or than the one that a
 * person saw.
 */
function isOtherAmount(attempt: Attempt, { answer }: TheirRecord): boolean {
  const { amountMinor, capturedAmountMinor, decisionAmountMinor } = attempt;
  const ourMinor = decisionAmountMinor ?? capturedAmountMinor ?? amountMinor;
  return answer.type === "captured" && (answer.capturedMinor ?? amountMinor) !== ourMinor;
}

/**
 * Returns what the gateway reports instead of a capture of exactly this amount, by its answer or its stored reports;
 * undefined if it reports nothing of the kind. A hold or a decline counts only if it has just been read: a notification
 * describes the time at which it was sent, and a gateway may have declined one request of an attempt and held another.
 */
function refusalIn(
  attempt: Attempt,
  record: TheirRecord | undefined,
  reports: CaptureReports | undefined,
): string | undefined {
  const { captureRefusalCode } = attempt;
  if (record && isOtherAmount(attempt, record)) return "a capture of another amount";
  if (captureRefusalCode !== null || reports?.failed) return "capture_failed";
  const { answer, source } = record ?? {};
  if (source === "read" && answer?.type === "held") return "a hold that is not captured";
  if (source === "read" && answer?.type === "heldOther") return "a hold of another amount";
  if (source === "read" && answer?.type === "declined") return answer.type;
  if (answer?.type === "voided" || answer?.type === "absent") return answer.type;
  if (reports?.otherAmount) return "a capture of another amount";
  return reports?.voided ? "voided" : undefined;
}

/** Raises an alarm when a gateway's report about an ended attempt contradicts a person's decision. */
export async function alarmIfContradicted(
  core: Core,
  attempt: Pick<Attempt, "sessionId" | "id" | "gateway" | "decision" | "decisionConfirmedAt" | "completedAt">,
  reported: string,
): Promise<void> {
  const { decision, decisionConfirmedAt, completedAt } = attempt;
  if (!decision || !decisionConfirmedAt || !completedAt || !contradictions[decision].includes(reported)) return;
  await reportContradiction(core.database, core, attempt, reported);
}

async function reportContradiction(
  queryable: Queryable,
  core: Core,
  attempt: Pick<Attempt, "sessionId" | "id" | "gateway" | "decision">,
  reported: string,
): Promise<void> {
  const { sessionId, id: attemptId } = attempt;
  const detail = contradictionOf(attempt, reported);
  await openWorkItem(queryable, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, detail });
}

function contradictionOf({ gateway: name, decision }: Pick<Attempt, "gateway" | "decision">, reported: string): string {
  const decided = decision === "GIVEN_UP" ? "a person gave up" : "a person recorded as captured";
  return `${name} reports ${reported.replaceAll("_", " ")} for an attempt that ${decided}.`;
}
