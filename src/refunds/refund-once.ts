/**
 * Takes refunds to their end: each is sent to the gateway that captured, repeated while the gateway remembers its key,
 * looked up afterwards, and read until the money is on its way. A refund neither wakes nor leases its session.
 */
import type { BoundConnector, Core } from "../core/core.ts";
import type { Attempt, Refund } from "../core/entities.ts";
import { loadSession, type SessionWithAttempts } from "../core/session-with-attempts.ts";
import { emitEvent } from "../core/settle.ts";
import { openWorkItem } from "../core/work-items.ts";
import type {
  CapturedPayment,
  GatewayCall,
  GatewayRefunds,
  RefundAnswer,
  RefundAtGateway,
  RefundRecord,
} from "../gateways/connector.ts";
import { followUpTimeoutMs, gatewayReferenceCharactersMax, leaseMs } from "../limits.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { isCarried, recordListed } from "./listed-refunds.ts";
import {
  capturedOf,
  isAbsenceCertain,
  isOverdue,
  nextRefundStep,
  overdueReason,
  pauseAfterLookUp,
  pauseMs,
  type RefundTraits,
  type RefundWork,
  unansweredMs,
} from "./next-refund-step.ts";
import { itemOf, lockSession, moveRefund, type RefundName, recordEnd } from "./refund-rows.ts";

// A subselect bounds the index; the volatile function itself would be evaluated for each row.
const takeDue: Statement = {
  name: "take_due_refund",
  text: `
    UPDATE refund SET retries = retries + 1, next_try_at = app.clock() + $1 * interval '1 ms'
    WHERE (session_id, id) = (
      SELECT session_id, id FROM refund WHERE next_try_at <= (SELECT app.clock())
      ORDER BY next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING session_id AS "sessionId", id`,
};
const takeThis: Statement = {
  name: "take_refund",
  partitionKey: 1,
  text: `
    UPDATE refund SET retries = retries + 1, next_try_at = app.clock() + $3 * interval '1 ms'
    WHERE session_id = $1 AND id = $2 AND next_try_at <= app.clock() RETURNING session_id AS "sessionId", id`,
};

// Refunds in one turn; each may take ten seconds at its gateway.
const batch = 10;
// While a payment's gateway is not connected, or its refunds cannot be read.
const unboundMs = 5 * 60_000;
const daily = 24 * 60 * 60_000;
const quietMs = 60_000;

/** Takes due refunds one step further, one after another until `closing`. Returns true when there may be more. */
export async function refundOnce(core: Core, closing?: AbortSignal): Promise<boolean> {
  for (let taken = 0; taken < batch && !closing?.aborted; taken++) {
    const [name] = await core.database.query<RefundName>(takeDue, [leaseMs]);
    if (name === undefined) return false;
    await runStep(core, name);
  }
  return true;
}

/** Takes one refund a step further, if it is due and no other process has taken it. */
export async function processRefund(core: Core, { sessionId, id }: RefundName): Promise<void> {
  const [name] = await core.database.query<RefundName>(takeThis, [sessionId, id, leaseMs]);
  if (name !== undefined) await runStep(core, name);
}

/** A refund with all that its calls need. */
type Bound = RefundWork & { readonly refunds: GatewayRefunds; readonly credentials: BoundConnector["credentials"] };

async function runStep(core: Core, name: RefundName): Promise<void> {
  const work = await loadWork(core, name);
  if (work === undefined) return inTransaction(core, name, (tx, { refund }) => postpone(tx, core, refund, unboundMs));
  const step = nextRefundStep(work);
  switch (step.type) {
    case "send":
      return send(core, work, step.key);
    case "lookUp":
      return lookUp(core, work);
    case "fail":
      return inTransaction(core, name, async (tx, { loaded, refund }) => {
        const end = { status: "FAILED", failureCode: step.failureCode } as const;
        await recordEnd(tx, core, { loaded, refund, end, dueInMs: undefined });
      });
    case "endDecided":
      return inTransaction(core, name, async (tx, { loaded, refund }) => {
        const gatewayReference = refund.decisionReference ?? undefined;
        const end =
          refund.decision === "SUCCEEDED"
            ? ({ status: "SUCCEEDED", gatewayReference } as const)
            : ({ status: "FAILED", failureCode: "never_made" } as const);
        await recordEnd(tx, core, { loaded, refund, end, dueInMs: undefined });
      });
    case "askPerson":
      return inTransaction(core, name, async (tx, { refund }) => {
        await openWorkItem(tx, core, { ...itemOf(refund), detail: step.reason });
        await postpone(tx, core, refund, step.repeatMs);
      });
    case "wait":
      return inTransaction(core, name, (tx, { refund }) => postpone(tx, core, refund, step.ms));
    case "rest":
      return inTransaction(core, name, (tx, { refund }) => postpone(tx, core, refund, null));
    default:
      return unreachable(step);
  }
}

const selectConnected: Statement = {
  name: "select_connection_of_refund",
  text: `SELECT credential_version AS "credentialVersion", (SELECT restored_at FROM replica_mark) AS "restoredAt"
         FROM connection WHERE id = $1`,
};

/** Loads a refund, and binds it to the newest verified credentials of its account; undefined if there are none. */
async function loadWork(core: Core, { sessionId, id }: RefundName): Promise<Bound | undefined> {
  const loaded = await loadSession(core.database, sessionId);
  const refund = loaded.refunds.find((one) => one.id === id);
  const captured = capturedOf(loaded);
  if (refund === undefined || captured === undefined) return undefined;
  type Connected = { credentialVersion: number | null; restoredAt: Date | null };
  const [connected] = await core.database.query<Connected>(selectConnected, [refund.connectionId]);
  if (!connected?.credentialVersion) return undefined;
  const bound = await core.bind(refund.connectionId, refund.gateway, connected.credentialVersion);
  if (bound?.connector.refunds === undefined) return undefined;
  const { connector, credentials } = bound;
  const { refunds } = connector;
  const traits: RefundTraits = {
    needsConfirmedCapture: refunds!.needsConfirmedCapture,
    canList: refunds!.listRefunds !== undefined,
    canRead: connector.canRead,
  };
  const restoredAt = connected.restoredAt ?? undefined;
  return { refund, loaded, captured, traits, restoredAt, refunds: refunds!, credentials };
}

type Current = { readonly loaded: SessionWithAttempts; readonly refund: Refund };

/** Runs a change under the session's lock, on the rows as they stand then. */
async function inTransaction(
  core: Core,
  { sessionId, id }: RefundName,
  change: (tx: Tx, current: Current) => Promise<void>,
): Promise<void> {
  await core.database.transaction(async (tx) => {
    const loaded = await lockSession(tx, sessionId);
    const refund = loaded?.refunds.find((one) => one.id === id);
    if (loaded && refund) await change(tx, { loaded, refund });
  });
}

/** Sets the time of the next step; null for none. A refund that waits too long for an answer raises its alarm. */
async function postpone(tx: Tx, _core: Core, refund: Refund, ms: number | null): Promise<void> {
  await moveRefund(tx, refund, refund.status, { set: {}, dueInMs: ms });
}

/** Sends a refund, after its payment's refunds were read where the gateway lets them be read. */
async function send(core: Core, work: Bound, key: 1 | 2): Promise<void> {
  const { refund, refunds } = work;
  const call = callOf(work);
  const isFirst = refund.sends === 0;
  // rule:refund-list-first
  const listed = isFirst && refunds.listRefunds ? await refunds.listRefunds(call, capturedAtGateway(work)) : [];
  if (listed === undefined) {
    return inTransaction(core, refund, (tx, current) => postpone(tx, core, current.refund, pauseMs(current.refund)));
  }
  let isSent = false;
  await inTransaction(core, refund, async (tx, current) => {
    await recordListed(tx, core, { ...current, captured: work.captured, traits: work.traits, listed });
    const now = await loadSession(tx, refund.sessionId);
    const fresh = now.refunds.find(({ id }) => id === refund.id)!;
    const step = nextRefundStep({ ...work, loaded: now, refund: fresh });
    if (step.type !== "send" || step.key !== key || isCarried(refund, listed)) return postpone(tx, core, fresh, 0);
    await recordSent(tx, { refund: fresh, key, keyLifeMs: refunds.keyLifeMs, now: now.readAt });
    isSent = true;
  });
  if (!isSent) return;
  const idempotencyKey = key === 1 ? encodeId("ref", refund.id) : `${encodeId("ref", refund.id)}_2`;
  const answer = await refunds.refund({ ...call, idempotencyKey }, capturedAtGateway(work), atGateway(refund));
  await inTransaction(core, refund, (tx, current) => recordAnswer(tx, core, { ...current, work, answer }));
}

/** Records that a request is about to be sent, and under which key. Committed before it is. */
async function recordSent(
  tx: Tx,
  { refund, key, keyLifeMs, now }: { refund: Refund; key: 1 | 2; keyLifeMs: number; now: Date },
): Promise<void> {
  const isNewKey = key > refund.keys;
  await moveRefund(tx, refund, "REQUESTED", {
    set: {
      sends: refund.sends + 1,
      keys: key,
      firstSentAt: refund.firstSentAt ?? now,
      sentAt: now,
      ...(isNewKey && { keyUntil: new Date(now.getTime() + keyLifeMs), lookUpFirst: false, absentAt: null }),
    },
    // The list may have taken half of the lease.
    dueInMs: leaseMs,
  });
}

type Answered<Answer> = Current & { readonly work: Bound; readonly answer: Answer };

async function recordAnswer(tx: Tx, core: Core, answered: Answered<RefundAnswer>): Promise<void> {
  const { loaded, refund, work, answer } = answered;
  switch (answer.type) {
    case "done":
    case "accepted": {
      const { gatewayReference } = answer;
      if (gatewayReference.length > gatewayReferenceCharactersMax) return repeatLater(tx, core, answered, false);
      const status = answer.type === "done" ? "SUCCEEDED" : "PENDING";
      const completedAt = status === "SUCCEEDED" ? loaded.readAt : null;
      const dueInMs = pauseAfterLookUp({ ...refund, status, completedAt }, work.traits, loaded.readAt);
      await recordEnd(tx, core, { loaded, refund, end: { status, gatewayReference }, dueInMs });
      return;
    }
    case "refused":
      if (!answer.definitive) return repeatLater(tx, core, answered, false);
      await recordEnd(tx, core, {
        ...{ loaded, refund, dueInMs: undefined },
        end: { status: "FAILED", failureCode: answer.gatewayCode },
      });
      return;
    case "unknown":
      return repeatLater(tx, core, answered, answer.isKept === true);
    default:
      return unreachable(answer);
  }
}

/** Lets a refund without an answer wait for its next request. One that a notification has ended meanwhile is left. */
async function repeatLater(tx: Tx, core: Core, current: Current, isKept: boolean): Promise<void> {
  const { refund } = current;
  if (refund.status !== "REQUESTED") return;
  const set = isKept ? { lookUpFirst: true } : {};
  await moveRefund(tx, refund, "REQUESTED", { set, dueInMs: isKept ? quietMs : pauseMs(refund) });
  await reportUnanswered(tx, core, current);
}

/** Alarms a person and the merchant when a refund has had no answer for an hour. */
async function reportUnanswered(tx: Tx, core: Core, { loaded, refund }: Current): Promise<void> {
  const { firstSentAt, pendingEventAt, gateway, sends } = refund;
  if (!firstSentAt || loaded.readAt.getTime() - firstSentAt.getTime() < unansweredMs) return;
  const since = `${firstSentAt.toISOString().slice(0, 16)}Z`;
  const detail = `${gateway} has not answered ${encodeId("ref", refund.id)} since ${since}, in ${sends} requests.`;
  // The number of requests would make it another matter each time.
  await openWorkItem(tx, core, { ...itemOf(refund), detail: detail.replace(/, in \d+ requests/, "") });
  if (pendingEventAt) return;
  await moveRefund(tx, refund, "REQUESTED", { set: { pendingEventAt: loaded.readAt } });
  await emitEvent(tx, core, loaded.session, "refund.pending", { refundId: refund.id });
}

async function lookUp(core: Core, work: Bound): Promise<void> {
  const { refund, refunds } = work;
  const answer = await refunds.lookUpRefund(callOf(work), capturedAtGateway(work), atGateway(refund));
  await inTransaction(core, refund, (tx, current) => recordLookUp(tx, core, { ...current, work, answer }));
}

async function recordLookUp(tx: Tx, core: Core, answered: Answered<RefundRecord>): Promise<void> {
  const { loaded, refund, work, answer } = answered;
  const { traits } = work;
  switch (answer.type) {
    case "succeeded":
    case "pending": {
      const status = answer.type === "succeeded" ? "SUCCEEDED" : "PENDING";
      const { gatewayReference } = answer;
      const completedAt = refund.completedAt ?? (status === "SUCCEEDED" ? loaded.readAt : null);
      const dueInMs = pauseAfterLookUp({ ...refund, status, completedAt }, traits, loaded.readAt);
      if (await recordEnd(tx, core, { loaded, refund, end: { status, gatewayReference }, dueInMs })) return;
      if (status === "PENDING" && refund.status === "PENDING" && isOverdue(refund, loaded.readAt))
        await openWorkItem(tx, core, { ...itemOf(refund), detail: overdueReason(refund) });
      return postpone(tx, core, refund, pauseAfterLookUp(refund, traits, loaded.readAt) ?? null);
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
      if (refund.status !== "REQUESTED")
        return postpone(tx, core, refund, pauseAfterLookUp(refund, traits, loaded.readAt) ?? null);
      if (traits.canRead) return repeatLater(tx, core, answered, false);
      await openWorkItem(tx, core, { ...itemOf(refund), detail: untold(refund) });
      return postpone(tx, core, refund, daily);
    default:
      return unreachable(answer);
  }
}

function untold({ gateway }: Refund): string {
  return `${gateway} cannot be asked whether it has this refund, and its key has lapsed. Check there, then record its end.`;
}

async function recordAbsent(tx: Tx, core: Core, current: Current): Promise<void> {
  const { loaded, refund } = current;
  if (refund.status !== "REQUESTED") {
    const detail = `${refund.gateway} has no record of this refund any more. Check there, then record its end.`;
    await openWorkItem(tx, core, { ...itemOf(refund), detail });
    return postpone(tx, core, refund, daily);
  }
  // rule:refund-quiet-time
  if (!isAbsenceCertain(refund.sentAt ?? loaded.readAt, loaded.readAt)) return postpone(tx, core, refund, quietMs);
  await moveRefund(tx, refund, "REQUESTED", { set: {}, stamp: ["absentAt"], dueInMs: 0 });
  await reportUnanswered(tx, core, current);
}

function callOf({ credentials }: Bound): GatewayCall {
  return { credentials, timeoutMs: followUpTimeoutMs };
}

function capturedAtGateway({ captured }: { captured: Attempt }): CapturedPayment {
  return {
    attemptReference: encodeId("att", captured.id),
    gatewayReference: captured.gatewayReference ?? "",
    amountMinor: captured.amountMinor,
    currency: captured.currency,
    capturedMinor: captured.capturedAmountMinor ?? captured.amountMinor,
    captureReference: captured.captureReference ?? undefined,
  };
}

function atGateway(refund: Refund): RefundAtGateway {
  return {
    refundReference: encodeId("ref", refund.id),
    gatewayReference: refund.gatewayReference ?? undefined,
    amountMinor: refund.amountMinor,
    currency: refund.currency,
    reason: refund.reason ?? undefined,
  };
}
