/**
 * Finds unrecorded attempts after a restore: what gateways did for a session that is not in this database. Each gateway
 * may have made one more attempt, its repeat with authentication and its retry; their ids are derived, so they can be looked up. Nothing that takes money is sent before
 * every gateway has answered.
 */
import { providers } from "../../gateways/authentication-provider.ts";
import type { LookUpAnswer, VoidAnswer } from "../../gateways/connector.ts";
import type { DeclineStop } from "../../gateways/declines.ts";
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import { type AttemptId, type ConnectionId, encodeId, type SessionId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { because } from "../decide/because.ts";
import { keepOrder } from "../orders/order-winner.ts";
import { recordCaptureOrdered, recordDeclined, recordHeld, recordUnknown } from "../record/attempts.ts";
import { lockAndRenew } from "../record/lease.ts";
import { loadSession } from "../record/load-session.ts";
import { attemptIdOf, latestExecutionMsAt, namesOf, openAttempt, openingOf } from "../record/open-attempt.ts";
import { findVoidRefusal, lookUpInNotifications } from "../record/stored-notifications.ts";
import { openWorkItem } from "../record/work-items.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import { isHeld } from "../rows/payment.ts";
import { findLostNames, type LostNames } from "../stored-cards/renewals/lost-names.ts";
import { actOnDecline } from "../stored-cards/renewals/record-decline.ts";
import * as gateway from "./gateway-calls.ts";
import { lookAtHoldAfter, recordFoundCapture, recordHold } from "./held-payments.ts";
import type { Work } from "./work.ts";

const minute = 60_000;

// Pause before gateways are called again after a void whose notification is awaited: it arrives within a second or two,
const unrecordedNotificationWaitMs = 2_000;
// and after any other inconclusive answer: a gateway that is down stays so for minutes, and one that cannot answer after
// hours may never do, so the pause is a minute, or an eighth of the time in doubt past ten minutes if that is longer.
const unrecordedRepeatMs = (sinceMs: number) => Math.max(minute, (sinceMs - 10 * minute) / 8);
// Time after which an alarm reports that a gateway gives no answer: every notification has arrived by then.
const unrecordedAlarmMs = 5 * minute;

/** A gateway's answer about an attempt. `awaited`: a better answer will come soon, by notification or the next look-up. */
type AttemptAnswer = {
  readonly attempt: gateway.AttemptToLookUp;
  readonly answer: LookUpAnswer;
  readonly awaited?: true;
  /** The time of this database's first void that the gateway accepted and that no late authorization can follow. */
  readonly voidAskedAt?: Date;
};

/**
 * Asks every gateway of the merchant. Once all have answered, captured money and holds belong to the session, each with
 * a separate attempt row, and the session continues like any other. Until then the gateways are called again later.
 */
export async function findUnrecorded({ core, lease, loaded }: Work): Promise<void> {
  const toLookUp = await attemptsToLookUp(core, loaded);
  const [asked, winner] = await Promise.all([
    askGateways({ core, lease, loaded }, toLookUp),
    readHeldWinner(core, loaded),
  ]);
  const answers = await keepOneHold(core, loaded, asked);
  await core.database.transaction(async (tx) => {
    const { session, now } = await lockAndRenew(tx, lease);
    if (winner?.answer.type === "voided") lookAtHoldAfter(tx, winner.attempt, 0);
    const silent = answers.filter(({ answer }) => answer.type === "inconclusive");
    // Beside a winner, no other capture can belong to the session, and neither can two captures: a person has to find
    // out why.
    const money = answers.filter(({ answer }) => isMoney(answer));
    const captures = money.filter(({ answer }) => answer.type === "captured");
    const isTwice = captures.length > 1 || (!session.manualCapture && captures.some(isPart));
    const late = await heldMeanwhile(core, tx, answers);
    const unread =
      winner?.answer.type === "inconclusive" && core.connectorOf(winner.attempt.gateway)?.canRead ? [winner] : [];
    silent.push(...unread);
    const open =
      silent.length + late.length === 0 && (session.winnerAttemptId || isTwice) ? money : [...silent, ...late];
    if (open.length > 0) return postpone(tx, core, { session, now, open, voids: voidsOf(session, answers) });
    await adopt(tx, core, session, answers);
    if (winner?.answer.type === "captured") {
      await keepOrder(tx, core, session);
      await recordFoundCapture(tx, core, { session, attempt: winner.attempt }, winner.answer);
    }
    await tx.query(setUnrecordedCheck, [session.id, null, null]);
  });
}

// A renewal has names for each of its tries, and gateways limit concurrent requests. Other sessions have fewer.
const askedAtOnce = 16;

/** Asks the gateways about attempts, a few at a time, under a lease that is renewed between them. */
async function askGateways(
  { core, lease, loaded }: Work,
  attempts: readonly gateway.AttemptToLookUp[],
): Promise<AttemptAnswer[]> {
  const answers: AttemptAnswer[] = [];
  for (let start = 0; start < attempts.length; start += askedAtOnce) {
    if (start > 0) await core.database.transaction((tx) => lockAndRenew(tx, lease));
    const some = attempts.slice(start, start + askedAtOnce);
    answers.push(...(await Promise.all(some.map((attempt) => askGateway(core, loaded, attempt)))));
  }
  return answers;
}

/** Returns the times of the voids that this database has sent, by the attempt's id: the first of each. */
function voidsOf({ unrecordedVoids }: PaymentSession, answers: readonly AttemptAnswer[]): Record<string, string> {
  const sent = answers.flatMap(({ attempt: { id }, voidAskedAt }) => (voidAskedAt ? [[id, voidAskedAt.toJSON()]] : []));
  return { ...Object.fromEntries(sent), ...unrecordedVoids };
}

/** Reads the hold of a payment that is captured later: a restore may have lost the order of its capture. */
async function readHeldWinner(core: Core, { session, attempts }: Work["loaded"]): Promise<AttemptAnswer | undefined> {
  const winner = isHeld(session) ? attempts.find(({ id }) => id === session.winnerAttemptId) : undefined;
  return winner && { attempt: winner, answer: await gateway.lookUp(core, winner) };
}

/**
 * Returns the attempts that hold nothing by the answers, but of which a notification has reported a hold since: a
 * customer can finish an authentication at a gateway that then holds by itself. The session's lock decides between this
 * and `recordUnrecordedHold`, which sees every later notification.
 */
async function heldMeanwhile(core: Core, tx: Tx, answers: readonly AttemptAnswer[]): Promise<AttemptAnswer[]> {
  const none = answers.filter(({ attempt, answer }) => !isMoney(answer) && !core.connectorOf(attempt.gateway)?.canRead);
  const known = await Promise.all(none.map(({ attempt }) => lookUpInNotifications(tx, attempt)));
  return none.filter((_, index) => known[index]?.type === "held").map((one) => ({ ...one, awaited: true }));
}

// A partial capture exists only for a payment that is captured later.
const isPart = ({ attempt, answer }: AttemptAnswer) =>
  answer.type === "captured" && (answer.capturedMinor ?? attempt.amountMinor) !== attempt.amountMinor;

const isMoney = ({ type }: LookUpAnswer) => type === "held" || type === "heldOther" || type === "captured";

const setUnrecordedCheck: Statement = {
  name: "set_unrecorded_check",
  partitionKey: 1,
  text: "SELECT FROM app.set_unrecorded_check($1, $2, $3)",
};
const selectConnections: Statement = {
  name: "select_connections_to_look_up",
  text: `
    SELECT id AS "connectionId", gateway, credential_version AS "credentialVersion" FROM connection
    WHERE merchant_id = $1 AND credential_version IS NOT NULL`,
};

type ConnectionInUse = Pick<Attempt, "connectionId" | "gateway" | "credentialVersion">;

/**
 * Returns the known unanswered attempts, and each possible attempt of another round or at another connection.
 */
async function attemptsToLookUp(
  core: Core,
  { session, attempts }: Work["loaded"],
): Promise<readonly gateway.AttemptToLookUp[]> {
  const connections = await core.database.query<ConnectionInUse>(selectConnections, [session.merchantId]);
  // A payment makes no attempt after a hold, and a restored database holds the beginning of the lost one.
  const candidates = (session.heldAt ? [] : connections).filter(
    ({ gateway: name }) => !providers.some((provider) => provider === name),
  );
  const others = session.namedBy
    ? await renewalsLost(core, session, candidates, attempts) // rule:renewal-names
    : candidates.flatMap((connection) => roundsLost(core, connection, attempts));
  const unknown = attempts.filter(({ status }) => status === "UNKNOWN");
  return [
    ...unknown.map((attempt) => ({ ...attempt, voidAskedAt: voidAskedAtOf(session, attempt) })),
    ...others.map((other) => unrecordedAttempt(core, session, other)),
  ];
}

/**
 * Returns when this database sent the void of an attempt in doubt; null before it has. The lost database may have sent a
 * void before the gateway held, and the report that it found nothing may arrive at any time.
 */
function voidAskedAtOf({ unrecordedVoids }: PaymentSession, { id }: Pick<Attempt, "id">): Date | null {
  const sentAt = unrecordedVoids?.[id];
  return sentAt === undefined ? null : new Date(sentAt); // rule:own-void-believed
}

/** An attempt whose row may be lost. Its names, and when it may have begun and was sent at the latest, are the session's unless given. */
type Lost = ConnectionInUse & { readonly round: number } & Partial<Omit<LostNames, "mayAsk">>;

/**
 * Returns the rounds at a connection whose rows may be lost. A round 1 follows only if the gateway runs authentication,
 * a round 2 only if the session has none, and both only an attempt that was not held.
 */
function roundsLost(
  core: Core,
  connection: ConnectionInUse,
  attempts: readonly Attempt[],
  { mayRepeat: isRepeatable = true } = {},
): Lost[] {
  const known = attempts.filter(({ connectionId }) => connectionId === connection.connectionId);
  const runs = core.connectorOf(connection.gateway)?.authentication !== undefined;
  const isNotHeld = known.every(({ status }) => status !== "AUTHORIZED");
  const mayRepeat = isRepeatable && runs && isNotHeld && known.every(({ round }) => round !== 1);
  const mayRetry = isNotHeld && known.length < 2 && attempts.every(({ round }) => round !== 2);
  const rounds = [...(known.length === 0 ? [0] : []), ...(mayRepeat ? [1] : []), ...(mayRetry ? [2] : [])]; // rule:doubt-asks-all-rounds
  return rounds.map((round) => ({ ...connection, round }));
}

/**
 * Returns the attempts of a renewal whose rows may be lost, of all of its tries. A renewal that began before the restore has its own names
 * only; after the restore it has others, which no gateway knows yet.
 */
async function renewalsLost(
  core: Core,
  session: PaymentSession,
  connections: readonly ConnectionInUse[],
  attempts: readonly Attempt[],
): Promise<Lost[]> {
  const names = await findLostNames(core.database, session);
  return connections.flatMap((connection) =>
    names.flatMap(({ mayAsk, ...lost }) => {
      const known = lost.namedBy === session.namedBy ? attempts : [];
      return roundsLost(core, connection, known, { mayRepeat: mayAsk }).map((one) => ({ ...one, ...lost }));
    }),
  );
}

// A session's attempts have ids of the same millisecond.
const selectSessionsOfMoment: Statement = {
  name: "select_sessions_of_moment",
  text: `
    SELECT s.id FROM payment_session s JOIN connection c ON c.id = $3 AND c.merchant_id = s.merchant_id
    WHERE s.id BETWEEN $1 AND $2`,
};

/** Returns the session of an attempt that has no row, by the attempt's id; undefined if there is none. */
export async function findSessionOfUnrecorded(
  queryable: Queryable,
  attempt: { id: AttemptId; connectionId: ConnectionId },
): Promise<SessionId | undefined> {
  const moment = attempt.id.slice(0, 13);
  const range = [`${moment}-0000-0000-000000000000`, `${moment}-ffff-ffff-ffffffffffff`];
  const sessions = await queryable.query<{ id: SessionId }>(selectSessionsOfMoment, [...range, attempt.connectionId]);
  return sessions.find(({ id: sessionId }) => roundOf(sessionId, attempt) !== undefined)?.id;
}

/** Describes an attempt of a session that has no row, by its id; undefined if no connection can have made it. */
export async function findUnrecordedAttempt(
  core: Core,
  queryable: Queryable,
  session: PaymentSession,
  id: AttemptId,
): Promise<gateway.AttemptToLookUp | undefined> {
  const connections = await queryable.query<ConnectionInUse>(selectConnections, [session.merchantId]);
  const named = connections.map((one) => ({
    ...one,
    round: roundOf(namesOf(session), { id, connectionId: one.connectionId }),
  }));
  const found = named.find(({ round }) => round !== undefined);
  return found && unrecordedAttempt(core, session, { ...found, round: found.round ?? 0 });
}

const rounds = [0, 1, 2] as const;

function roundOf(
  sessionId: SessionId,
  { id, connectionId }: { id: AttemptId; connectionId: ConnectionId },
): number | undefined {
  return rounds.find((round) => attemptIdOf({ sessionId, connectionId, round }) === id);
}

/** Describes the attempt that may have been made at any time between the session's creation and its deadline. */
function unrecordedAttempt(core: Core, session: PaymentSession, lost: Lost): gateway.AttemptToLookUp {
  const { round, namedBy = namesOf(session), startedAt = session.createdAt, sentBefore, ...connection } = lost;
  const { id: sessionId, amountMinor, currency } = session;
  const latest = sentBefore ?? session.submitDeadline ?? new Date(0);
  const latestExecutionAt = new Date(latest.getTime() + latestExecutionMsAt(core, connection));
  const id = attemptIdOf({ sessionId: namedBy, connectionId: connection.connectionId, round });
  const nothing = {
    failureKind: null,
    stop: null,
    declineCode: null,
    gatewayCode: null,
    refusal: null,
    gatewayReference: null,
  };
  const undecided = { nextAction: null, nextBecause: null, captureOrderedAt: null, captureRefusalCode: null };
  const uncaptured = {
    capturedAmountMinor: null,
    orderedAmountMinor: null,
    captureReference: null,
    networkTransactionId: null,
    captureFailedAt: null,
  };
  const unasked = { decision: null, decisionReference: null, decisionAmountMinor: null, decisionConfirmedAt: null };
  const open = { voidKind: null, lookedUpAt: null, nextRetryAt: null, answeredAt: null, completedAt: null };
  const began = {
    startedAt,
    latestExecutionAt,
    voidAskedAt: voidAskedAtOf(session, { id }),
    retries: 0,
    holds: false,
    captured: false,
  };
  const plan = { sequence: 0, priority: 0, because: "", round, authenticationId: null };
  return {
    sessionId,
    id,
    amountMinor,
    currency,
    status: "UNKNOWN" as const,
    isUnrecorded: true,
    ...connection,
    ...nothing,
    ...undecided,
    ...unasked,
    ...open,
    ...began,
    ...plan,
    ...uncaptured,
  };
}

/**
 * Asks one gateway. If it cannot be read, or finds nothing by our reference, it is sent a void, which takes no money.
 * Its answer or its notification then reports a voided hold, no hold, or a capture, which is looked up again later. A
 * hold that only notifications report is not believed, because the notification of its capture may be lost; nor is a
 * decline before the gateway has refused a void, because the notification of a hold may be lost. From then on, nothing
 * can be authorized under the key of this void: the session's deadline has passed, and it cannot be submitted again. A
 * hold beside a winner is voided too: the session can have no second winner.
 */
async function askGateway(
  core: Core,
  loaded: Work["loaded"],
  attempt: gateway.AttemptToLookUp,
): Promise<AttemptAnswer> {
  const { answer, source } = await gateway.readRecord(core, attempt);
  const isHeld = answer.type === "held" || answer.type === "heldOther";
  const isDeclined = answer.type === "declined" && source === "notifications";
  if (isHeld && source === "read" && loaded.session.winnerAttemptId) {
    return voidBesideWinner(core, loaded, { ...attempt, gatewayReference: answer.gatewayReference });
  }
  const isUnanswered = answer.type === "inconclusive" && (source === "notifications" || answer.isUnfound === true);
  if (!isUnanswered && !isDeclined && !(isHeld && source === "notifications")) return { attempt, answer };
  const reply = await sendVoid(core, loaded, attempt);
  if (reply.type === "done") return { attempt, answer: { type: "voided" } };
  // The rows were read before the void was sent. Before the latest execution time, the attempt may still be executed.
  const isLate = loaded.readAt >= attempt.latestExecutionAt;
  if (reply.type === "absent" && isLate) return { attempt, answer: reply };
  if (isDeclined && reply.type === "accepted" && (await isRefusalOld(core, loaded, attempt)))
    return { attempt, answer };
  const unknown = { type: "inconclusive", reason: "its answer to a void has not come yet" } as const;
  if (reply.type !== "accepted") return { attempt, answer: unknown };
  return { attempt, answer: unknown, awaited: true, ...(isLate && { voidAskedAt: loaded.readAt }) };
}

/**
 * Voids all holds but one where several gateways hold. The lost database may have sent a capture of one of them, which may still be
 * executed: nothing is captured or ended before the voids of the others are answered. The hold that it made last is kept, as the likeliest.
 */
async function keepOneHold(
  core: Core,
  loaded: Work["loaded"],
  answers: readonly AttemptAnswer[],
): Promise<readonly AttemptAnswer[]> {
  const madeLast = ({ attempt }: AttemptAnswer) => (attempt.isUnrecorded ? Number.POSITIVE_INFINITY : attempt.sequence);
  const holds = answers.filter(({ answer }) => answer.type === "held");
  const kept = holds.find((one) => holds.every((other) => madeLast(other) <= madeLast(one)));
  if (kept === undefined) return answers;
  return Promise.all(
    answers.map((one) =>
      one === kept || (one.answer.type !== "held" && one.answer.type !== "heldOther")
        ? one
        : voidBesideWinner(core, loaded, { ...one.attempt, gatewayReference: one.answer.gatewayReference }),
    ),
  );
}

/** Voids a hold that was just read. The next look-up shows whether it is gone, or was captured meanwhile. */
async function voidBesideWinner(
  core: Core,
  loaded: Work["loaded"],
  attempt: gateway.AttemptToLookUp,
): Promise<AttemptAnswer> {
  const reply = await sendVoid(core, loaded, attempt);
  const answer = { type: "inconclusive", reason: "a void of its hold was sent" } as const;
  return { attempt, answer, ...((reply.type === "done" || reply.type === "accepted") && { awaited: true }) };
}

function sendVoid(core: Core, loaded: Work["loaded"], attempt: gateway.AttemptToLookUp): Promise<VoidAnswer> {
  // Each void has a separate key.
  return gateway.voidHold(core, loaded, { ...attempt, retries: Math.floor(core.runtime.now().getTime() / 1_000) });
}

/**
 * Reports whether the refusal of a void is so old that any other report about the attempt would have arrived. A gateway
 * refuses to void what it declined, and its notification of that refusal says no more. Without such a notification a
 * person decides.
 */
async function isRefusalOld(
  core: Core,
  { readAt }: Work["loaded"],
  attempt: gateway.AttemptToLookUp,
): Promise<boolean> {
  const refusedAt = await findVoidRefusal(core.database, attempt);
  return refusedAt !== undefined && readAt.getTime() - refusedAt.getTime() > unrecordedAlarmMs;
}

async function postpone(
  tx: Tx,
  core: Core,
  {
    session,
    now,
    open,
    voids,
  }: { session: PaymentSession; now: Date; open: readonly AttemptAnswer[]; voids: Record<string, string> },
): Promise<void> {
  const areAwaited = open.every(({ awaited }) => awaited);
  const sinceMs = msInDoubt(session, now);
  if (sinceMs > unrecordedAlarmMs) {
    const where = open.map(({ attempt }) => `${attempt.gateway} (${encodeId("att", attempt.id)})`).join(", ");
    const detail = `After a restore it is unknown what happened at ${where}. Check there, then run \`switchyard restore adopt\` or \`switchyard restore release\`.`;
    await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId: session.id, detail: detail.slice(0, 500) });
  }
  const isNews = areAwaited && sinceMs <= unrecordedAlarmMs;
  await tx.query(setUnrecordedCheck, [
    session.id,
    new Date(now.getTime() + (isNews ? unrecordedNotificationWaitMs : unrecordedRepeatMs(sinceMs))),
    voids,
  ]);
}

/**
 * Returns the time since the session's deadline. The declaration of a restore sets it, if it had not passed before. A renewal that begins in
 * doubt has its deadline before it.
 */
function msInDoubt({ submitDeadline, submittedAt }: PaymentSession, now: Date): number {
  const from = submitDeadline && submitDeadline > now ? submittedAt : submitDeadline;
  return now.getTime() - (from?.getTime() ?? 0);
}

/**
 * Records the attempts that were found, holds first: once there is a winner, no attempt may be added. The database
 * refuses a second capture.
 */
async function adopt(tx: Tx, core: Core, session: PaymentSession, answers: readonly AttemptAnswer[]): Promise<void> {
  for (const { attempt, answer } of answers) {
    if (answer.type !== "held" && answer.type !== "heldOther") continue;
    const known = await knownOrOpened(tx, core, session, attempt);
    if (known.status === "AUTHORIZING") recordUnknown(tx, known, "TIMEOUT", { next: foundStop });
  }
  await adoptRefusal(tx, core, session, answers);
  for (const { attempt, answer } of answers) {
    if (answer.type !== "captured") continue;
    const known = await knownOrOpened(tx, core, session, attempt);
    await keepOrder(tx, core, session); // rule:order-facts
    recordHeld(tx, known, answer);
    if (!session.manualCapture) {
      recordCaptureOrdered(tx, known);
      continue;
    }
    recordHold(tx, { attempt: known, hold: answer }, 0);
    await recordFoundCapture(tx, core, { session, attempt: known }, answer);
  }
}

const foundStop = { action: "stop", because: because.foundAfterRestore } as const;

/**
 * Records one fraud decline or failed authentication where an attempt may hold: no hold is adopted after it. It comes
 * after the holds, because no attempt follows it. Money that was captured is adopted all the same.
 */
async function adoptRefusal(
  tx: Tx,
  core: Core,
  session: PaymentSession,
  answers: readonly AttemptAnswer[],
): Promise<void> {
  const mayHold = answers.some(({ attempt, answer }) => isMoney(answer) || !attempt.isUnrecorded);
  if (!mayHold || session.payingSessionId || answers.some(({ answer }) => answer.type === "captured")) return;
  const [refused] = answers.flatMap(({ attempt, answer }) =>
    answer.type === "declined" && isRefusal(answer.kind, answer.stop) ? [{ attempt, answer }] : [],
  );
  const { attempts } = await loadSession(tx, session.id);
  if (refused === undefined || attempts.some(({ failureKind, stop }) => isRefusal(failureKind, stop))) return;
  const known = await knownOrOpened(tx, core, session, refused.attempt);
  if (session.stored) await actOnDecline(tx, core, session, refused.answer);
  recordDeclined(tx, known, refused.answer, foundStop);
}

const isRefusal = (kind: Attempt["failureKind"], stop: DeclineStop | Attempt["stop"]) =>
  kind === "FRAUD" || stop === "fraud" || stop === "authentication_failed";

async function knownOrOpened(tx: Tx, core: Core, session: PaymentSession, attempt: Attempt): Promise<Attempt> {
  const { attempts } = await loadSession(tx, session.id);
  const known = attempts.find(({ id }) => id === attempt.id);
  if (known !== undefined) return known;
  const to = { ...attempt, priority: attempts.length + 1 };
  const latestExecutionMs = latestExecutionMsAt(core, attempt);
  openAttempt(
    tx,
    openingOf({
      id: attempt.id,
      session,
      to,
      because: because.foundAfterRestore,
      round: attempt.round,
      latestExecutionMs,
    }),
  );
  return knownOrOpened(tx, core, session, attempt);
}
