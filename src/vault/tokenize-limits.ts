/** Counts tokenize calls per address and per merchant in the database, so that all copies of the vault count together. */
import type { Database, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EnvironmentName } from "../platform/service-token.ts";
import { callsPerAddress, callsPerMerchant, countWindowMs } from "./vault-limits.ts";

/** Who asks for a token: what is counted together. */
export type TokenizeCaller = {
  readonly environment: EnvironmentName;
  readonly address: string;
  readonly profile: string;
};

// Always address before merchant: one order of row locks, so no two calls wait for each other.
const countStatement: Statement = {
  name: "vault_count_call",
  text: `INSERT INTO tokenize_count AS known (environment, counted_by, subject, window_ends, calls)
    SELECT $1, counted_by, subject, date_bin($4::int * interval '1 ms', clock_timestamp(), 'epoch') + $4::int * interval '1 ms', 1
    FROM (VALUES ('address', $2), ('merchant', $3)) AS caller (counted_by, subject)
    ON CONFLICT (environment, counted_by, subject, window_ends) DO UPDATE SET calls = known.calls + 1
    RETURNING counted_by, calls`,
};

const callsMax = { address: callsPerAddress, merchant: callsPerMerchant };

/** Counts one call; throws `rate_limited` when its address or its merchant made too many in this window. */
export async function countTokenizeCall(database: Database, caller: TokenizeCaller): Promise<void> {
  const counts = await database.query<{ counted_by: keyof typeof callsMax; calls: number }>(countStatement, [
    caller.environment,
    caller.address,
    caller.profile,
    countWindowMs,
  ]);
  if (counts.some(({ counted_by, calls }) => calls > callsMax[counted_by])) {
    throw new DomainError("rate_limited", "Too many cards were entered. Wait a minute, then try again.");
  }
}
