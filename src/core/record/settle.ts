/** Ends a session: writes its final status and its event in one transaction. */
import { type EventType, recordEvent, writeEventBody } from "../../events/outbox.ts";
import type { Statement, Tx } from "../../platform/database.ts";
import { type AttemptId, type DisputeId, encodeId, type RefundId, type SessionId } from "../../platform/ids.ts";
import { dropProof } from "../authentication/provided-rows.ts";
import { countDecline } from "../card-testing/card-counts.ts";
import type { Core } from "../core.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import { isFailover, type Payment } from "../rows/payment.ts";
import { forgetUnlessSaving } from "../stored-cards/forget-unless-saving.ts";
import { loadSession } from "./load-session.ts";

const settleStatement: Statement = {
  name: "settle_session",
  partitionKey: 1,
  text: "SELECT id FROM app.settle_session($1, $2, $3, $4, $5, $6)",
};

/** The end of a session. */
export type Ending =
  | { readonly status: "SUCCEEDED"; readonly winner: Attempt; readonly captureConfirmed: boolean }
  | { readonly status: "DECLINED" | "DEGRADED"; readonly declineCode: string };

/** The parts of the core that end a session. */
export type EndParts = Pick<Core, "outbox" | "describeSession" | "observer"> & {
  readonly vault: Pick<Core["vault"], "forget">;
};

/**
 * Settles a locked session. No attempt may be UNKNOWN: `recordHeld` or the step `end` has moved them to VOIDING. The
 * vault erases the card once the end is durable. Returns the session as it has ended.
 */
export async function settleSession(
  tx: Tx,
  core: EndParts,
  session: Pick<PaymentSession, "id" | "merchantId" | "amountMinor" | "authentications">,
  ending: Ending,
): Promise<Payment> {
  const values =
    ending.status === "SUCCEEDED"
      ? [ending.winner.gateway, ending.captureConfirmed, isFailover(ending.winner), null]
      : [null, null, false, ending.declineCode];
  if (session.authentications > 0) dropProof(tx, session.id); // rule:proof-deleted
  if (ending.status === "DECLINED") countDecline(tx, session.id, ending.declineCode); // rule:declines-counted
  const [rows, ended] = await Promise.all([
    tx.query(settleStatement, [session.id, ending.status, ...values]),
    emitEvent(tx, core, session, endEventOf(session, ending.status)), // rule:end-with-event
  ]);
  if (rows.length === 0) throw new Error("a session settles once, from CREATED");
  tx.afterCommit(() => (ended.session.stored ? forgetUnlessSaving(core, ended) : core.vault.forget(session.id)));
  tx.afterCommit(() => core.observer?.settled(ending.status));
  return ended;
}

const eventOf = {
  SUCCEEDED: "payment_session.succeeded",
  DECLINED: "payment_session.declined",
  DEGRADED: "payment_session.degraded",
  EXPIRED: "payment_session.expired",
} as const satisfies Record<string, EventType>;

const eventOfSetUp = {
  SUCCEEDED: "setup_session.succeeded",
  DECLINED: "setup_session.failed",
  DEGRADED: "setup_session.failed",
  EXPIRED: "setup_session.expired",
} as const satisfies Record<keyof typeof eventOf, EventType>;

/** Returns the type of the event about the end of a session, of an amount of 0 for a set-up. */
export function endEventOf(
  { amountMinor }: Pick<PaymentSession, "amountMinor">,
  status: keyof typeof eventOf,
): EventType {
  return (amountMinor === 0 ? eventOfSetUp : eventOf)[status];
}

/**
 * Emits an event about a locked session, or one of its attempts, refunds or disputes, with their state in this
 * transaction. Returns the session that it describes.
 */
export async function emitEvent(
  tx: Tx,
  core: Pick<Core, "outbox" | "describeSession">,
  session: Pick<PaymentSession, "id" | "merchantId">,
  type: EventType,
  about: {
    readonly attemptId?: AttemptId;
    readonly refundId?: RefundId;
    readonly disputeId?: DisputeId;
    readonly agreement?: object;
  } = {},
): Promise<Payment> {
  const reading = loadSession(tx, session.id);
  const { attemptId, refundId, disputeId, agreement } = about;
  const subject = {
    ...(attemptId !== undefined && { attemptId: encodeId("att", attemptId) }),
    ...(refundId !== undefined && { refundId: encodeId("ref", refundId) }),
    ...(disputeId !== undefined && { disputeId: encodeId("dsp", disputeId) }),
    ...(agreement !== undefined && { agreement }),
  };
  const recording = recordEvent(tx, core.outbox, {
    sessionId: session.id,
    merchantId: session.merchantId,
    type,
    async body(envelope, sequence) {
      return writeEventBody(envelope, { sequence, ...subject, ...core.describeSession(await reading) });
    },
  });
  const [described] = await Promise.all([reading, recording]);
  return described;
}

const recordPendingEvent: Statement = {
  name: "record_pending_event",
  partitionKey: 1,
  text: "SELECT id FROM app.record_pending_event($1)",
};

/** Emits the pending event once, when the outcome takes longer than the time budget. A set-up has none. */
export async function emitPending(tx: Tx, core: Core, session: PaymentSession): Promise<void> {
  const rows = await tx.query(recordPendingEvent, [session.id]);
  if (rows.length > 0 && session.amountMinor > 0) await emitEvent(tx, core, session, "payment_session.pending");
}

const close: Statement = { name: "close_session", partitionKey: 1, text: "SELECT FROM app.close_session($1)" };

/** Closes a session whose status and attempts are all final. */
export async function closeSession(tx: Tx, sessionId: SessionId): Promise<void> {
  await tx.query(close, [sessionId]);
}
