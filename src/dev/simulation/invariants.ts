/** The promises of docs/safety.md as a program checks them, after every step of a run and at its end. PURE. */
import { type DisputeMoment, findDisputeViolation, findUnfinishedDispute } from "./dispute-invariants.ts";
import { findHoldViolation, type HoldMoment } from "./hold-invariants.ts";
import type { Observed, ObservedAttempt, ObservedAuthentication, ObservedSession, Shown } from "./observed.ts";
import { findRefundViolation, findUnfinishedRefund } from "./refund-invariants.ts";
import { findSettlementViolation, findUnsettled, type SettlementMoment } from "./settlement-invariants.ts";
import type { Authorization } from "./simulated-gateway.ts";
import { findWalletViolation, type WalletMoment } from "./wallets.ts";

/** The whole state at one time: our rows, and the gateways' own records by attempt id. */
export type Moment = HoldMoment &
  DisputeMoment &
  SettlementMoment &
  WalletMoment & {
    /** Captures that were sent and may still be executed, by the attempt's public id. */
    readonly capturesOnTheirWay: ReadonlyMap<string, number>;
    readonly referenceOf: (attemptId: string) => string;
    /**
     * True if a gateway has reported that this attempt's money was captured: by a notification that arrived, or by a
     * record that can be read.
     */
    readonly isReportedCaptured: (attempt: ObservedAttempt) => boolean;
    /** Time of the last void of this attempt; undefined when none was sent. */
    readonly voidSentAt: (attempt: ObservedAttempt) => Date | undefined;
    /** True if a restore has lost the only reports of this hold, at a gateway that cannot be read. */
    readonly isReportLost: (hold: Authorization) => boolean;
    /** True if a gateway remembers a refusal that a restore has lost, after which nothing may be captured. */
    readonly isRefusalLost: boolean;
    /** True if the rule plans this payment over the connection. */
    readonly isPlanned: (connectionId: string) => boolean;
    /** True if the rule lets nothing be captured without an authentication. */
    readonly demandsAuthentication: boolean;
    /** True if the page may have left out the data of its browser. */
    readonly hidesBrowser: boolean;
    /** True if the customer has passed this challenge at the bank. */
    readonly hasPassed: (challenge: ObservedAuthentication) => boolean;
  };

const finalEventOf: Readonly<Record<string, string>> = {
  SUCCEEDED: "payment_session.succeeded",
  DECLINED: "payment_session.declined",
  DEGRADED: "payment_session.degraded",
  EXPIRED: "payment_session.expired",
};
const finalEvents = Object.values(finalEventOf);

/** Returns the first promise that is broken now, given the moment before; undefined while all are kept. */
export function findViolation(now: Moment, before: Observed | undefined): string | undefined {
  return (
    findDoubleCapture(now) ??
    findWrongEnd(now) ??
    findFalseConfirmation(now) ??
    findFalseEvent(now.observed, before) ??
    findChangedEnd(now.observed, before) ??
    findForbiddenAttempt(now, before) ??
    findWrongAuthentication(now) ??
    findLeftOut(now) ??
    findBelievedTooEarly(now) ??
    findRefundViolation(now) ??
    findDisputeViolation(now, before) ??
    findSettlementViolation(now) ??
    findHoldViolation(now, before) ??
    findWalletViolation(now, before)
  );
}

/** Counts captures. What a person captured at the gateway beside an end of ours is a matter for a person. */
function capturesOf(moment: Moment): number {
  const isEnd = moment.observed.session.status !== "SUCCEEDED";
  return moment.authorizations.reduce((sum, { captures, isByHand }) => sum + (isByHand && isEnd ? 0 : captures), 0);
}

function findDoubleCapture(moment: Moment): string | undefined {
  const captures = capturesOf(moment);
  return captures > 1 ? `the money was captured ${captures} times` : undefined;
}

function findWrongEnd(moment: Moment): string | undefined {
  const { session, attempts, events } = moment.observed;
  const ends = events.filter(({ type }) => finalEvents.includes(type));
  const expected = finalEventOf[session.status];
  if (ends.length !== (expected === undefined ? 0 : 1) || (expected && ends[0]?.type !== expected)) {
    return `${session.status} with the final events [${ends.map(({ type }) => type).join(", ")}]`;
  }
  if (session.status === "CREATED") return undefined;
  if (session.status === "EXPIRED" && session.submitted_at !== null) return "EXPIRED, and it was submitted";
  return session.status === "SUCCEEDED" ? findWrongSuccess(moment, attempts) : findKept(moment);
}

function findWrongSuccess(moment: Moment, attempts: readonly ObservedAttempt[]): string | undefined {
  const { session } = moment.observed;
  const captured = attempts.filter(({ status }) => status === "CAPTURED");
  const [winner] = captured;
  if (captured.length !== 1 || winner?.id !== session.winner_attempt_id) {
    return `SUCCEEDED with ${captured.length} captured attempts`;
  }
  const reference = moment.referenceOf(winner!.id);
  const atGateway = moment.authorizations.find(
    ({ attemptReference, captures, captureFailed }) =>
      attemptReference === reference && (captures > 0 || captureFailed),
  );
  if (atGateway === undefined) return "SUCCEEDED, and nothing was captured";
  if ((atGateway.capturedMinor ?? atGateway.amountMinor) !== winner!.captured_amount_minor)
    return "SUCCEEDED with another amount";
  if (atGateway.amountMinor !== session.amount_minor) return "SUCCEEDED with another amount";
  const others = moment.authorizations.filter(
    (authorization) => authorization !== atGateway && authorization.captures > 0,
  );
  return others.length > 0 ? "SUCCEEDED, and the money was captured at another attempt" : undefined;
}

function findKept(moment: Moment): string | undefined {
  const { status } = moment.observed.session;
  if (capturesOf(moment) > 0) return `${status}, and the money was captured`;
  const keepable = moment.authorizations.some(
    ({ state, captureRefused, gatewayReference }) =>
      state === "held" && !captureRefused && (moment.capturesOnTheirWay.get(gatewayReference) ?? 0) > 0,
  );
  return keepable ? `${status}, and a capture may still land` : undefined;
}

function findChangedEnd(now: Observed, before: Observed | undefined): string | undefined {
  if (before === undefined || before.session.status === "CREATED") return undefined;
  const kept: readonly (keyof ObservedSession)[] = [
    "status",
    "winner_attempt_id",
    "captured_via",
    "failover",
    "decline_code",
  ];
  const changed = kept.find((column) => now.session[column] !== before.session[column]);
  if (changed !== undefined) return `${changed} changed after the session had ended`;
  return now.attempts.length > before.attempts.length ? "an attempt was made after the session had ended" : undefined;
}

/** A capture that was only accepted is confirmed by nothing but the gateway's report. */
function findFalseConfirmation(moment: Moment): string | undefined {
  const { session, attempts } = moment.observed;
  if (session.capture_confirmed !== true) return undefined;
  const winner = attempts.find(({ id }) => id === session.winner_attempt_id);
  return winner && moment.isReportedCaptured(winner)
    ? undefined
    : "the capture is confirmed, and no gateway has said so";
}

/** An event shows the session exactly as it is after the change that the event reports. */
function findFalseEvent(now: Observed, before: Observed | undefined): string | undefined {
  for (const { type, sequence, shown } of now.events.slice(before?.events.length ?? 0)) {
    const contradiction = findContradiction(shown, now);
    if (contradiction !== undefined) return `${type} ${contradiction}`;
    if (shown.captureConfirmed !== (now.session.capture_confirmed ?? undefined)) {
      return `${type} shows another captureConfirmed than the session has`;
    }
    const statuses = now.attempts.map(({ status }) => status).join(" ");
    if (shown.attempts.map(({ status }) => status).join(" ") !== statuses) return `${type} shows other attempts`;
    if (shown.sequence !== sequence) return `${type} has another number than its body`;
    if (type === "payment_attempt.voided" && now.session.status === "CREATED") return `${type} before the end`;
  }
  return undefined;
}

/**
 * Returns the contradiction between a merchant's view of a session and its state; undefined if they agree, or if the
 * view reports no end.
 */
/** Reports whether another gateway came first; the attempt that the winner repeats is none. */
function isFailover(winner: Observed["attempts"][number] | undefined): boolean {
  return winner !== undefined && winner.sequence > (winner.round === 0 ? 1 : 2);
}

function findContradiction(shown: Shown, { session, attempts }: Observed): string | undefined {
  const isSame =
    shown.status === session.status &&
    shown.capturedVia === (session.captured_via ?? undefined) &&
    shown.declineCode === (session.decline_code ?? undefined) &&
    shown.failover === session.failover;
  if (!isSame) return `shows ${shown.status}, and the session is ${session.status}`;
  const winner = attempts.find(({ id }) => id === session.winner_attempt_id);
  const captured = shown.attempts.filter(({ status }) => status === "CAPTURED");
  if (session.status !== "SUCCEEDED") return captured.length === 0 ? undefined : "shows a capture without success";
  if (captured.length !== 1 || captured[0]?.gateway !== shown.capturedVia) return "shows another capture";
  return shown.failover === isFailover(winner) ? undefined : "shows the wrong failover";
}

/** Checks the merchant's read against the session at the time of the request and now. */
export function findFalseRead(shown: Shown, { begun, now }: { begun: Observed; now: Moment }): string | undefined {
  if (shown.status === "CREATED") return findStale(begun);
  const contradiction = findContradiction(shown, now.observed);
  if (contradiction !== undefined) return `a read ${contradiction}`;
  // The report may have arrived since.
  return shown.captureConfirmed && now.observed.session.capture_confirmed !== true
    ? "a read shows a capture as confirmed that is not"
    : undefined;
}

function findStale({ session }: Observed): string | undefined {
  return session.status === "CREATED" ? undefined : `CREATED is shown after the end as ${session.status}`;
}

/** Checks the customer's outcome against the session at the time of the request and now. */
export function findFalseOutcome(
  outcome: unknown,
  { begun, now }: { begun: Observed; now: Observed },
): string | undefined {
  if (outcome === undefined) return findStale(begun);
  const expected = JSON.stringify(outcomeFor(now));
  const shown = JSON.stringify(outcome);
  return shown === expected ? undefined : `the customer is shown ${shown}, and it is ${expected}`;
}

const refusals: readonly string[] = ["FAILED", "REJECTED", "CANCELLED", "ABANDONED"];

// Part of the contract: browsers see the plain refusal in place of these.
const hiddenCodes: readonly (string | null)[] = ["fraud_suspected", "lost_or_stolen", "unclassified"];

function outcomeFor(observed: Observed): unknown {
  const { session, attempts, authentications } = observed;
  const decline = (declineCode: string | null) => ({ outcome: { case: "decline", value: { declineCode } } });
  switch (session.status) {
    case "SUCCEEDED": {
      const winner = attempts.find(({ status }) => status === "CAPTURED");
      const value = { capturedVia: winner?.gateway, failoverUsed: isFailover(winner) };
      return { outcome: { case: "success", value } };
    }
    case "DECLINED": {
      if (session.brakes !== null && session.decline_code !== null) return decline("card_declined");
      if (session.paying_session_id !== null) return decline(session.decline_code);
      if (session.decline_code?.startsWith("capture_")) return decline(session.decline_code);
      if (
        attempts.some(({ stop }) => stop === "authentication_failed") ||
        authentications.some(({ provider, status }) => provider !== null && refusals.includes(status))
      )
        return decline("authentication_failed");
      if (isUnasked(observed)) return decline("authentication_required");
      const code = attempts.findLast(({ status }) => status === "DECLINED")?.decline_code ?? null;
      return decline(hiddenCodes.includes(code) ? "card_declined" : code);
    }
    case "DEGRADED":
      return decline("processing_unavailable");
    case "EXPIRED":
      return decline("session_expired");
    default:
      return undefined;
  }
}

/** Checks the error code that the customer received in place of an outcome. */
export function findFalseRefusal(code: unknown, { session }: Observed): string | undefined {
  const isWrong =
    (code === "session_expired" && session.submitted_at !== null) ||
    (code === "session_ended" && session.status === "CREATED");
  return isWrong ? `the customer received ${code}, but the session is ${session.status} ${session.phase}` : undefined;
}

/**
 * Returns the holds that will have to be voided. A hold beside the captured authorization of the same attempt is
 * excluded: a look-up reports only the capture (docs/safety.md, "Known and not handled").
 */
export function holdsToVoid(authorizations: Moment["authorizations"]): Moment["authorizations"] {
  const isCaptured = (reference: string) =>
    authorizations.some(({ attemptReference, state }) => attemptReference === reference && state === "captured");
  return authorizations.filter(({ state, attemptReference }) => state === "held" && !isCaptured(attemptReference));
}

function findForbiddenAttempt(
  { observed, isRestored, isPlanned, isRefusalLost }: Moment,
  before: Observed | undefined,
): string | undefined {
  const { attempts, session } = observed;
  // After a restore, a customer who was being authenticated at the backup counts as gone (A12), and the repeat with
  // authentication may be lost; gateways may have gone on since.
  const mayBeFollowed = ({ stop, status, round }: ObservedAttempt) =>
    (stop === "authentication_failed" && status === "UNKNOWN") || (stop === "authentication_required" && round === 0);
  const stopped = before?.attempts.find(
    (attempt) => stopsPlan(attempt, attempts) && !(isRestored && mayBeFollowed(attempt)),
  );
  if (before?.session.paying_session_id && attempts.length > before.attempts.length)
    return "another gateway was asked for an order that another session pays";
  if (stopped !== undefined && attempts.length > (before?.attempts.length ?? 0)) {
    return `attempt ${attempts.length} follows attempt ${stopped.sequence}, which said stop (${stopped.stop})`;
  }
  const fraud = attempts.some(({ failure_kind, stop }) => failure_kind === "FRAUD" || stop === "fraud");
  if (fraud && session.status === "SUCCEEDED") return "SUCCEEDED after a fraud decline";
  if (isRefusalLost && session.status === "SUCCEEDED") return "SUCCEEDED after a refusal that a restore has lost";
  if (attempts.some(({ amount_minor }) => amount_minor !== session.amount_minor))
    return "an attempt over another amount";
  const retries = attempts.filter(({ round }) => round === 2);
  if (retries.length > 1) return "two attempts were retried";
  const [retry] = retries;
  const retried = attempts.find(({ round, connection_id }) => round === 0 && connection_id === retry?.connection_id);
  if (retry && !isRestored && (retried?.status !== "DECLINED" || retried.stop !== null)) {
    return `attempt ${retry.sequence} retries one that is ${retried?.status} (${retried?.stop})`;
  }
  const outside = attempts.find(({ connection_id }) => !isPlanned(connection_id));
  if (outside !== undefined) return `attempt ${outside.sequence} is outside of the plan`;
  // After a restore the deadline is over, and earlier operations at gateways get their rows back.
  const late = isRestored
    ? undefined
    : attempts.find(({ started_at }) => started_at >= (session.submit_deadline ?? ""));
  if (late !== undefined) return `attempt ${late.sequence} was opened after the deadline`;
  const gone = before?.attempts.find(({ id }) => !attempts.some((attempt) => attempt.id === id));
  return gone && "an attempt has disappeared";
}

/** A decline that asks for authentication stops nothing once the payment is repeated with it at the same gateway. */
function stopsPlan({ stop, round, connection_id }: ObservedAttempt, attempts: readonly ObservedAttempt[]): boolean {
  if (stop !== "authentication_required" || round !== 0) return stop !== null;
  return !attempts.some((again) => again.round === 1 && again.connection_id === connection_id);
}

function findWrongAuthentication({ observed, isRestored, hasPassed }: Moment): string | undefined {
  const { session, attempts, authentications } = observed;
  if (authentications.filter(({ flow }) => flow !== "FRICTIONLESS").length > 2)
    return "a customer was asked three times";
  if (attempts.filter(({ round }) => round === 1).length > 1) return "two attempts were repeated";
  const gone = authentications.filter(
    ({ status, cancel_asked_at }) => cancel_asked_at !== null || refusals.includes(status),
  );
  if (gone.length > 0 && session.status === "SUCCEEDED" && !isRestored)
    return `SUCCEEDED after the customer did not authenticate (${gone[0]?.status})`;
  const isBelieved = (one: ObservedAuthentication) =>
    one.status === "AUTHENTICATED" && one.flow !== "FRICTIONLESS" && !hasPassed(one);
  if (!isRestored && authentications.some(isBelieved)) return "an authentication counts that no bank has granted";
  for (const { attempt_id, status, holds_only_when_asked } of gone) {
    const attempt = attempts.find(({ id }) => id === attempt_id);
    if (attempt?.status === "DECLINED" && !holds_only_when_asked && status !== "FAILED")
      return `attempt ${attempt.sequence} is ruled out although a customer may still finish it (${status})`;
  }
  const open = authentications.find(({ completed_at }) => completed_at === null);
  if (session.status === "CREATED") return undefined;
  if (open !== undefined) return `${session.status} while the customer is asked (${open.status})`;
  const isKept = authentications.some(
    (one) => one.action_sealed ?? one.keep_sealed ?? one.returned_sealed ?? one.proof_sealed,
  );
  return isKept || session.browser_sealed !== null ? `${session.status}, and data of the customer are kept` : undefined;
}

/** An earlier challenge, or a request that demanded an authentication, is enough: a gateway then decides for itself. */
function findLeftOut(moment: Moment): string | undefined {
  const { observed, authorizations, demandsAuthentication, hidesBrowser, isRestored } = moment;
  const { session, authentications } = observed;
  if (isUnasked(observed) && !(demandsAuthentication && hidesBrowser))
    return `${session.status} with ${session.decline_code} before any gateway was called`;
  // A restore may have lost the authentication.
  if (!demandsAuthentication || isRestored || authentications.length > 0) return undefined;
  const leftOut = authorizations.find((one) => one.captures > 0 && !one.isByHand && !one.isAuthenticated);
  return leftOut && `${leftOut.attemptReference} was captured without an authentication`;
}

/** Reports whether a payment was declined because its page cannot challenge the customer. */
function isUnasked({ session, attempts }: Observed): boolean {
  return session.decline_code === "authentication_required" && attempts.length === 0;
}

/** A gateway's answer decides an outcome only if it answers the right question. */
function findBelievedTooEarly(moment: Moment): string | undefined {
  for (const attempt of moment.observed.attempts) {
    const { sequence, void_kind, latest_execution_at, capture_refusal_code } = attempt;
    const sentAt = moment.voidSentAt(attempt);
    if (void_kind === "NEVER_EXISTED" && (sentAt === undefined || sentAt < new Date(latest_execution_at))) {
      return `attempt ${sequence} is said never to have existed, and no void was sent after its latest execution time`;
    }
    const reference = moment.referenceOf(attempt.id);
    const isRefused = moment.authorizations.some(
      ({ attemptReference, hasRefused }) => attemptReference === reference && hasRefused,
    );
    if (capture_refusal_code !== null && !isRefused)
      return `attempt ${sequence}: its capture counts as refused, and no gateway has refused it permanently`;
  }
  return undefined;
}

/**
 * True for a capture, after a restore, of an attempt whose row is lost: a person adopts it (`restore adopt`), no worker
 * does.
 */
function isLeftToPerson({ isRestored, observed, authorizations, referenceOf }: Moment): boolean {
  const references = observed.attempts.map(({ id }) => referenceOf(id));
  return isRestored && authorizations.some((one) => one.captures > 0 && !references.includes(one.attemptReference));
}

/**
 * Returns the promise that is broken after faults have stopped and time has passed: the session has ended, and gateways
 * hold nothing.
 */
export function findUnfinished(moment: Moment): string | undefined {
  const { session, attempts, events } = moment.observed;
  const isTakenByHand = moment.authorizations.some(({ isByHand }) => isByHand) && session.status !== "SUCCEEDED";
  if (session.phase !== "DONE" && (isLeftToPerson(moment) || isTakenByHand)) return undefined;
  if (session.phase !== "DONE") return `the session did not end: ${session.status} ${session.phase}`;
  const open = attempts.find(({ completed_at }) => completed_at === null);
  if (open !== undefined) return `attempt ${open.sequence} did not end: ${open.status}`;
  // A hold by a second execution after a decline is forgotten if neither a row nor a report of it is left.
  const isForgotten = (hold: Authorization) =>
    moment.isReportLost(hold) &&
    attempts.some(({ id, status }) => moment.referenceOf(id) === hold.attemptReference && status === "DECLINED");
  const held = holdsToVoid(moment.authorizations).find((hold) => !isForgotten(hold));
  if (held !== undefined) return `a hold is left at a gateway: ${held.attemptReference}`;
  if (events.some(({ sequence }, index) => sequence !== index + 1)) return "the events' sequence has a gap";
  const unfinished = findUnfinishedRefund(moment);
  if (unfinished !== undefined) return unfinished;
  const undisputed = findUnfinishedDispute(moment) ?? findUnsettled(moment);
  if (undisputed !== undefined) return undisputed;
  // Reports that the lost database received are not repeated.
  if (moment.isRestored) return undefined;
  const emitted = events.filter(({ type }) => type === "payment_attempt.capture_failed").length;
  const failed = moment.authorizations.filter(({ captureFailed }) => captureFailed).length;
  if (emitted !== failed)
    return `${failed} accepted captures failed, but ${emitted} capture_failed events were emitted`;
  const isUnconfirmed = session.status === "SUCCEEDED" && failed === 0 && !session.capture_confirmed;
  return isUnconfirmed ? "the capture was reported, and is not confirmed" : undefined;
}
