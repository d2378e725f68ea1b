/** Checks that the disputes of accounts are read, and that answers to disputes reach their gateways. */
import type { Queryable } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { type Finding, namedMax, ok, problem, warning } from "./finding.ts";

// An account is read every ten minutes; one of which a page could not be read is tried again as often.
const selectFeeds = {
  name: "examine_dispute_feeds",
  text: `
    SELECT f.connection_id AS "connectionId", c.gateway, f.blocked_reason AS reason,
      f.blocked_reason IS NULL AND coalesce(f.read_at, '-infinity') < (SELECT app.clock()) - interval '1 hour'
        AND f.next_read_at < (SELECT app.clock()) - interval '1 hour' AS late
    FROM gateway_feed f JOIN connection c ON c.id = f.connection_id WHERE f.kind = 'disputes' ORDER BY f.blocked_at, f.connection_id`,
};
const selectUnanswered = {
  name: "examine_dispute_responses",
  text: `SELECT count(*)::int AS count FROM dispute_response
         WHERE status = 'REQUESTED' AND created_at < (SELECT app.clock()) - interval '1 hour'`,
};

/** Returns findings on an environment's disputes; none where no account's disputes are read, and none was answered. */
export async function examineDisputes(environment: "test" | "live", database: Queryable): Promise<Finding[]> {
  type Feed = { connectionId: string; gateway: string; reason: string | null; late: boolean };
  const feeds = await database.query<Feed>(selectFeeds, []);
  const [{ count = 0 } = {}] = await database.query<{ count: number }>(selectUnanswered, []);
  const area = `disputes ${environment}`;
  const late = feeds.filter(({ late }) => late);
  const found = [
    ...feeds
      .filter(({ reason }) => reason !== null)
      .slice(0, namedMax)
      .map(({ connectionId, gateway, reason }) =>
        warning(
          area,
          `${gateway} does not let the disputes of ${encodeId("gc", connectionId)} be read: ${reason}`,
          "give its credentials the right to read disputes (the page of the gateway says how); it is tried again once a day, and at once with new credentials",
        ),
      ),
    ...(late.length === 0
      ? []
      : [
          problem(
            area,
            `the disputes of ${late.length} account(s) have not been read for more than an hour`,
            "start a worker; if one runs, its log says why its gateway-feeds loop does not read them",
          ),
        ]),
    ...(count === 0
      ? []
      : [
          problem(
            area,
            `${count} answer(s) to disputes have had no answer of the gateway for more than an hour`,
            "look at the work queue (RESPONSE_UNANSWERED), and check at the gateway before the deadline whether they arrived",
          ),
        ]),
  ];
  if (found.length > 0 || feeds.length === 0) return found;
  return [ok(area, `the disputes of ${feeds.length} account(s) are read, and no answer to one waits`)];
}
