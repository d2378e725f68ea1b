/** Lists a merchant's sessions over the API, newest first, in one cell or over several. */

import { type PageTokenKeys, signPageToken, verifyPageToken } from "../core/page-token.ts";
import { type PaymentSession, PaymentSessionEntity } from "../core/rows/entities.ts";
import { pageSizeDefault } from "../limits.ts";
import { columnsOf } from "../platform/columns.ts";
import type { Queryable } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import type { PaymentFilter } from "./payment-filter.ts";
import { walkPayments } from "./payment-list.ts";

type SessionFilters = Pick<
  PaymentFilter,
  "status" | "processing" | "customerEmail" | "createdAfter" | "createdBefore" | "isSetUp" | "wallet"
> & {
  readonly orderRef?: string | undefined;
};

/** The wanted page: 1 to 100 sessions, 20 by default. */
type Wanted = {
  readonly merchantId: MerchantId;
  readonly filters: SessionFilters;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
  readonly keys: PageTokenKeys;
  readonly now: Date;
};

/** A page. It may hold fewer sessions than requested, or none, although the list continues. */
export type SessionPage = { readonly sessions: readonly PaymentSession[]; readonly nextPageToken?: string };

const sessionColumns = columnsOf(PaymentSessionEntity, "s");

/**
 * Returns the next page over all databases that have sessions of the merchant. Each checks a bounded number of its
 * sessions. Throws `invalid_parameter` for a page token that does not belong to this list.
 */
export async function listSessions(
  databases: readonly Queryable[],
  { merchantId, filters, pageSize: count = pageSizeDefault, pageToken, keys, now }: Wanted,
): Promise<SessionPage> {
  const scope = JSON.stringify([merchantId, filters]);
  // An empty token names the first page, as in every list of an RPC.
  const after = pageToken ? verifyPageToken(keys, { scope, token: pageToken, now }) : undefined;
  const { orderRef, ...others } = filters;
  const filter = { ...others, orderRef: orderRef === undefined ? undefined : { text: orderRef, isPrefix: false } };
  const wanted = { merchantId, filter, after, count };
  const pages = await Promise.all(
    databases.map((database) => walkPayments<PaymentSession>(database, sessionColumns, wanted)),
  );
  // Past the end of one database's page, that database may have a newer session.
  const end = pages.reduce<string>(
    (highest, { lastPosition = "" }) => (lastPosition > highest ? lastPosition : highest),
    "",
  );
  const known = pages.flatMap(({ rows }) => rows).filter(({ id }) => id >= end);
  const sessions = known.toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, count);
  const lastId = known.length > count ? sessions.at(-1)!.id : end;
  return { sessions, ...(lastId !== "" && { nextPageToken: signPageToken(keys, { scope, lastId, now }) }) };
}
