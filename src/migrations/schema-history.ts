/** Every migration of every kind of database, in the order in which they are applied. */
import { readFileSync } from "node:fs";
import { baselineName } from "./schema-error.ts";

/** The kinds of database: `environment` for test and for live, `accounts` for both, `vault` for cards. */
export type DatabaseKind = "environment" | "accounts" | "vault";

/**
 * A migration, applied in a separate transaction. `outsideTransaction` is for statements that PostgreSQL refuses in a
 * transaction, such as CREATE INDEX CONCURRENTLY: `sql` then has one statement per element, and repeating them all must
 * be harmless.
 */
export type SqlFile =
  | { readonly name: string; readonly sql: string }
  | { readonly name: string; readonly sql: readonly string[]; readonly outsideTransaction: true };

/** Returns the schema of an empty database, with one file for each subject, in the order of their dependencies. */
function baseline(kind: DatabaseKind, subjects: readonly string[]): SqlFile {
  const read = (subject: string) => readFileSync(new URL(`./${kind}/${subject}.sql`, import.meta.url), "utf8");
  return { name: baselineName, sql: subjects.map(read).join("\n") };
}

/** The migrations from an empty database to the newest schema. Each addition is a new migration after the baseline. */
export const schemaHistory: Record<DatabaseKind, readonly SqlFile[]> = {
  environment: [
    baseline("environment", [
      ...[
        "base",
        "payment",
        "authentication",
        "refund",
        "dispute",
        "stored-cards",
        "wallets",
        "configuration",
        "notifications",
        "settlement",
        "events",
        "endpoints",
        "alerts",
        "deliveries",
      ],
      ...["oversight", "request-limits", "card-testing", "blocklist", "analytics", "ledger", "restore", "orders"],
      ...[
        "payment-guards",
        "authentication-guards",
        "refund-guards",
        "dispute-guards",
        "settlement-guards",
        "hold-guards",
        "decision-guards",
        "oversight-guards",
        "restore-guards",
        "stored-card-guards",
        "renewal-guards",
        "wallet-guards",
        "audit",
        "payment-functions",
        "partitions",
        "session-functions",
        "attempt-functions",
        "authentication-functions",
        "refund-functions",
        "dispute-functions",
        "stored-card-functions",
        "renewal-functions",
        "recovery-links",
        "stored-card-oversight",
        "months",
      ],
    ]),
  ],
  accounts: [baseline("accounts", ["merchants", "members", "sign-in", "audit"])],
  vault: [baseline("vault", ["cards", "stored-cards", "wallets"])],
};
