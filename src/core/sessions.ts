/** Reads payment sessions for their merchant: one with its attempts, or a page of a list. */
import { pageSizeDefault } from "../limits.ts";
import { columnsOf } from "../platform/columns.ts";
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import type { Core } from "./core.ts";
import { type PaymentSession, PaymentSessionEntity, type SessionStatus } from "./entities.ts";
import { expireSession } from "./expire-sessions.ts";
import { processingInSql } from "./held-state.ts";
import { signPageToken, verifyPageToken } from "./page-token.ts";
import {
  loadSession,
  type SessionRow,
  type SessionWithAttempts,
  selectSessionWithAttempts,
  wholeSession,
} from "./session-with-attempts.ts";

const sessionColumns = columnsOf(PaymentSessionEntity, "s");

/**
 * Finds the session with this id; with a merchant given, only among that merchant's. A session whose time is over is
 * EXPIRED when this returns, even if no sweep has reached it; while no session may change, it is returned as read.
 */
export async function findSession(
  core: Core,
  options: { sessionId: string; merchantId?: string },
): Promise<SessionWithAttempts | undefined> {
  const values = [options.sessionId, options.merchantId ?? null];
  const [row] = await core.database.query<SessionRow>(selectSessionWithAttempts, values);
  return row && inTime(core, row);
}

async function inTime(core: Core, row: SessionRow): Promise<SessionWithAttempts> {
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

const selectOrigins: Statement = {
  name: "select_checkout_origins_of_session",
  partitionKey: 1,
  text: `
    SELECT m.checkout_origins AS "checkoutOrigins" FROM payment_session s
    JOIN merchant_settings m ON m.merchant_id = s.merchant_id WHERE s.id = $1`,
};

/**
 * Finds a session for its customer, as `findSession` does, with the merchant's origins that may show it. Undefined when
 * there is none.
 */
export async function findCheckout(
  core: Core,
  sessionId: string,
): Promise<(SessionWithAttempts & { readonly checkoutOrigins: readonly string[] }) | undefined> {
  const [[row], [settings]] = await core.database.together((together) =>
    Promise.all([
      together.query<SessionRow>(selectSessionWithAttempts, [sessionId, null]),
      together.query<{ checkoutOrigins: string[] }>(selectOrigins, [sessionId]),
    ]),
  );
  return row && settings && { ...(await inTime(core, row)), ...settings };
}

const selectMerchantOf: Statement = {
  name: "select_merchant_of_session",
  partitionKey: 1,
  text: `SELECT merchant_id AS "merchantId" FROM payment_session WHERE id = $1`,
};

/** Finds the merchant of a session; undefined when there is no session with this id. */
export async function findMerchantOf({ database }: Core, sessionId: string): Promise<string | undefined> {
  const [row] = await database.query<{ merchantId: string }>(selectMerchantOf, [sessionId]);
  return row?.merchantId;
}

/** The filters of a list. */
export type SessionFilters = {
  readonly orderRef?: string | undefined;
  readonly status?: SessionStatus | undefined;
  readonly processing?: boolean | undefined;
  /** Inclusive. */
  readonly createdAfter?: Date | undefined;
  /** Exclusive. */
  readonly createdBefore?: Date | undefined;
};

const selectPage: Statement = {
  name: unnamed,
  text: `
    SELECT ${sessionColumns}
    FROM payment_session s
    WHERE s.merchant_id = $1
      AND ($2::text IS NULL OR s.order_ref = $2)
      AND ($3::text IS NULL OR s.status = $3)
      AND ($4::boolean IS NULL OR (${processingInSql}) = $4)
      AND ($5::timestamptz IS NULL OR s.created_at >= $5)
      AND ($6::timestamptz IS NULL OR s.created_at < $6)
      AND ($7::uuid IS NULL OR s.id < $7)
    ORDER BY s.id DESC LIMIT $8`,
};

/**
 * Lists a merchant's sessions, newest first, 1 to 100 on a page (20 by default), with those in `others`: the cells that
 * the merchant has left. Throws `invalid_parameter` for a page token that does not belong to this list.
 */
export async function listSessions(
  core: Pick<Core, "pageTokenKey" | "runtime"> & { readonly database: Queryable },
  options: {
    merchantId: string;
    filters: SessionFilters;
    pageSize?: number | undefined;
    pageToken?: string | undefined;
  },
  others: readonly Queryable[] = [],
): Promise<{ sessions: PaymentSession[]; nextPageToken?: string }> {
  const { filters, merchantId } = options;
  const pageSize = options.pageSize ?? pageSizeDefault;
  const scope = JSON.stringify([merchantId, filters]);
  const now = core.runtime.now();
  // An empty token names the first page, as in every list of an RPC.
  const token = options.pageToken || undefined;
  const after = token && verifyPageToken(core.pageTokenKey, { scope, token, now });
  const values = [
    merchantId,
    filters.orderRef ?? null,
    filters.status ?? null,
    filters.processing ?? null,
    filters.createdAfter ?? null,
    filters.createdBefore ?? null,
    after ?? null,
    pageSize + 1,
  ];
  const found = await Promise.all(
    [core.database, ...others].map((database) => database.query<PaymentSession>(selectPage, values)),
  );
  const rows = others.length === 0 ? found[0]! : found.flat().toSorted((one, other) => (one.id < other.id ? 1 : -1));
  const sessions = rows.slice(0, pageSize);
  const last = sessions.at(-1);
  if (rows.length <= pageSize || last === undefined) return { sessions };
  return { sessions, nextPageToken: signPageToken(core.pageTokenKey, { scope, lastId: last.id, now }) };
}
