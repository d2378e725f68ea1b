/** Brings one database to the newest schema, as its owner, and gives the runtime role what it needs and no more. */
import { type Constructor, MikroORM } from "@mikro-orm/core";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import { escapeIdentifier } from "pg";
import * as accounts from "./accounts/migration-001-accounts.ts";
import * as members from "./accounts/migration-002-members.ts";
import * as signInProofs from "./accounts/migration-003-sign-in-proofs.ts";
import * as payment from "./environment/migration-001-payment.ts";
import * as configuration from "./environment/migration-002-configuration.ts";
import * as events from "./environment/migration-003-events.ts";
import * as recovery from "./environment/migration-004-recovery.ts";
import * as pinned from "./environment/migration-005-pinned-records.ts";
import * as attemptById from "./environment/migration-006-attempt-by-id.ts";
import * as requestLimits from "./environment/migration-007-request-limits.ts";
import * as workList from "./environment/migration-008-work-list.ts";
import * as webhookEndpoints from "./environment/migration-009-webhook-endpoints.ts";
import * as endpointNotices from "./environment/migration-010-endpoint-notices.ts";
import * as vaultSessions from "./environment/migration-011-vault-sessions.ts";
import * as namedByLookUp from "./environment/migration-012-named-by-look-up.ts";
import * as gatewayUpkeep from "./environment/migration-013-gateway-upkeep.ts";
import * as paymentSearch from "./environment/migration-014-payment-search.ts";
import * as ruleAuthors from "./environment/migration-015-rule-authors.ts";
import * as analytics from "./environment/migration-016-analytics.ts";
import * as noticeCredential from "./environment/migration-017-notice-credential.ts";
import * as cards from "./vault/migration-001-cards.ts";
import * as sessionCounts from "./vault/migration-002-session-counts.ts";

/** The kinds of database: one `environment` each for test and live, `accounts` for both, `vault` for cards being paid. */
export type DatabaseKind = "environment" | "accounts" | "vault";

type SqlFile = { readonly name: string; readonly sql: string };

const migrations: Record<DatabaseKind, readonly SqlFile[]> = {
  environment: [
    payment,
    configuration,
    events,
    recovery,
    pinned,
    attemptById,
    requestLimits,
    workList,
    webhookEndpoints,
    endpointNotices,
    vaultSessions,
    namedByLookUp,
    gatewayUpkeep,
    paymentSearch,
    ruleAuthors,
    analytics,
    noticeCredential,
  ],
  accounts: [accounts, members, signInProofs],
  vault: [cards, sessionCounts],
};

// Everything else is kept: a session, an attempt or an event is never deleted by the service. The vault keeps nothing.
const deletable: Record<DatabaseKind, readonly string[]> = {
  environment: ["idempotency", "comparison_slice", "vault_session"],
  accounts: ["membership", "passkey", "passkey_challenge", "sign_in_failures"],
  vault: ["card", "card_session", "tokenize_count"],
};

/**
 * Applies the missing migrations of `kind`, each in its own transaction, and returns their names.
 * `ownerUrl` connects as the owner of the database; `runtimeRole` exists already, does not own anything and so
 * cannot drop a guard. Two concurrent runs wait for each other.
 */
export async function migrate(options: {
  ownerUrl: string;
  kind: DatabaseKind;
  runtimeRole: string;
}): Promise<string[]> {
  const orm = await MikroORM.init({
    driver: PostgreSqlDriver,
    clientUrl: options.ownerUrl,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    migrations: {
      tableName: "migration",
      snapshot: false,
      silent: true,
      migrationsList: migrations[options.kind].map((file) => ({ name: file.name, class: migrationOf(file.sql) })),
    },
  });
  const connection = orm.em.getConnection();
  const role = escapeIdentifier(options.runtimeRole);
  try {
    await connection.execute(
      `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE ON TABLES TO ${role}`,
    );
    const applied = await orm.migrator.up();
    for (const table of deletable[options.kind]) await connection.execute(`GRANT DELETE ON ${table} TO ${role}`);
    await connection.execute(`REVOKE ALL ON migration FROM ${role}`);
    return applied.map((migration) => migration.name);
  } finally {
    await orm.close();
  }
}

function migrationOf(sql: string): Constructor<Migration> {
  return class extends Migration {
    override up(): void {
      this.addSql(sql);
    }
  };
}
