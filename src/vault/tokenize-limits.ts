/** Counts tokenize calls per session, address and merchant in the database, shared by all copies of the vault. */
import type { Database, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EnvironmentName } from "../platform/service-token.ts";
import { callsPerAddress, callsPerMerchant, callsPerSession, countWindowMs } from "./vault-limits.ts";

/** The caller's session, address and merchant, which are counted separately. */
export type TokenizeCaller = {
  readonly environment: EnvironmentName;
  readonly session: string;
  readonly address: string;
  readonly profile: string;
};

// A call counts against the merchant only if its session and its address may make it: otherwise a single open checkout
// could lock out all of the merchant's customers. Always session, address, merchant: row locks have one order, so no
// two calls deadlock; `bool_or` reads all rows of `caller`, and so writes them, before the merchant's.
const countStatement: Statement = {
  name: "vault_count_call",
  text: `WITH this_window AS MATERIALIZED (
      SELECT date_bin($5::int * interval '1 ms', clock_timestamp(), 'epoch') + $5::int * interval '1 ms' AS ends),
    caller AS (
      INSERT INTO tokenize_count AS known (environment, counted_by, subject, window_ends, calls)
      SELECT $1, counted_by, subject, ends, 1
      FROM this_window, (VALUES (1, 'session', $2), (2, 'address', $3)) AS caller (place, counted_by, subject) ORDER BY place
      ON CONFLICT (environment, counted_by, subject, window_ends) DO UPDATE SET calls = known.calls + 1
      RETURNING calls > CASE counted_by WHEN 'session' THEN $6::int ELSE $7::int END AS too_many),
    merchant AS (
      INSERT INTO tokenize_count AS known (environment, counted_by, subject, window_ends, calls)
      SELECT $1, 'merchant', $4, ends, 1 FROM this_window WHERE (SELECT NOT bool_or(too_many) FROM caller)
      ON CONFLICT (environment, counted_by, subject, window_ends) DO UPDATE SET calls = known.calls + 1
      RETURNING calls > $8::int AS too_many)
    SELECT too_many FROM caller UNION ALL SELECT too_many FROM merchant`,
};

/** Counts one call; throws `rate_limited` if its session, address or merchant made too many in this window. */
export async function countTokenizeCall(database: Database, caller: TokenizeCaller): Promise<void> {
  const counts = await database.query<{ too_many: boolean }>(countStatement, [
    caller.environment,
    caller.session,
    caller.address,
    caller.profile,
    countWindowMs,
    callsPerSession,
    callsPerAddress,
    callsPerMerchant,
  ]);
  if (counts.some(({ too_many }) => too_many)) {
    throw new DomainError("rate_limited", "Too many cards were entered. Wait a minute, then try again.");
  }
}
