/** Checks a database: its connection, login, schema, durability and room for connections. */
import { Pool } from "pg";
import { beforeBaseline, isBeforeBaseline } from "../migrations/schema-error.ts";
import { type DatabaseKind, schemaHistory } from "../migrations/schema-history.ts";
import { Database } from "../platform/database.ts";
import { databaseLogin, parseDatabaseAddress } from "../platform/database-address.ts";
import type { Secret } from "../platform/secrets.ts";
import { clockDifferenceMaxMs, examinationTimeoutMs, type Finding, ok, problem, warning, wordsOf } from "./finding.ts";
import { examineGuards } from "./guard-checks.ts";

export type ExaminedDatabase = {
  readonly area: string;
  readonly variable: string;
  readonly kind: DatabaseKind;
  readonly url: Secret;
  /** Maximum number of connections that one process opens to its server. */
  readonly connectionsWanted: number;
  /** The address leads to a pooler in transaction mode, which knows no prepared statements. */
  readonly isPooled: boolean;
};

type State = {
  readonly role: string;
  readonly isSuperuser: boolean;
  readonly isOwner: boolean;
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly synchronousCommit: string;
  readonly connectionsAllowed: number;
  readonly roleConnections: number;
  readonly now: Date;
};

const selectState = {
  name: "examine_database",
  text: `SELECT current_user AS role, r.rolsuper AS "isSuperuser",
           pg_has_role(current_user, d.datdba, 'USAGE') OR EXISTS (
             SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relowner = r.oid) AS "isOwner",
           current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
           current_setting('synchronous_commit') AS "synchronousCommit",
           current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS "connectionsAllowed",
           r.rolconnlimit AS "roleConnections", clock_timestamp() AS now
         FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()`,
};

/** Returns every finding on one database; `more` examines its content, if the login works and the schema is there. */
export async function examineDatabase(
  examined: ExaminedDatabase,
  more: (database: Database) => Promise<readonly Finding[]>,
): Promise<Finding[]> {
  const { area, url, variable } = examined;
  const address = parseDatabaseAddress(url.expose());
  if (address === undefined) return [problem(area, `${variable} is not a valid address`, "see docs/configuration.md")];
  const { host, port, user, database: name } = address;
  const pool = openExamined(url);
  try {
    const database = new Database(pool, { isPooled: examined.isPooled });
    const askedAt = Date.now();
    const [state] = await database.query<State>(selectState, []);
    const answeredAt = Date.now();
    if (state === undefined)
      return [problem(area, "returns nothing about the role of the connection", "use a separate role")];
    const schema = await examineSchema(examined, database);
    const isWhole = schema.every((finding) => finding.state !== "PROBLEM");
    const guarded = { kind: examined.kind, isNewer: schema.some((finding) => finding.state !== "OK") };
    return [
      ok(area, `answers at ${host}:${port} to ${state.role}`),
      ...examineRole(examined, state),
      ...examineDurability(area, state),
      // Behind a pooler the server sees the pooler's connections, however many a process opens.
      ...(examined.isPooled ? [] : examineConnections(examined, state)),
      examineClock(area, { askedAt, answeredAt, now: state.now.getTime() }),
      ...schema,
      ...(isWhole ? [...(await examineGuards(area, guarded, database)), ...(await more(database))] : []),
    ];
  } catch (error) {
    return [explainFailure(examined, { host, port, user, name }, error)];
  } finally {
    await pool.end();
  }
}

/** Opens a few connections that are given up soon. Throws if the address cannot be read or names missing files. */
export function openExamined(url: Secret): Pool {
  const times = { connectionTimeoutMillis: examinationTimeoutMs, query_timeout: examinationTimeoutMs };
  const pool = new Pool({ ...databaseLogin(url.expose()), ...times, max: 2, pipeline: true });
  // A broken connection is detected at its next use.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const refusedLogin = ["28P01", "28000"];
const noSuchDatabase = "3D000";
const notAllowed = "42501";
const tooManyConnections = "53300";

function explainFailure(
  { area, variable }: ExaminedDatabase,
  { host, port, user, name }: { host: string; port: number; user: string; name: string },
  error: unknown,
): Finding {
  const code = (error as { code?: string }).code ?? "";
  if (refusedLogin.includes(code)) {
    const remedy = `set ${variable} to the role's password, or give it this one: ALTER ROLE ${user} PASSWORD '…'`;
    return problem(area, `refuses the password of ${user}`, remedy);
  }
  if (code === noSuchDatabase)
    return problem(area, `there is no database ${name}`, `create it, or correct ${variable}`);
  if (code === notAllowed) {
    return problem(
      area,
      `does not let ${user} connect: ${wordsOf(error)}`,
      `GRANT CONNECT ON DATABASE ${name} TO ${user}`,
    );
  }
  if (code === tooManyConnections) {
    return problem(area, "has no connection left", "raise max_connections, or lower SWITCHYARD_DATABASE_CONNECTIONS");
  }
  const remedy = `start PostgreSQL at ${host}:${port}, or correct ${variable}; check its log and the network`;
  return problem(area, `does not answer at ${host}:${port}: ${wordsOf(error)}`, remedy);
}

function examineRole({ area, variable }: ExaminedDatabase, { role, isSuperuser, isOwner }: State): Finding[] {
  const remedy = `connect with a role that owns nothing: name it in switchyard migrate --runtime-role and use it in ${variable}`;
  if (isSuperuser) return [problem(area, `${role} is a superuser, so the guards do not apply`, remedy)];
  if (isOwner) return [problem(area, `${role} owns the tables and could drop their guards`, remedy)];
  return [ok(area, `${role} owns nothing`)];
}

/** Checks that committed data survives a crash, of PostgreSQL or of its machine. */
export function examineDurability(
  area: string,
  { fsync, fullPageWrites, synchronousCommit }: Pick<State, "fsync" | "fullPageWrites" | "synchronousCommit">,
): Finding[] {
  const ofStorage = [...(fsync === "off" ? ["fsync"] : []), ...(fullPageWrites === "off" ? ["full_page_writes"] : [])];
  const isLate = synchronousCommit === "off";
  if (ofStorage.length === 0 && !isLate) {
    return [ok(area, "keeps what it has committed (fsync, full_page_writes, synchronous_commit)")];
  }
  // Managed services (Neon, Aurora) store the write-ahead log elsewhere before they confirm, and write no pages
  // themselves.
  const unless = "unless its storage makes this setting unnecessary, as with managed services such as Neon";
  return [
    ...(isLate
      ? [problem(area, "loses payments when it crashes: synchronous_commit off", switchOn(["synchronous_commit"]))]
      : []),
    ...(ofStorage.length > 0
      ? [
          warning(
            area,
            `loses payments when its machine crashes, ${unless}: ${ofStorage.join(", ")} off`,
            `on your own storage: ${switchOn(ofStorage)}`,
          ),
        ]
      : []),
  ];
}

function switchOn(names: readonly string[]): string {
  return `ALTER SYSTEM SET ${names.map((name) => `${name} = on`).join("; ALTER SYSTEM SET ")}; then reload PostgreSQL`;
}

function examineConnections({ area, connectionsWanted: wanted }: ExaminedDatabase, state: State): Finding[] {
  const { connectionsAllowed, roleConnections, role } = state;
  const allowed = roleConnections < 0 ? connectionsAllowed : Math.min(roleConnections, connectionsAllowed);
  const says = `one process opens up to ${wanted} connections, and ${role} may have ${allowed}`;
  if (wanted <= allowed) return [ok(area, says)];
  return [problem(area, says, "lower SWITCHYARD_DATABASE_CONNECTIONS, raise max_connections, or set up a pooler")];
}

function examineClock(area: string, times: { askedAt: number; answeredAt: number; now: number }): Finding {
  const { askedAt, answeredAt, now } = times;
  // The server read this clock at some time between the question and its answer.
  const aheadMs = now > answeredAt ? now - answeredAt : Math.min(0, now - askedAt);
  if (Math.abs(aheadMs) <= clockDifferenceMaxMs) return ok(area, "its clock and this machine's agree within a second");
  const says = `its clock is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? "ahead of" : "behind"} this machine's`;
  return problem(area, says, "run an NTP client on both machines");
}

const selectApplied = { name: "examine_applied", text: "SELECT name FROM applied_migration" };

async function examineSchema({ area, kind, variable }: ExaminedDatabase, database: Database): Promise<Finding[]> {
  const command = `switchyard migrate --kind ${kind} --url <owner's address of ${variable}> --runtime-role <role>`;
  const wanted = schemaHistory[kind].map(({ name }) => name);
  let applied: string[];
  try {
    applied = (await database.query<{ name: string }>(selectApplied, [])).map(({ name }) => name);
  } catch (error) {
    return [problem(area, `cannot return its schema version: ${wordsOf(error)}`, command)];
  }
  if (isBeforeBaseline(applied)) return [problem(area, beforeBaseline.says, beforeBaseline.remedy)];
  const missing = wanted.filter((name) => !applied.includes(name));
  const newer = applied.filter((name) => !wanted.includes(name));
  if (missing.length > 0) return [problem(area, `lacks the migration ${missing.join(", ")}`, command)];
  if (newer.length > 0) {
    return [warning(area, `has migrations of a newer version: ${newer.join(", ")}`, "upgrade this program soon")];
  }
  return [ok(area, `has this version's schema (${wanted.at(-1)})`)];
}
