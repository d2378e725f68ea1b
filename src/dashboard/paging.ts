/** Pages of a list in an environment: signed page tokens, rows, and the filters that lists of money share. */
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type PageTokenKeys, signPageToken, verifyPageToken } from "../core/page-token.ts";
import { pageSizeDefault } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import type { MoneyFilter, WalkedPage } from "../reporting/list-walk.ts";
import type { Scope } from "./rpc-context.ts";

export type PageRequest = { readonly pageSize?: number | undefined; readonly pageToken: string };

/**
 * Loads one page. `list` names the list with its filters: a token of another list is refused as `invalid_parameter`.
 * `load` receives a limit of one row more than is shown, which reports whether there is a next page.
 */
export async function loadPage<Row extends { readonly id: string }>(
  request: PageRequest,
  about: { list: readonly unknown[]; key: PageTokenKeys; now: Date },
  load: (page: { after: string | undefined; count: number }) => Promise<readonly Row[]>,
): Promise<{ rows: readonly Row[]; nextPageToken: string }> {
  const { key, now } = about;
  const scope = JSON.stringify(about.list);
  const pageSize = request.pageSize ?? pageSizeDefault;
  const token = request.pageToken;
  const after = token === "" ? undefined : verifyPageToken(key, { scope, token, now });
  const found = await load({ after, count: pageSize + 1 });
  const rows = found.slice(0, pageSize);
  const last = rows.at(-1);
  const isLast = found.length <= pageSize || last === undefined;
  return { rows, nextPageToken: isLast ? "" : signPageToken(key, { scope, lastId: last.id, now }) };
}

// Rows of one call of an export: a quarter of a megabyte.
const exportRows = 1_000;

/** A page of a list, or of its export, which continues with its own tokens only: one of the list would leave no audit row. */
type WantedPage = {
  readonly list: "payments" | "payments export" | "refunds" | "refunds export";
  readonly pageSize?: number | undefined;
  readonly pageToken: string;
};

/** Loads one page of a list of money. `load` receives the position that the page begins after. */
export async function loadWalkedPage<Row>(
  { merchantId, environment }: Scope,
  { list, pageSize, pageToken, filter, now }: WantedPage & { readonly filter: MoneyFilter; readonly now: Date },
  load: (page: { after: string | undefined; count: number }) => Promise<WalkedPage<Row>>,
) {
  const key = environment.core.pageTokenKey;
  const scope = JSON.stringify([list, merchantId, filter]);
  const after = pageToken === "" ? undefined : verifyPageToken(key, { scope, token: pageToken, now });
  const count = list.endsWith("export") ? exportRows : (pageSize ?? pageSizeDefault);
  const { rows, lastPosition: lastId, searchedBackTo } = await load({ after, count });
  return {
    rows,
    nextPageToken: lastId === undefined ? "" : signPageToken(key, { scope, lastId, now }),
    ...(searchedBackTo && { searchedBackTo: timestampFromDate(searchedBackTo) }),
  };
}

type MoneyFilterMessage = {
  readonly amountFrom?: bigint | undefined;
  readonly amountTo?: bigint | undefined;
  readonly currency: string;
  readonly createdAfter?: Timestamp | undefined;
  readonly createdBefore?: Timestamp | undefined;
};

/** Returns the shared filters. Throws `invalid_parameter` for an empty range or an invalid time. */
export function moneyFilterOf({ amountFrom, amountTo, currency, ...times }: MoneyFilterMessage): MoneyFilter {
  const createdAfter = momentOf("filter.createdAfter", times.createdAfter);
  const createdBefore = momentOf("filter.createdBefore", times.createdBefore);
  if (amountFrom !== undefined && amountTo !== undefined && amountFrom > amountTo)
    throw new DomainError("invalid_parameter", "filter.amountTo is less than amountFrom.", {
      field: "filter.amountTo",
    });
  return {
    amountFrom: amountFrom === undefined ? undefined : Number(amountFrom),
    amountTo: amountTo === undefined ? undefined : Number(amountTo),
    currency: currency || undefined,
    createdAfter,
    createdBefore,
  };
}

// The range of both PostgreSQL and RFC 3339, with room for the bounds around it.
const [earliestMs, latestMs] = [Date.UTC(1970, 0), Date.UTC(9990, 0)];

/** Returns a time that can be queried. */
export function momentOf(field: string, timestamp: Timestamp | undefined): Date | undefined {
  if (timestamp === undefined) return undefined;
  const ms = Number(timestamp.seconds) * 1000;
  if (ms >= earliestMs && ms <= latestMs) return timestampDate(timestamp);
  throw new DomainError("invalid_parameter", `${field} must lie between the years 1970 and 9990.`, { field });
}
