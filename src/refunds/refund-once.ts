/**
 * Takes refunds to their end: each is sent to the gateway that captured, repeated while the gateway remembers its key,
 * looked up afterwards, and read until the money is on its way. A refund neither wakes nor leases its session.
 */
import type { BoundConnector, Core } from "../core/core.ts";
import { capturedAtGateway } from "../core/execute/gateway-calls.ts";
import type { Called } from "../core/execute/gateway-slots.ts";
import { createGatewayTurn } from "../core/execute/gateway-turn.ts";
import { loadSession, lockSession } from "../core/record/load-session.ts";
import { openWorkItem } from "../core/record/work-items.ts";
import type { Refund } from "../core/rows/entities.ts";
import { capturedOf } from "../core/rows/payment.ts";
import { recordReading } from "../disputes/dispute-rows.ts";
import type { GatewayCall, GatewayDisputes, GatewayRefunds } from "../gateways/connector.ts";
import { hurryFeed } from "../gateways/feed-rows.ts";
import { followUpTimeoutMs, leaseMs } from "../limits.ts";
import { isDatabaseDown, type Statement, type Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { Turn } from "../platform/loop.ts";
import { isCarried, recordListed } from "./listed-refunds.ts";
import { nextRefundStep, pauseMs, type RefundTraits, type RefundWork } from "./next-refund-step.ts";
import {
  atGateway,
  type Current,
  daily,
  emitPending,
  postpone,
  recordAnswer,
  recordList,
  recordLookUp,
  repeatIn,
  untold,
} from "./record-refund-answer.ts";
import { itemOf, moveRefund, type RefundEnd, type RefundName, recordEnd } from "./refund-rows.ts";

/** SQL: refunds that are due. A subselect bounds the index; the volatile function itself would be evaluated for each row. */
export const dueRefunds = "refund WHERE next_try_at <= (SELECT app.clock())";

const takeDue: Statement = {
  name: "take_due_refund",
  text: `
    SELECT session_id AS "sessionId", id, connection_id AS "connectionId", gateway FROM app.take_due_refund($1, $2, $3)`,
};
// While a payment's gateway is not connected, or its refunds cannot be read.
const unboundMs = 5 * 60_000;

type TakenRefund = RefundName & Called;

/**
 * Returns the turns that take due refunds one step further, a few at each gateway side by side. A failing one does not
 * hold up the others: it is taken up again.
 */
export function createRefundTurn(core: Core): Turn {
  return createGatewayTurn<TakenRefund>(core, {
    take: async ({ connections, gateways }) =>
      (await core.database.query<TakenRefund>(takeDue, [leaseMs, connections, gateways]))[0],
    work: (name) => runStep(core, name),
  });
}

type Bound = RefundWork & {
  readonly refunds: GatewayRefunds;
  readonly disputes: GatewayDisputes | undefined;
  readonly credentials: BoundConnector["credentials"];
};

/** Takes a refund that this process has taken up a step further. */
export async function runStep(core: Core, name: RefundName): Promise<void> {
  try {
    const work = await loadWork(core, name);
    if (work === undefined)
      return await inTransaction(core, name, (tx, current) => repeatIn(tx, core, current, unboundMs));
    await takeStep(core, name, work);
  } catch (error) {
    await reportStuck(core, name, error);
    throw error;
  }
}

/** Alarms a person when PostgreSQL refuses to record the result of a refund, which a repeat does not change. */
async function reportStuck(core: Core, name: RefundName, error: unknown): Promise<void> {
  const { code } = error as { code?: unknown };
  // Classes of SQLSTATE: data, integrity, access. Any other passes with the cause, as an outage does: another process may
  // have ended the refund meanwhile.
  if (isDatabaseDown(error) || (typeof code === "string" && !/^(22|23|42)/.test(code))) return;
  await inTransaction(core, name, async (tx, { refund }) => {
    const detail = `What ${refund.gateway} has done with this refund cannot be recorded; the log says why. It is repeated.`;
    await openWorkItem(tx, core, { ...itemOf(refund), detail });
    await postpone(tx, refund, unboundMs);
  });
}

async function takeStep(core: Core, name: RefundName, work: Bound): Promise<void> {
  const step = nextRefundStep(work);
  if (step.type === "send") return send(core, work, step.key);
  if (step.type === "lookUp") return lookUp(core, work);
  // Decided again under the lock: a report may have come since, and counts for more than a person or a clock.
  await inTransaction(core, name, (tx, current) => changeRow(tx, core, workNow(work, current)));
}

/** Returns the work on the rows as they stand now. */
function workNow(work: Bound, { loaded, refund }: Current): RefundWork {
  return { ...work, loaded, refund, captured: capturedOf(loaded) ?? work.captured };
}

/** Takes a step that calls no gateway. One that does is due at once. */
async function changeRow(tx: Tx, core: Core, work: RefundWork): Promise<void> {
  const { loaded, refund } = work;
  const end = (end: RefundEnd) => recordEnd(tx, core, { loaded, refund, end, dueInMs: undefined });
  const step = nextRefundStep(work);
  switch (step.type) {
    case "send":
    case "lookUp":
      return postpone(tx, refund, 0);
    case "fail":
      return void (await end({ status: "FAILED", failureCode: step.failureCode }));
    case "endDecided":
      return void (await end(
        refund.decision === "SUCCEEDED"
          ? { status: "SUCCEEDED", gatewayReference: refund.decisionReference ?? undefined }
          : { status: "FAILED", failureCode: "never_made" },
      ));
    case "askPerson":
      await openWorkItem(tx, core, { ...itemOf(refund), detail: step.reason });
      await emitPending(tx, core, work);
      return postpone(tx, refund, step.repeatMs);
    case "wait":
      return postpone(tx, refund, step.ms);
    case "rest":
      return postpone(tx, refund, null);
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
  // rule:refund-newest-credentials
  const bound = await core.bind(refund.connectionId, refund.gateway, connected.credentialVersion);
  if (bound?.connector.refunds === undefined) return undefined;
  const { connector, credentials } = bound;
  const { refunds } = connector;
  const traits: RefundTraits = {
    needsConfirmedCapture: refunds!.needsConfirmedCapture,
    keyLifeMs: refunds!.keyLifeMs,
    canList: refunds!.listRefunds !== undefined,
    canRead: connector.canRead,
  };
  const restoredAt = connected.restoredAt ?? undefined;
  const { disputes } = connector;
  return { refund, loaded, captured, traits, restoredAt, refunds: refunds!, disputes, credentials };
}

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

/** Sends a refund, after its payment's refunds and disputes were read where the gateway lets them be read. */
async function send(core: Core, work: Bound, key: 1 | 2): Promise<void> {
  const { refund, refunds } = work;
  const call = callOf(work);
  const isNew = key > refund.keys;
  // rule:refund-list-first
  const listed = isNew && refunds.listRefunds ? await refunds.listRefunds(call, capturedAtGateway(work.captured)) : [];
  // rule:refund-disputes-first
  const disputed = isNew && work.disputes ? await work.disputes.disputesOf(call, capturedAtGateway(work.captured)) : [];
  if (listed === undefined || disputed === undefined) {
    return inTransaction(core, refund, (tx, current) => repeatIn(tx, core, current, pauseMs(current.refund)));
  }
  let isSent = false;
  const begunAt = core.runtime.now();
  await inTransaction(core, refund, async (tx, current) => {
    await recordListed(tx, core, { ...current, captured: work.captured, traits: work.traits, listed });
    for (const reading of disputed === "unreadable" ? [] : disputed) {
      const found = { loaded: await loadSession(tx, refund.sessionId), captured: work.captured, reading };
      await recordReading(tx, core, { ...found, askedAt: work.loaded.readAt });
    }
    const loaded = await loadSession(tx, refund.sessionId);
    const fresh = loaded.refunds.find(({ id }) => id === refund.id)!;
    const step = nextRefundStep(workNow(work, { loaded, refund: fresh }));
    if (step.type !== "send" || step.key !== key) return postpone(tx, fresh, 0);
    if (isCarried(fresh, listed)) return recordOtherContent(tx, core, { loaded, refund: fresh });
    await recordSent(tx, { refund: fresh, key, keyLifeMs: refunds.keyLifeMs, now: loaded.readAt });
    isSent = true;
  });
  // A process that was stopped meanwhile leaves the request to the process that has taken the refund over.
  if (!isSent || core.runtime.now().getTime() - begunAt.getTime() > leaseMs) return;
  const idempotencyKey = key === 1 ? encodeId("ref", refund.id) : `${encodeId("ref", refund.id)}_2`;
  const answer = await refunds.refund({ ...call, idempotencyKey }, capturedAtGateway(work.captured), atGateway(refund));
  // The gateway's record of the dispute is read at once.
  if (answer.type === "refused" && namesDispute.test(answer.gatewayCode))
    await hurryFeed(core.database, refund.connectionId, "disputes");
  await inTransaction(core, refund, (tx, current) => recordAnswer(tx, core, { ...current, work, answer, key }));
}

const namesDispute = /disput|chargeback/i;

/** Ends a refund that its gateway has made with another amount: a restore has lost the refund that its key named. */
async function recordOtherContent(tx: Tx, core: Core, { loaded, refund }: Current): Promise<void> {
  if (refund.sends === 0) {
    const end = { status: "FAILED", failureCode: "idempotency_key_reused" } as const;
    await recordEnd(tx, core, { loaded, refund, end, dueInMs: undefined });
    return;
  }
  await openWorkItem(tx, core, { ...itemOf(refund), detail: untold(refund) });
  await postpone(tx, refund, daily);
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
      unanswered: isNewKey ? 1 : refund.unanswered + 1,
      firstSentAt: refund.firstSentAt ?? now,
      sentAt: now,
      // The earlier absence says nothing about the request that is sent now.
      absentAt: null,
      ...(isNewKey && { keyUntil: new Date(now.getTime() + keyLifeMs), lookUpFirst: false }),
    },
    // The list may have taken half of the lease.
    dueInMs: leaseMs,
  });
}

async function lookUp(core: Core, work: Bound): Promise<void> {
  const { refund, refunds } = work;
  // A refund that a person makes at the gateway does not carry the reference by which a look-up finds ours.
  if (refund.origin === "GATEWAY" && refunds.listRefunds) {
    const listed = await refunds.listRefunds(callOf(work), capturedAtGateway(work.captured));
    return inTransaction(core, refund, (tx, current) => recordList(tx, core, { ...current, work, listed }));
  }
  const answer = await refunds.lookUpRefund(callOf(work), capturedAtGateway(work.captured), atGateway(refund));
  await inTransaction(core, refund, (tx, current) => recordLookUp(tx, core, { ...current, work, answer }));
}

function callOf({ credentials }: Bound): GatewayCall {
  return { credentials, timeoutMs: followUpTimeoutMs };
}
