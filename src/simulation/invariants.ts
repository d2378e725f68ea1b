/** What must be true after every step of a run, and at its end: the promises of docs/safety.md, as a program checks them. PURE. */
import type { Observed, ObservedAttempt, ObservedSession } from "./observed.ts";
import type { Authorization } from "./simulated-gateway.ts";

/** All there is to know at one moment: our rows, and the gateways' own records by attempt id. */
export type Moment = {
  readonly observed: Observed;
  /** The authorizations of every attempt, by the attempt's public id. */
  readonly authorizations: readonly Authorization[];
  /** Captures that have left and may still be executed, by the attempt's public id. */
  readonly capturesOnTheirWay: ReadonlyMap<string, number>;
  readonly referenceOf: (attemptId: string) => string;
};

const finalEventOf: Readonly<Record<string, string>> = {
  SUCCEEDED: "payment_session.succeeded",
  DECLINED: "payment_session.declined",
  DEGRADED: "payment_session.degraded",
  EXPIRED: "payment_session.expired",
};
const finalEvents = Object.values(finalEventOf);

/** The first promise that is broken now, given the moment before; undefined while all are kept. */
export function findViolation(now: Moment, before: Observed | undefined): string | undefined {
  return (
    findDoubleCapture(now) ??
    findWrongEnd(now) ??
    findChangedEnd(now.observed, before) ??
    findForbiddenAttempt(now, before)
  );
}

function takenOf(moment: Moment): number {
  return moment.authorizations.reduce((sum, { taken }) => sum + taken, 0);
}

function findDoubleCapture(moment: Moment): string | undefined {
  const taken = takenOf(moment);
  return taken > 1 ? `the money was captured ${taken} times` : undefined;
}

function findWrongEnd(moment: Moment): string | undefined {
  const { session, attempts, events } = moment.observed;
  const ends = events.filter(({ type }) => finalEvents.includes(type));
  const expected = finalEventOf[session.status];
  if (ends.length !== (expected === undefined ? 0 : 1) || (expected && ends[0]?.type !== expected)) {
    return `${session.status} with the final events [${ends.map(({ type }) => type).join(", ")}]`;
  }
  if (session.status === "CREATED") return undefined;
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
  const atGateway = moment.authorizations.find(({ attemptReference }) => attemptReference === reference);
  if (atGateway === undefined || (atGateway.taken === 0 && !atGateway.captureFailed))
    return "SUCCEEDED, and nothing was captured";
  if (atGateway.amountMinor !== session.amount_minor) return "SUCCEEDED with another amount";
  const others = moment.authorizations.filter(
    (authorization) => authorization !== atGateway && authorization.taken > 0,
  );
  return others.length > 0 ? "SUCCEEDED, and the money was captured at another attempt" : undefined;
}

function findKept(moment: Moment): string | undefined {
  const { status } = moment.observed.session;
  if (takenOf(moment) > 0) return `${status}, and the money was captured`;
  const keepable = moment.authorizations.some(
    ({ state, captureRefused, attemptReference }) =>
      state === "held" && !captureRefused && (moment.capturesOnTheirWay.get(attemptReference) ?? 0) > 0,
  );
  return keepable ? `${status}, and a capture may still land` : undefined;
}

function findChangedEnd(now: Observed, before: Observed | undefined): string | undefined {
  if (before === undefined || before.session.status === "CREATED") return undefined;
  const kept: readonly (keyof ObservedSession)[] = ["status", "winner_attempt_id", "captured_via"];
  const changed = kept.find((column) => now.session[column] !== before.session[column]);
  if (changed !== undefined) return `${changed} changed after the session had ended`;
  return now.attempts.length > before.attempts.length ? "an attempt was made after the session had ended" : undefined;
}

function findForbiddenAttempt({ observed }: Moment, before: Observed | undefined): string | undefined {
  const { attempts, session } = observed;
  const stopped = before?.attempts.find(({ stop }) => stop !== null);
  if (stopped !== undefined && attempts.length > (before?.attempts.length ?? 0)) {
    return `attempt ${attempts.length} follows attempt ${stopped.sequence}, which said stop (${stopped.stop})`;
  }
  const fraud = attempts.some(({ failure_kind }) => failure_kind === "FRAUD");
  if (fraud && session.status === "SUCCEEDED") return "SUCCEEDED after a fraud decline";
  if (attempts.some(({ amount_minor }) => amount_minor !== session.amount_minor))
    return "an attempt over another amount";
  const late = attempts.find(({ started_at }) => started_at >= (session.submit_deadline ?? ""));
  if (late !== undefined) return `attempt ${late.sequence} was opened after the deadline`;
  const gone = before?.attempts.find(({ id }) => !attempts.some((attempt) => attempt.id === id));
  return gone && "an attempt has disappeared";
}

/** What must be true once faults have stopped and time has passed: the session is over, and nothing is left at a gateway. */
export function findUnfinished(moment: Moment): string | undefined {
  const { session, attempts, events } = moment.observed;
  if (session.phase !== "DONE") return `the session did not end: ${session.status} ${session.phase}`;
  const open = attempts.find(({ completed_at }) => completed_at === null);
  if (open !== undefined) return `attempt ${open.sequence} did not end: ${open.status}`;
  const held = moment.authorizations.find(({ state }) => state === "held");
  if (held !== undefined) return `a hold is left at a gateway: ${held.attemptReference}`;
  if (events.some(({ sequence }, index) => sequence !== index + 1)) return "the events' sequence has a gap";
  const told = events.filter(({ type }) => type === "payment_attempt.capture_failed").length;
  const failed = moment.authorizations.filter(({ captureFailed }) => captureFailed).length;
  return told === failed ? undefined : `${failed} accepted captures failed, and ${told} were told of`;
}
