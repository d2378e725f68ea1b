/** Checks that the statements of accounts are read. */
import type { Queryable } from "../platform/database.ts";
import { examineFeeds } from "./feed-checks.ts";
import { type Finding, ok } from "./finding.ts";

/** Returns findings on an environment's settlement; none if no account's statements are read. */
export async function examineSettlement(
  environment: "test" | "live",
  database: Queryable,
): Promise<readonly Finding[]> {
  const area = `settlement ${environment}`;
  const { found, read } = await examineFeeds(database, { kind: "settlement", what: "payouts", lateHours: 4, area });
  // An account at Adyen without credentials for reports is not read, and need not be.
  return found.length > 0 || read === 0 ? found : [ok(area, `the payouts of ${read} account(s) are read`)];
}
