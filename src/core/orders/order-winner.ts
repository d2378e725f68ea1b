/**
 * Enforces one payment an order: if a merchant refuses repeated orders, at most one session has an order
 * (src/migrations/environment/orders.sql). docs/safety.md has the rules as O1 to O4.
 */
import type { Statement, Tx } from "../../platform/database.ts";
import { encodeId, type SessionId } from "../../platform/ids.ts";
import { because } from "../decide/because.ts";
import { move, recordAdopted } from "../record/attempts.ts";
import type { HoldNames } from "../record/payment-functions.ts";
import type { Ending } from "../record/settle.ts";
import { type AlarmingCore, openWorkItem } from "../record/work-items.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";

/** The session that has an order, as a customer of another one meets it. */
export type Payer = { readonly sessionId: SessionId; readonly hasSucceeded: boolean };

// Raised by app.require_order (src/migrations/environment/orders.sql), with the session that has the order.
const orderTakenCode = "LL005";

/** Returns the session that has the order, if a change was refused because another one has it. */
export function payerOf(error: unknown): SessionId | undefined {
  const { code, detail } = error as { code?: unknown; detail?: string };
  return code === orderTakenCode ? detail : undefined;
}

/**
 * Runs a change that may name a winner. If another session has the order, the change is undone and run again with the
 * id of that session, so that it records the hold as lost.
 */
export async function inOrder<Result>(run: (payerId?: SessionId) => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const payerId = payerOf(error);
    if (payerId === undefined) throw error;
    return run(payerId);
  }
}

const setPayer: Statement = {
  name: "set_paying_session",
  partitionKey: 1,
  text: "SELECT FROM app.set_paying_session($1, $2)",
};

/**
 * Records that a gateway holds the amount of an order that another session pays: the hold is voided, and no further gateway is
 * tried. The session then ends DECLINED.
 */
export function recordOrderLost(
  tx: Tx,
  { attempt, hold, payerId }: { readonly attempt: Attempt; readonly hold: HoldNames; readonly payerId: SessionId },
): void {
  recordAdopted(tx, attempt, hold);
  const nextBecause = because.orderPaidBy(encodeId("ps", payerId));
  const stop = { stop: "order_being_paid", nextAction: "stop", nextBecause } as const; // rule:order-ends-payment
  move(tx, attempt, "AUTHORIZED", { set: { status: "VOIDING", ...stop } });
  recordPayer(tx, attempt.sessionId, payerId);
}

/** Records the session that pays the order of a locked session, which is then declined for it. */
export function recordPayer(tx: Tx, sessionId: SessionId, payerId: SessionId): void {
  tx.send(setPayer, [sessionId, payerId]);
}

// Reads the sessions of any month.
const selectSucceeded: Statement = {
  name: "select_payer_succeeded",
  partitionKey: 1,
  text: "SELECT status = 'SUCCEEDED' AS \"hasSucceeded\" FROM payment_session WHERE id = $1",
};

/** Returns the end of a session: `otherwise`, unless another one pays its order. */
export async function endingOf(
  tx: Tx,
  { payingSessionId: payerId }: Pick<PaymentSession, "payingSessionId">,
  otherwise: Ending,
): Promise<Ending> {
  if (payerId === null) return otherwise;
  const [payer] = await tx.query<{ hasSucceeded: boolean }>(selectSucceeded, [payerId]);
  const declineCode = payer?.hasSucceeded ? "order_already_paid" : "order_being_paid";
  return { status: "DECLINED", declineCode };
}

const takeOrder: Statement = {
  name: "take_order",
  partitionKey: 1,
  text: `SELECT app.take_order(id, merchant_id, order_ref) AS "payerId" FROM payment_session WHERE id = $1 AND NOT allow_repeated_order`,
};

/**
 * Gives an order to a locked session whose money was captured already, which is never refused. If another session has
 * the order, it raises an alert. Call it before the winner is named.
 */
export async function keepOrder(
  tx: Tx,
  core: AlarmingCore,
  { id: sessionId }: Pick<PaymentSession, "id">,
): Promise<void> {
  const [row] = await tx.query<{ payerId: SessionId | null }>(takeOrder, [sessionId]);
  if (!row?.payerId) return;
  const detail = `The order is paid by ${encodeId("ps", row.payerId)} too. Refund one of the payments.`;
  await openWorkItem(tx, core, { kind: "PAID_MORE_THAN_ONCE", sessionId, detail });
}
