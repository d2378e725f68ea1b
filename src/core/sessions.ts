/** Reads one payment session, with its attempts, for its merchant or its customer. */

import { readOf } from "../platform/batches.ts";
import type { Statement } from "../platform/database.ts";
import type { MerchantId, SessionId } from "../platform/ids.ts";
import type { MerchantWallets } from "../platform/wallets.ts";
import type { Core, KnownCheckout } from "./core.ts";
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
  /** True for an open session without a description or a customer. */
  readonly isPlain: boolean;
  /** The merchant's settings for Apple Pay and Google Pay. */
  readonly wallets: MerchantWallets | null;
};

const selectCheckout = readOf(
  {
    name: "select_checkout",
    partitionKey: 1,
    text: selectPayment.text
      .replace(
        "AS attempts",
        `AS attempts, m.checkout_origins AS "checkoutOrigins", m.publishable_key AS "publishableKey", m.wallets,
      CASE WHEN s.phase = 'IDLE' AND m.repeated_orders = 'REFUSE' AND NOT s.allow_repeated_order THEN app.order_payer(s.merchant_id, s.order_ref) END AS payer,
      s.phase = 'IDLE' AND s.details IS NULL AND NOT s.stored AS "isPlain"`,
      )
      .replace(
        "FROM payment_session s WHERE",
        "FROM payment_session s LEFT JOIN merchant_settings m ON m.merchant_id = s.merchant_id WHERE",
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
  type CheckoutRow = SessionRow &
    Omit<CheckoutSettings, "payer"> & { checkoutOrigins: string[] | null; payer: Payer | null };
  const [found] = await core.database.query<CheckoutRow>(selectCheckout, [sessionId, null]);
  if (found === undefined) return undefined;
  const { checkoutOrigins, publishableKey, payer, isPlain, wallets, ...row } = found;
  return checkoutOrigins === null
    ? undefined
    : { ...(await inTime(core, row)), checkoutOrigins, publishableKey, payer: payer ?? undefined, isPlain, wallets };
}

// About 2 MiB. A customer takes half a minute to enter a card.
const knownMax = 4_096;

/** Keeps an open session that has no description and no customer, so that its submission need not read it. */
export function keepKnown(
  { known }: Pick<Core, "known">,
  { session, checkoutOrigins, publishableKey }: KnownCheckout,
): void {
  const [oldest] = known.size < knownMax ? [] : known.keys();
  if (oldest !== undefined) known.delete(oldest);
  const { id, merchantId, phase, amountMinor, currency, details, manualCapture, captureBy, stored, expiresAt } =
    session;
  const kept = { id, merchantId, phase, amountMinor, currency, details, manualCapture, captureBy, stored, expiresAt };
  known.set(id, { session: kept, checkoutOrigins, publishableKey });
}

/** Takes a kept session. It may have changed since: its claim has to name `settingsOf` it. */
export function takeKnown(
  { known, runtime }: Pick<Core, "known" | "runtime">,
  id: SessionId,
): KnownCheckout | undefined {
  const kept = known.get(id);
  known.delete(id);
  return kept && kept.session.expiresAt > runtime.now() ? kept : undefined;
}

/** Returns the settings that allow a page, as `app.claim` compares them. */
export function settingsOf({ publishableKey, checkoutOrigins }: Omit<KnownCheckout, "session">): string {
  return [publishableKey, ...checkoutOrigins].join(" ");
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
