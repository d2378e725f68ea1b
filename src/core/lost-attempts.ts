/**
 * After a restore: what gateways did for a session that is not in this database. Each may have made one attempt more,
 * whose name is derived, so it is asked by name. Nothing is sent that takes money before all of them have told.
 */
import type { LookUpAnswer } from "../gateways/connector.ts";
import { lostAlarmMs, lostNoticeWaitMs, lostRepeatMs } from "../limits/restore.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { attemptIdOf } from "./attempt-id.ts";
import { horizonMsOf, openAttempt, recordCaptureOrdered, recordHeld, recordUnknown } from "./attempts.ts";
import type { Core } from "./core.ts";
import type { Attempt, PaymentSession } from "./entities.ts";
import type { Work } from "./flow-steps.ts";
import * as gateway from "./gateway-steps.ts";
import { lockSession } from "./lease.ts";
import { loadSession } from "./session-trail.ts";
import { openWorkItem } from "./work-items.ts";

/** What a gateway said about an attempt; `awaited` when it has been asked in a way that a notice answers. */
type Told = { readonly attempt: gateway.Asked; readonly answer: LookUpAnswer; readonly awaited?: true };

/**
 * Asks every gateway of the merchant. When all have told, money that was taken is the session's, as is a hold, each under
 * a row of its own; then the session goes on as any other. Before that it is asked again later.
 */
export async function findLost({ core, lease, trail }: Work): Promise<void> {
  const asked = await attemptsToAsk(core, trail);
  const told = await Promise.all(asked.map((attempt) => ask(core, trail, attempt)));
  await core.database.transaction(async (tx) => {
    const { session, now } = await lockSession(tx, lease);
    const silent = told.filter(({ answer }) => answer.type === "cannotTell");
    // Beside a winner nothing else is the session's, and two captures are not: a person has to see how that can be.
    const money = told.filter(({ answer }) => isMoney(answer));
    const isTwice = money.filter(({ answer }) => answer.type === "captured").length > 1;
    const open = silent.length === 0 && (session.winnerAttemptId || isTwice) ? money : silent;
    if (open.length > 0) return postpone(tx, core, { session, now, open });
    await adopt(tx, core, session, told);
    await tx.query(setLostCheck, [session.id, null]);
  });
}

const isMoney = ({ type }: LookUpAnswer) => type === "held" || type === "heldOther" || type === "captured";

const setLostCheck: Statement = {
  name: "set_lost_check",
  text: "UPDATE payment_session SET lost_check_at = $2 WHERE id = $1",
};
const selectConnections: Statement = {
  name: "select_connections_to_ask",
  text: `
    SELECT id AS "connectionId", gateway, credential_version AS "credentialVersion" FROM connection
    WHERE merchant_id = $1 AND credential_version IS NOT NULL`,
};

type Place = Pick<Attempt, "connectionId" | "gateway" | "credentialVersion">;

/** The unanswered attempts that we know of, and one at each other connection; where one is over, there was no second. */
async function attemptsToAsk(core: Core, { session, attempts }: Work["trail"]): Promise<readonly gateway.Asked[]> {
  const places = await core.database.query<Place>(selectConnections, [session.merchantId]);
  const unasked = places.filter(({ connectionId }) => attempts.every((one) => one.connectionId !== connectionId));
  // What a void reported counts when it was sent after the horizon; those of unknown attempts all were sent from here.
  const unknown = attempts.filter(({ status }) => status === "UNKNOWN");
  return [
    ...unknown.map((attempt) => ({ ...attempt, voidAskedAt: attempt.horizonAt })),
    ...unasked.map((place) => lostAttempt(core, session, place)),
  ];
}

/** The one that may have been made, at any time from the session's creation to the deadline. */
function lostAttempt(core: Core, session: PaymentSession, place: Place): gateway.Asked {
  const { id: sessionId, amountMinor, currency, createdAt: startedAt } = session;
  const never = new Date(0);
  const latest = session.submitDeadline ?? never;
  const horizonAt = new Date(latest.getTime() + horizonMsOf(limitsAt(core, place)));
  const id = attemptIdOf({ sessionId, connectionId: place.connectionId });
  const nothing = { failureKind: null, stop: null, declineCode: null, gatewayCode: null, gatewayReference: null };
  const undecided = { nextAction: null, nextBecause: null, captureStartedAt: null, captureRefused: null };
  const open = { voidKind: null, lookedUpAt: null, nextTryAt: null, answeredAt: null, completedAt: null };
  const began = { startedAt, horizonAt, voidAskedAt: never, tries: 0, holds: false, captured: false };
  const plan = { sequence: 0, priority: 0, because: "" };
  return {
    ...{ sessionId, id, amountMinor, currency, status: "UNKNOWN" as const, isLost: true },
    ...{ ...place, ...nothing, ...undecided, ...open, ...began, ...plan },
  };
}

/**
 * A gateway that cannot be read, or finds nothing by our reference, is sent a void, which takes nothing: its answer or its
 * notice tells of the hold that is given back, of none, or of a capture, which is looked up again later. That there is a
 * hold is not believed of notices: the one that it was captured may be among what is lost. Nothing is authorized under the
 * key of this void any more: the session's deadline has passed, and nobody can submit it again.
 */
async function ask(core: Core, { session, readAt }: Work["trail"], attempt: gateway.Asked): Promise<Told> {
  const { answer, source } = await gateway.readRecord(core, attempt);
  const isHeld = answer.type === "held" || answer.type === "heldOther";
  const isUntold = answer.type === "cannotTell" && (source === "notices" || answer.isUnfound === true);
  if (!isUntold && !(isHeld && source === "notices")) return { attempt, answer };
  // Each void has a key of its own.
  const tries = Math.floor(core.entropy.now().getTime() / 1_000);
  const reply = await gateway.giveBack(core, session, { ...attempt, tries });
  if (reply.type === "done") return { attempt, answer: { type: "voided" } };
  // The rows were read before the void was sent; before its horizon what was never executed may come yet.
  if (reply.type === "absent" && readAt >= attempt.horizonAt) return { attempt, answer: reply };
  const unknown = { type: "cannotTell", reason: "its answer to a void has not come yet" } as const;
  return { attempt, answer: unknown, ...(reply.type === "accepted" && { awaited: true }) };
}

async function postpone(
  tx: Tx,
  core: Core,
  { session, now, open }: { session: PaymentSession; now: Date; open: readonly Told[] },
): Promise<void> {
  const areAwaited = open.every(({ awaited }) => awaited);
  const sinceMs = now.getTime() - (session.submitDeadline?.getTime() ?? 0);
  if (sinceMs > lostAlarmMs) {
    const where = open.map(({ attempt }) => `${attempt.gateway} (${encodeId("att", attempt.id)})`).join(", ");
    const detail = `After a restore it is unknown what was done at ${where}: compare there.`;
    await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId: session.id, detail: detail.slice(0, 500) });
  }
  const isNews = areAwaited && sinceMs <= lostAlarmMs;
  await tx.query(setLostCheck, [session.id, new Date(now.getTime() + (isNews ? lostNoticeWaitMs : lostRepeatMs))]);
}

const because = "Found at the gateway after a restore.";

/** Holds first: once there is a winner, no attempt may come beside it. A second capture is refused by the database. */
async function adopt(tx: Tx, core: Core, session: PaymentSession, told: readonly Told[]): Promise<void> {
  for (const { attempt, answer } of told) {
    if (answer.type !== "held" && answer.type !== "heldOther") continue;
    const known = await knownOrOpened(tx, core, session, attempt);
    if (known.status === "AUTHORIZING") recordUnknown(tx, known, "TIMEOUT", { next: { action: "stop", because } });
  }
  for (const { attempt, answer } of told) {
    if (answer.type !== "captured") continue;
    const known = await knownOrOpened(tx, core, session, attempt);
    recordHeld(tx, known, answer.gatewayReference);
    recordCaptureOrdered(tx, known);
  }
}

async function knownOrOpened(tx: Tx, core: Core, session: PaymentSession, attempt: Attempt): Promise<Attempt> {
  const { attempts } = await loadSession(tx, session.id);
  const known = attempts.find(({ id }) => id === attempt.id);
  if (known !== undefined) return known;
  const to = { ...attempt, priority: attempts.length + 1 };
  openAttempt(tx, { id: attempt.id, session, to, because, ...limitsAt(core, attempt) });
  return knownOrOpened(tx, core, session, attempt);
}

/** How long a gateway may go on executing what it was sent. */
function limitsAt(core: Core, attempt: Pick<Attempt, "gateway">) {
  const { attemptTimeoutMs } = core.timing;
  const { refusesVoidedReference = false, executionLimitMs = 0 } = core.connectorOf(attempt.gateway) ?? {};
  const lateMs = executionLimitMs + core.vault.forwarding.lateMs;
  return { refusesVoidedReference, executionLimitMs: lateMs, attemptTimeoutMs };
}
