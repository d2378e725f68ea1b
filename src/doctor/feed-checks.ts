/** Checks that the disputes and the statements of accounts are read. */
import type { Queryable } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { type Finding, namedMax, problem, warning } from "./finding.ts";

// An account that could not be read is tried again as often as it is read: disputes every ten minutes, statements every hour.
const selectFeeds = {
  name: "examine_feeds",
  text: `
    SELECT f.connection_id AS "connectionId", c.gateway, f.blocked_reason AS reason, f.read_at IS NOT NULL AS "isRead",
      f.blocked_reason IS NULL AND coalesce(f.read_at, '-infinity') < (SELECT app.clock()) - $2 * interval '1 hour'
        AND f.next_read_at < (SELECT app.clock()) - interval '1 hour' AS late
    FROM gateway_feed f JOIN connection c ON c.id = f.connection_id WHERE f.kind = $1 ORDER BY f.blocked_at, f.connection_id`,
};

type Feed = { connectionId: string; gateway: string; reason: string | null; isRead: boolean; late: boolean };

/** Returns findings on the feeds of a kind, the number of accounts that have one, and of those that were read. `what` names what they read. */
export async function examineFeeds(
  database: Queryable,
  { kind, what, lateHours, area }: { kind: "disputes" | "settlement"; what: string; lateHours: number; area: string },
): Promise<{ readonly found: readonly Finding[]; readonly feeds: number; readonly read: number }> {
  const feeds = await database.query<Feed>(selectFeeds, [kind, lateHours]);
  const late = feeds.filter((feed) => feed.late).length;
  const refused = feeds
    .filter(({ reason }) => reason !== null)
    .slice(0, namedMax)
    .map(({ connectionId, gateway, reason }) =>
      warning(
        area,
        `${gateway} does not let the ${what} of ${encodeId("gc", connectionId)} be read: ${reason}`,
        `give its credentials the right to read ${what} (the page of the gateway says how); it is tried again once a day, and at once with new credentials`,
      ),
    );
  const hours = lateHours === 1 ? "an hour" : `${lateHours} hours`;
  const behind = problem(
    area,
    `the ${what} of ${late} account(s) have not been read for more than ${hours}`,
    "start a worker; if one runs, its log says why its gateway-feeds loop does not read them",
  );
  const read = feeds.filter(({ isRead }) => isRead).length;
  return { found: late > 0 ? [...refused, behind] : refused, feeds: feeds.length, read };
}
