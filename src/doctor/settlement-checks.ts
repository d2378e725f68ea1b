/** Checks that the statements of accounts are read. */
import type { Queryable } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { type Finding, namedMax, ok, problem, warning } from "./finding.ts";

// An account is read every hour; one whose lists could not be read is tried again as often.
const selectFeeds = {
  name: "examine_statement_feeds",
  text: `
    SELECT f.connection_id AS "connectionId", c.gateway, f.blocked_reason AS reason,
      f.blocked_reason IS NULL AND coalesce(f.read_at, '-infinity') < (SELECT app.clock()) - interval '4 hours'
        AND f.next_read_at < (SELECT app.clock()) - interval '1 hour' AS late, f.read_at IS NOT NULL AS read
    FROM gateway_feed f JOIN connection c ON c.id = f.connection_id WHERE f.kind = 'settlement' ORDER BY f.blocked_at, f.connection_id`,
};

/** Returns findings on an environment's settlement; none where no account's statements are read. */
export async function examineSettlement(environment: "test" | "live", database: Queryable): Promise<Finding[]> {
  type Feed = { connectionId: string; gateway: string; reason: string | null; late: boolean; read: boolean };
  const feeds = await database.query<Feed>(selectFeeds, []);
  const area = `settlement ${environment}`;
  const late = feeds.filter((feed) => feed.late);
  const found = [
    ...feeds
      .filter(({ reason }) => reason !== null)
      .slice(0, namedMax)
      .map(({ connectionId, gateway, reason }) =>
        warning(
          area,
          `${gateway} does not let the payouts of ${encodeId("gc", connectionId)} be read: ${reason}`,
          "give its credentials the right to read payouts (the page of the gateway says how); it is tried again once a day, and at once with new credentials",
        ),
      ),
    ...(late.length === 0
      ? []
      : [
          problem(
            area,
            `the payouts of ${late.length} account(s) have not been read for more than four hours`,
            "start a worker; if one runs, its log says why its gateway-feeds loop does not read them",
          ),
        ]),
  ];
  // An account at Adyen without credentials for reports is not read, and need not be.
  const read = feeds.filter((feed) => feed.read).length;
  return found.length > 0 || read === 0 ? found : [ok(area, `the payouts of ${read} account(s) are read`)];
}
