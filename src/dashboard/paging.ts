/** Pages of a list in an environment: signed page tokens and rows. */
import { type PageTokenKeys, signPageToken, verifyPageToken } from "../core/page-token.ts";
import { pageSizeDefault } from "../limits.ts";

/** The page that a request asks for. */
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
