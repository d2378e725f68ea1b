/** Brings one database to the newest schema, as its owner, and gives the runtime role what it needs and no more. */
import { setTimeout as pause } from "node:timers/promises";
import { type Constructor, MikroORM } from "@mikro-orm/core";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import { escapeIdentifier } from "pg";
import { migrationLockTries, migrationLockWaitMs, migrationPauseMs } from "../limits/migrations.ts";
import { databaseTls } from "../platform/database-address.ts";
import { limitSessionsOf } from "../platform/session-limits.ts";
import { inTurn } from "./migrate-turn.ts";
import { SchemaError } from "./schema-error.ts";
import { type DatabaseKind, type SqlFile, schemaHistory } from "./schema-history.ts";

// A session, an attempt or an event is never deleted by the service, and of the audit trail and stray holds a trigger keeps what
// is young or open. The vault keeps nothing.
const deletable: Record<DatabaseKind, readonly string[]> = {
  environment: [
    ...["idempotency", "comparison_slice", "vault_session", "comparison_run", "gateway_notice", "endpoint_notice"],
    ...["stray_hold", "audit_entry", "analytics_payment", "analytics_attempt", "analytics_decline"],
  ],
  accounts: [
    ...["membership", "passkey", "passkey_challenge", "sign_in_failures"],
    ...["sign_in", "invitation", "password_reset", "audit_entry"],
  ],
  vault: ["card", "card_session", "tokenize_count"],
};

/**
 * Applies the missing migrations of `kind`, each in its own transaction, and returns their names.
 * `ownerUrl` connects as the owner of the database, past any pooler; `runtimeRole` exists already, does not own anything
 * and so cannot drop a guard. Concurrent runs wait for each other. No migration waits for a table for longer than a moment,
 * so that no traffic queues up behind it: it is tried again, and SchemaError is thrown when that was of no use.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  return inTurn(options, () => bringUp(options));
}

/** Which database, and for whom. */
export type MigrateOptions = {
  ownerUrl: string;
  kind: DatabaseKind;
  runtimeRole: string;
  /** Told, in a sentence, what it waits for. */
  tell?: (line: string) => void;
  /** Other files than the product's own: for tests. */
  files?: readonly SqlFile[];
};

async function bringUp(options: MigrateOptions): Promise<string[]> {
  const { kind, files = schemaHistory[kind] } = options;
  const orm = await openMigrator(options.ownerUrl, files);
  const connection = orm.em.getConnection();
  const role = escapeIdentifier(options.runtimeRole);
  try {
    await connection.execute(
      `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE ON TABLES TO ${role}`,
    );
    const applied = await applyMissing(orm, options.tell);
    if (files === schemaHistory[kind]) {
      for (const table of deletable[kind]) await connection.execute(`GRANT DELETE ON ${table} TO ${role}`);
    }
    await connection.execute(`REVOKE ALL ON migration FROM ${role}`);
    await tellApplied(connection, role);
    await limitSessions(connection, role);
    if (kind === "environment") await connection.execute(planOnce);
    return applied;
  } finally {
    await orm.close();
  }
}

function openMigrator(ownerUrl: string, files: readonly SqlFile[]): Promise<MikroORM> {
  return MikroORM.init({
    driver: PostgreSqlDriver,
    clientUrl: ownerUrl,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    // One connection, so that what a migration sets holds for what follows in it.
    pool: { min: 0, max: 1 },
    driverOptions: { ...databaseTls(ownerUrl), lock_timeout: migrationLockWaitMs },
    migrations: {
      tableName: "migration",
      snapshot: false,
      silent: true,
      // Each for itself: one that has to wait holds no locks of those before it.
      allOrNothing: false,
      migrationsList: files.map((file) => ({ name: file.name, class: migrationOf(file) })),
    },
  });
}

// PostgreSQL's "lock_not_available" (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const lockNotAvailable = "55P03";

async function applyMissing(orm: MikroORM, tell: MigrateOptions["tell"]): Promise<string[]> {
  const missing = (await orm.migrator.getPending()).map(({ name }) => name);
  for (let tries = 1; ; tries++) {
    try {
      await orm.migrator.up();
      return missing;
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable) throw error;
      if (tries === migrationLockTries) throw new SchemaError(heldUp(error as Error));
      if (tries === 1) tell?.("A transaction holds a table that is to be changed. It is tried again for a minute.");
      await pause(migrationPauseMs);
    }
  }
}

const heldUp = ({ message }: Error) =>
  "A migration did not get its table in thirty tries of a second each; what was applied before it stays. Somebody has " +
  "had a transaction open all the while: find it with SELECT pid, usename, xact_start FROM pg_stat_activity ORDER BY " +
  `xact_start, let it end or end it with pg_terminate_backend(pid), and run this again. PostgreSQL said: ${message}`;

/** Lets the runtime role read what was applied, as each process does when it starts, and write nothing there. */
async function tellApplied(connection: ReturnType<MikroORM["em"]["getConnection"]>, role: string): Promise<void> {
  const [found] = await connection.execute("SELECT to_regclass('applied_migration') AS view");
  // Not made again: that would wait for whoever reads it, as a backup does for hours.
  if (found.view === null) await connection.execute("CREATE VIEW applied_migration AS SELECT name FROM migration");
  await connection.execute(`REVOKE ALL ON applied_migration FROM ${role}`);
  await connection.execute(`GRANT SELECT ON applied_migration TO ${role}`);
}

// A plan made once for all values picks the partition when it runs, in 0.1 ms; planning anew each time costs 0.4 ms. Set
// each time, for it is no part of what pg_dump writes.
const planOnce = `DO $$ BEGIN
  EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_generic_plan', current_database()); END $$`;

// PostgreSQL's "insufficient_privilege" (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const insufficientPrivilege = "42501";

/** Where somebody else administers the role, it stays as it is: a service behind a pooler says what is missing when it starts. */
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
      // It keeps nobody from a table, but waits until every transaction that began before it has ended.
      this.addSql("SET lock_timeout = 0");
      for (const statement of file.sql) this.addSql(statement);
      this.addSql(`SET lock_timeout = ${migrationLockWaitMs}`);
    }
  };
}
