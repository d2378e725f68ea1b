/** A merchant's orders about a payment: capture a held one, whole or in part, or cancel one. One of them wins, once. */

import { leaseMs } from "../limits.ts";
import type { Statement, Transacting, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { MerchantId, SessionId } from "../platform/ids.ts";
import type { Core } from "./core.ts";
import { lookUp, type Reading } from "./execute/gateway-calls.ts";
import { adoptCapture, endHold, mayHaveLostOrder } from "./execute/held-payments.ts";
import type { SettlingParts } from "./execute/late-captures.ts";
import { recordCaptureOrdered } from "./record/attempts.ts";
import type { Lease } from "./record/lease.ts";
import { loadSession } from "./record/load-session.ts";
import type { EndParts } from "./record/settle.ts";
import type { Attempt, PaymentSession } from "./rows/entities.ts";
import { isHeld, type Payment } from "./rows/payment.ts";
import { alreadyReplaced, beingPaid, endUnsubmitted, refusal } from "./session-changes.ts";
import { followSession, startProcessing } from "./submit-payment.ts";

/** A held payment of the merchant that gives the order. */
export type HeldPayment = { readonly merchantId: MerchantId; readonly sessionId: SessionId };

// A single conditional update decides between a capture, a cancellation and the end of the hold.
const takeToCapture: Statement = {
  name: "take_hold_to_capture",
  partitionKey: 1,
  text: "SELECT lease_epoch AS epoch FROM app.take_hold_to_capture($1, $2, $3, $4)",
};
const takeToCancel: Statement = {
  name: "take_hold_to_cancel",
  partitionKey: 1,
  text: "SELECT lease_epoch AS epoch FROM app.take_hold_to_cancel($1, $2, $3)",
};

/**
 * Orders the capture of a held payment: of `amountMinor`, or the whole amount. An earlier capture by a person at the
 * gateway counts as the order. Durable on return, which waits up to 20 s for the gateway's answer. A repeat with the
 * same amount returns the current payment. Throws `not_found`, `not_held`, `capture_already_ordered` for another
 * amount, `session_ended`, `amount_exceeds_held`, and `invalid_field` for an amount that the gateway cannot express.
 */
export async function captureHeld(
  core: Core,
  held: HeldPayment & { readonly amountMinor?: number | undefined; readonly signal: AbortSignal },
): Promise<Payment> {
  const { sessionId, signal } = held;
  await adoptCapturedByHand(core, held);
  const taken = await core.database.transaction((tx) => orderCapture(tx, core, { ...held, workMs: leaseMs }));
  const lease = taken?.lease;
  const run = lease && startProcessing(core, { lease });
  const payment = await loadSession(core.database, sessionId);
  return followSession(core, { payment, signal, run, isOver: ({ status }) => status !== "CREATED" });
}

/**
 * Cancels a session: one that was not submitted ends as EXPIRED, a held payment as DECLINED, and its hold is voided. Durable on return.
 * A repeat returns the session as it stands. Throws `not_found`, `not_held`, `capture_already_ordered`, `session_being_paid`,
 * `session_replaced` and `session_ended`.
 */
export async function cancelSession(core: Core, held: HeldPayment): Promise<Payment> {
  await adoptCapturedByHand(core, held);
  const taken = await core.database.transaction(async (tx) => {
    const isEnded = await endUnsubmitted(tx, core, held, { because: "CANCELLED", successor: null });
    return isEnded ? undefined : orderCancel(tx, core, { ...held, workMs: leaseMs });
  });
  if (taken) void startProcessing(core, { lease: taken.lease });
  return loadSession(core.database, held.sessionId);
}

/**
 * Reads a hold at its gateway before an order about it. One that a person has captured there counts as ordered with that
 * amount: a cancellation would end a payment whose money is taken, and a capture of another amount would never be answered.
 * Without an answer nothing changes.
 */
export async function adoptCapturedByHand(
  core: Reading & SettlingParts & { readonly database: Transacting },
  held: HeldPayment,
): Promise<void> {
  const { merchantId, sessionId } = held;
  if ((await core.database.query(selectOwn, [sessionId, merchantId])).length === 0) return;
  const { session, attempts } = await loadSession(core.database, sessionId);
  const isReadable = isHeld(session) && !session.unrecordedCheckAt;
  const attempt = isReadable ? attempts.find(({ id }) => id === session.winnerAttemptId) : undefined;
  if (attempt === undefined || attempt.decisionConfirmedAt) return;
  const answer = await lookUp(core, attempt);
  if (answer.type !== "captured") return;
  await core.database.transaction(async (tx) => {
    const taken = await takeHold(tx, takeToCancel, { ...held, workMs: 0 }, []);
    if (taken !== undefined) await adoptCapture(tx, core, taken, answer);
  });
}

/** An order, and the time for which the process that gives it works on the session; 0 leaves the work to a worker. */
type Order = HeldPayment & { readonly workMs: number };

/**
 * Records the order of a capture. Returns the hold that it took, or undefined if the same order was given before. Throws as
 * `captureHeld` does.
 */
export async function orderCapture(
  tx: Tx,
  core: Pick<Core, "connectorOf">,
  order: Order & { readonly amountMinor?: number | undefined },
): Promise<TakenHold | undefined> {
  const { amountMinor } = order;
  const taken = await takeHold(tx, takeToCapture, order, [amountMinor ?? null]);
  if (taken === undefined) return requireOrdered(await loadOwn(tx, order), amountMinor);
  const { session, attempt } = taken;
  const orderedMinor = amountMinor ?? session.amountMinor;
  requirePayable(core, attempt, { amountMinor: orderedMinor, to: "capture" });
  recordCaptureOrdered(tx, attempt, orderedMinor);
  return taken;
}

/**
 * Records the cancellation of a hold and the end of the session. Returns the hold that it took, or undefined if it was cancelled before.
 * Throws as `cancelSession` does.
 */
export async function orderCancel(
  tx: Tx,
  core: EndParts & Pick<Core, "connectorOf">,
  order: Order,
): Promise<TakenHold | undefined> {
  const taken = await takeHold(tx, takeToCancel, order, []);
  if (taken === undefined) return requireCancelled(await loadOwn(tx, order));
  if (await mayHaveLostOrder(core, tx, taken.session, taken.attempt)) throw notHeld(orderMayBeLost);
  await endHold(tx, core, taken, "capture_cancelled");
  return taken;
}

/** A hold that an order has taken. */
export type TakenHold = { readonly lease: Lease; readonly session: PaymentSession; readonly attempt: Attempt };

/** Takes a hold for one order. Returns undefined if another one was first, or the payment is not held. */
async function takeHold(
  tx: Tx,
  statement: Statement,
  { sessionId, merchantId, workMs }: Order,
  more: readonly unknown[],
): Promise<TakenHold | undefined> {
  const [row] = await tx.query<{ epoch: number }>(statement, [sessionId, merchantId, workMs, ...more]);
  if (row === undefined) return undefined;
  const { session, attempts } = await loadSession(tx, sessionId);
  const attempt = attempts.find(({ id }) => id === session.winnerAttemptId);
  if (attempt === undefined) throw new Error("a held payment has a winner");
  if (attempt.decisionConfirmedAt) throw notHeld(decided);
  return { lease: { sessionId, epoch: row.epoch }, session, attempt };
}

async function loadOwn(tx: Tx, { sessionId, merchantId }: HeldPayment): Promise<Payment> {
  const [own] = await tx.query(selectOwn, [sessionId, merchantId]);
  if (own === undefined) throw new DomainError("not_found", "There is no payment session with this id.");
  return loadSession(tx, sessionId);
}

const selectOwn: Statement = {
  name: "select_own_session",
  partitionKey: 1,
  text: "SELECT id FROM payment_session WHERE id = $1 AND merchant_id = $2",
};

/** Returns nothing if this capture was ordered before; throws why it cannot be ordered. */
function requireOrdered({ session, attempts, readAt }: Payment, amountMinor: number | undefined): undefined {
  requireManual(session);
  if (session.captureAskedAt) {
    const ordered = attempts.find(({ captureOrderedAt }) => captureOrderedAt !== null);
    if ((ordered?.orderedAmountMinor ?? ordered?.capturedAmountMinor) === (amountMinor ?? session.amountMinor))
      return undefined;
    throw alreadyOrdered("The capture was ordered with another amount, which cannot be changed.");
  }
  requireHeld({ session, readAt });
  if (amountMinor !== undefined && amountMinor > session.amountMinor) {
    throw new DomainError("amount_exceeds_held", "The amount is more than the amount that is held.", {
      field: "amountMinor",
    });
  }
  throw notHeld(inDoubt);
}

const orderMayBeLost =
  "A restore may have lost the order of its capture, and its gateway cannot be read. The payment ends at held.until, or capture it.";
const decided = "A person has recorded what happened to the hold at its gateway; the payment ends within seconds.";
const inDoubt = "The gateways are being asked what a restore has lost; repeat the request in a minute.";

/** Returns nothing if the payment was cancelled before; throws why it cannot be cancelled. */
function requireCancelled({ session }: Payment): undefined {
  if (session.expiredBecause === "CANCELLED" || session.declineCode === "capture_cancelled") return undefined;
  if (session.replacedBy) throw alreadyReplaced(session);
  if (session.captureAskedAt) {
    const message = "The capture was ordered, so the payment cannot be cancelled; refund it once it has SUCCEEDED.";
    throw refusal("capture_already_ordered", message, session);
  }
  if (session.status !== "CREATED") throw refusal("session_ended", "The session has ended.", session);
  if (session.phase === "IDLE") throw notHeld("No card was submitted yet.");
  throw session.heldAt ? notHeld(inDoubt) : beingPaid(session);
}

function requireManual(session: PaymentSession): void {
  if (!session.manualCapture)
    throw notHeld("The session was created without capture: manual, so it captures by itself.");
}

function requireHeld({ session, readAt }: Pick<Payment, "session" | "readAt">): void {
  const isOver = session.heldUntil != null && session.heldUntil <= readAt;
  if (session.status !== "CREATED" || isOver) {
    throw new DomainError("session_ended", "The session has ended without a capture, or the time of its hold is over.");
  }
  if (!session.heldAt) throw notHeld("No gateway holds the amount yet; wait for payment_session.held.");
}

function notHeld(message: string): DomainError {
  return new DomainError("not_held", message);
}

function alreadyOrdered(message: string): DomainError {
  return new DomainError("capture_already_ordered", message);
}

/** Throws `invalid_field` for an amount that the gateway cannot capture or refund exactly. */
export function requirePayable(
  core: Pick<Core, "connectorOf">,
  { gateway, currency }: Pick<Attempt, "gateway" | "currency">,
  { amountMinor, to }: { amountMinor: number; to: "capture" | "refund" },
): void {
  const whyNot = core.connectorOf(gateway)?.whyNotPayable({ amountMinor, currency });
  if (whyNot === undefined) return;
  const problem = { param: "amountMinor", pointer: "/amountMinor", code: "invalid_field", detail: whyNot } as const;
  throw new DomainError("invalid_field", `The gateway cannot ${to} exactly this amount.`, {
    field: "amountMinor",
    problems: [problem],
  });
}
