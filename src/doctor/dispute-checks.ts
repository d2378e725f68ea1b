/** Checks that the disputes of accounts are read, and that answers to disputes reach their gateways. */
import type { Queryable } from "../platform/database.ts";
import { examineFeeds } from "./feed-checks.ts";
import { type Finding, ok, problem } from "./finding.ts";

const selectUnanswered = {
  name: "examine_dispute_responses",
  text: `SELECT count(*)::int AS count FROM dispute_response
         WHERE status = 'REQUESTED' AND created_at < (SELECT app.clock()) - interval '1 hour'`,
};

/** Returns findings on an environment's disputes; none if no account's disputes are read, and none was answered. */
export async function examineDisputes(environment: "test" | "live", database: Queryable): Promise<readonly Finding[]> {
  const area = `disputes ${environment}`;
  const { found, feeds } = await examineFeeds(database, { kind: "disputes", what: "disputes", lateHours: 1, area });
  const [{ count = 0 } = {}] = await database.query<{ count: number }>(selectUnanswered, []);
  if (count > 0) {
    const waiting = problem(
      area,
      `${count} answer(s) to disputes have had no answer of the gateway for more than an hour`,
      "look at the work queue (RESPONSE_UNANSWERED), and check at the gateway before the deadline whether they arrived",
    );
    return [...found, waiting];
  }
  if (found.length > 0 || feeds === 0) return found;
  return [ok(area, `the disputes of ${feeds} account(s) are read, and no answer to one waits`)];
}
