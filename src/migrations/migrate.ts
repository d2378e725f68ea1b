/** Brings one database to the newest schema, as its owner, and gives the runtime role what it needs and no more. */
import { setTimeout as pause } from "node:timers/promises";
import { type Constructor, MikroORM } from "@mikro-orm/core";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import { escapeIdentifier } from "pg";
import { databaseTls } from "../platform/database-address.ts";
import { limitSessionsOf } from "../platform/session-limits.ts";
import { inTurn } from "./migrate-turn.ts";
import { beforeBaselineError, isBeforeBaseline, requireServerVersion, SchemaError } from "./schema-error.ts";
import { type DatabaseKind, type SqlFile, schemaHistory } from "./schema-history.ts";

const second = 1_000;

// Longest wait of a migration for a table: all later statements wait behind it, so payments have to survive it
// (statements wait for 5 s) and customers should hardly notice it.
const migrationLockWaitMs = second;
// Pause between two attempts, in which the statements that waited behind the first one continue.
const migrationPauseMs = second;
// Attempts for one lock: within a minute a payment's transaction is long over, so a person or a report holds the table.
const migrationLockTries = 30;

// The service never deletes a session, an attempt or an event. Triggers keep young rows of the audit trail and open
// orphaned authorizations. The vault deletes every card in the end.
const deletable: Record<DatabaseKind, readonly string[]> = {
  environment: [
    ...["idempotency", "reconciliation_slice", "vault_session", "reconciliation_run", "gateway_notification", "alert"],
    ...[
      "event_todo",
      "card_submission",
      "blocklist_entry",
      "tested_payment",
      "tested_cards",
      "braking",
      "braking_hold",
    ],
    ...["audit_entry", "analytics_payment", "analytics_attempt", "analytics_decline"],
    ...["analytics_authentication", "analytics_card", "analytics_arm", "analytics_arm_cost", "analytics_renewal"],
    "analytics_wallet",
    "analytics_cost",
  ],
  accounts: [
    ...["membership", "passkey", "passkey_challenge", "sign_in_failures", "member_action"],
    ...["identity", "logout_token"],
    ...["sign_in", "invitation", "password_reset", "audit_entry"],
  ],
  vault: ["card", "card_session", "vault_copy", "stored_card", "erased_card", "wallet_key", "wallet_seen"],
};

/**
 * Applies the missing migrations of `kind`, each in its own transaction, and returns their names. `ownerUrl` connects as
 * the owner of the database, past any pooler; `runtimeRole` exists already and owns nothing, so it cannot drop a guard.
 * Concurrent runs wait for each other. A migration waits for a table only briefly, so that no traffic queues behind it,
 * and is then repeated. Throws SchemaError when the repeats do not help.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  return inTurn(options, () => bringUp(options));
}

/** The database, and the role that will use it. */
export type MigrateOptions = {
  ownerUrl: string;
  kind: DatabaseKind;
  runtimeRole: string;
  /** Receives a sentence about each wait. */
  report?: (line: string) => void;
  /** Other files than the product's own: for tests. */
  files?: readonly SqlFile[];
};

async function bringUp(options: MigrateOptions): Promise<string[]> {
  const { kind, files = schemaHistory[kind] } = options;
  const orm = await openMigrator(options.ownerUrl, files);
  const connection = orm.em.getConnection();
  const role = escapeIdentifier(options.runtimeRole);
  try {
    const [version] = await connection.execute("SELECT current_setting('server_version_num')::int AS number");
    requireServerVersion(version.number);
    if (files === schemaHistory[kind]) await refuseEarlierSchema(connection);
    await connection.execute(
      `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE ON TABLES TO ${role}`,
    );
    // Functions that run as their owner are for the service alone.
    await connection.execute("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC");
    await connection.execute(`ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO ${role}`);
    const applied = await applyMissing(orm, options.report);
    if (files === schemaHistory[kind]) {
      for (const table of deletable[kind]) await connection.execute(`GRANT DELETE ON ${table} TO ${role}`);
      if (kind === "environment") for (const statement of ofPayments(role)) await connection.execute(statement);
    }
    await connection.execute(`REVOKE ALL ON migration FROM ${role}`);
    await reportApplied(connection, role);
    await limitSessions(connection, role);
    if (kind === "environment") await connection.execute(planOnce);
    return applied;
  } finally {
    await orm.close();
  }
}

/** Throws if the database has migrations from before the baseline, which cannot be continued. */
async function refuseEarlierSchema(connection: ReturnType<MikroORM["em"]["getConnection"]>): Promise<void> {
  const [found] = await connection.execute("SELECT to_regclass('migration') AS table");
  if (found.table === null) return;
  const applied: { name: string }[] = await connection.execute("SELECT name FROM migration");
  if (isBeforeBaseline(applied.map(({ name }) => name))) throw beforeBaselineError("This database");
}

function openMigrator(ownerUrl: string, files: readonly SqlFile[]): Promise<MikroORM> {
  return MikroORM.init({
    driver: PostgreSqlDriver,
    clientUrl: ownerUrl,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    // A single connection applies a migration's settings to its following statements.
    pool: { min: 0, max: 1 },
    driverOptions: { ...databaseTls(ownerUrl), lock_timeout: migrationLockWaitMs },
    migrations: {
      tableName: "migration",
      snapshot: false,
      silent: true,
      // Each separately, so one that has to wait does not hold the locks of earlier ones.
      allOrNothing: false,
      migrationsList: files.map((file) => ({ name: file.name, class: migrationOf(file) })),
    },
  });
}

// PostgreSQL's "lock_not_available" (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const lockNotAvailable = "55P03";

async function applyMissing(orm: MikroORM, report: MigrateOptions["report"]): Promise<string[]> {
  const missing = (await orm.migrator.getPending()).map(({ name }) => name);
  for (let tries = 1; ; tries++) {
    try {
      await orm.migrator.up();
      return missing;
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable) throw error;
      if (tries === migrationLockTries) throw new SchemaError(heldUp(error as Error));
      if (tries === 1)
        report?.("A transaction holds a lock on a table that the migration changes. Retrying for up to a minute.");
      await pause(migrationPauseMs);
    }
  }
}

const heldUp = ({ message }: Error) =>
  "A migration could not lock its table in thirty attempts of a second each. Earlier migrations stay applied. A " +
  "transaction was open the whole time: find it with SELECT pid, usename, xact_start FROM pg_stat_activity ORDER BY " +
  `xact_start, let it end or end it with pg_terminate_backend(pid), then run this again. PostgreSQL reports: ${message}`;

/** Lets the runtime role read the applied migrations, as each process does when it starts, and not write them. */
async function reportApplied(connection: ReturnType<MikroORM["em"]["getConnection"]>, role: string): Promise<void> {
  const [found] = await connection.execute("SELECT to_regclass('applied_migration') AS view");
  // The view is not replaced: that would wait for every reader, and a backup reads for hours.
  if (found.view === null) await connection.execute("CREATE VIEW applied_migration AS SELECT name FROM migration");
  await connection.execute(`REVOKE ALL ON applied_migration FROM ${role}`);
  await connection.execute(`GRANT SELECT ON applied_migration TO ${role}`);
}

// A generic plan picks the partition when it runs, in 0.1 ms; planning each time costs 0.4 ms. Set on every run, because
// pg_dump does not write it.
const planOnce = `DO $$ BEGIN
  EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_generic_plan', current_database()); END $$`;

// The tables that only functions write (src/migrations/environment/); the service only reads them.
const writtenByFunctions = [
  ...[
    "payment_session",
    "attempt",
    "authentication",
    "refund",
    "dispute",
    "dispute_movement",
    "dispute_response",
    "orphaned_authorization",
  ],
  ...[
    "stored_payment",
    "payment_method",
    "card_erasure",
    "agreement",
    "renewal",
    "renewal_try",
    "recovery_link",
    "card_state",
    "card_decline",
  ],
];

/** Takes the writes of payments from the runtime role, and lets it name a partition with the privileges of its whole table. */
function ofPayments(role: string): string[] {
  return [
    `REVOKE INSERT, UPDATE, DELETE ON ${writtenByFunctions.join(", ")} FROM ${role}`,
    `GRANT USAGE ON SCHEMA partitions TO ${role}`,
    "SELECT app.grant_as_whole(kind, '_rest') FROM app.retention",
    "SELECT app.grant_as_whole(kind, suffix) FROM app.partition_sets",
  ];
}

// PostgreSQL's "insufficient_privilege" (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const insufficientPrivilege = "42501";

/**
 * Limits the role's sessions. A role that this owner does not administer stays unchanged: a service behind a pooler
 * reports the missing limits when it starts.
 */
async function limitSessions(connection: ReturnType<MikroORM["em"]["getConnection"]>, role: string): Promise<void> {
  try {
    for (const statement of limitSessionsOf(role)) await connection.execute(statement);
  } catch (error) {
    if ((error as { code?: unknown }).code !== insufficientPrivilege) throw error;
  }
}

function migrationOf(file: SqlFile): Constructor<Migration> {
  if (!("outsideTransaction" in file)) {
    return class extends Migration {
      override up(): void {
        this.addSql(file.sql);
      }
    };
  }
  return class extends Migration {
    override isTransactional(): boolean {
      return false;
    }

    override up(): void {
      // It locks no table, but waits until every earlier transaction has ended.
      this.addSql("SET lock_timeout = 0");
      for (const statement of file.sql) this.addSql(statement);
      this.addSql(`SET lock_timeout = ${migrationLockWaitMs}`);
    }
  };
}
