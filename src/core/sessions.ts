/** Reads one payment session, with its attempts, for its merchant or its customer. */

import { readOf } from "../platform/batches.ts";
import type { Statement } from "../platform/database.ts";
import type { MerchantId, SessionId } from "../platform/ids.ts";
import type { Core } from "./core.ts";
import { expireSession } from "./expire-sessions.ts";
import type { Payer } from "./orders/order-winner.ts";
import { loadSession, type SessionRow, selectPayment, wholeSession } from "./record/load-session.ts";
import type { Payment } from "./rows/payment.ts";

/**
 * Finds the session with this id; with a merchant given, only among that merchant's. A session whose time is over is
 * EXPIRED when this returns, even if no sweep has reached it; while no session may change, it is returned as read.
 */
export async function findSession(
  core: Core,
  options: { sessionId: SessionId; merchantId?: MerchantId },
): Promise<Payment | undefined> {
  const values = [options.sessionId, options.merchantId ?? null];
  const [row] = await core.database.query<SessionRow>(selectPayment, values);
  return row && inTime(core, row);
}

async function inTime(core: Core, row: SessionRow): Promise<Payment> {
  if (!row.overdue) return wholeSession(core.database, row);
  try {
    await expireSession(core, row.id);
  } catch (error) {
    // app.require_timeline (restore-guards.sql) refuses what changes a session, not what reads it.
    if ((error as { code?: unknown }).code !== "57P03") throw error;
    return wholeSession(core.database, row);
  }
  return loadSession(core.database, row.id);
}

/** The merchant's settings that decide whether a page may open a session, and the session that pays its order, if another one does. */
type CheckoutSettings = {
  readonly checkoutOrigins: readonly string[];
  readonly publishableKey: string;
  readonly payer: Payer | undefined;
};

const selectCheckout = readOf(
  {
    name: "select_checkout",
    partitionKey: 1,
    text: selectPayment.text.replace(
      "AS attempts",
      `AS attempts,
      (SELECT m.checkout_origins FROM merchant_settings m WHERE m.merchant_id = s.merchant_id) AS "checkoutOrigins",
      (SELECT m.publishable_key FROM merchant_settings m WHERE m.merchant_id = s.merchant_id) AS "publishableKey",
      CASE WHEN s.phase = 'IDLE' AND NOT s.allow_repeated_order THEN (
        SELECT CASE WHEN m.repeated_orders = 'REFUSE' THEN app.order_payer(s.merchant_id, s.order_ref) END
        FROM merchant_settings m WHERE m.merchant_id = s.merchant_id) END AS payer`,
    ),
  },
  ["uuid", "uuid"],
);

/**
 * Finds a session for its customer, as `findSession` does, with the merchant's origins that may show it, the key that
 * opens it, and the session that pays its order where another one does. Undefined when there is none.
 */
export async function findCheckout(
  core: Core,
  sessionId: SessionId,
): Promise<(Payment & CheckoutSettings) | undefined> {
  type CheckoutRow = SessionRow & { checkoutOrigins: string[] | null; publishableKey: string; payer: Payer | null };
  const [found] = await core.database.query<CheckoutRow>(selectCheckout, [sessionId, null]);
  if (found === undefined) return undefined;
  const { checkoutOrigins, publishableKey, payer, ...row } = found;
  return checkoutOrigins === null
    ? undefined
    : { ...(await inTime(core, row)), checkoutOrigins, publishableKey, payer: payer ?? undefined };
}

type ChargedSession = { readonly merchantId: MerchantId; readonly isSubmitted: boolean };

const selectChargedSession: Statement = {
  name: "select_charged_session",
  partitionKey: 1,
  text: `SELECT merchant_id AS "merchantId", submitted_at IS NOT NULL AS "isSubmitted" FROM payment_session WHERE id = $1`,
};

/** Finds the merchant that is charged for a customer's call; undefined when there is no session with this id. */
export async function findChargedSession(
  { database }: Core,
  sessionId: SessionId,
): Promise<ChargedSession | undefined> {
  const [row] = await database.query<ChargedSession>(selectChargedSession, [sessionId]);
  return row;
}
