/** Copies the rows of sessions at one time and puts them back: the effect of a restore of the whole database. */
import type { Schedule } from "./schedule.ts";
import type { SqlServer } from "./sql-server.ts";
import type { Timeline } from "./timeline.ts";

type Table = { readonly name: string; readonly columns: string; readonly isNotifications: boolean };

type SessionBackup = {
  readonly tables: readonly (Table & { readonly rows: string })[];
};

// Everything that refers to a session, and the notifications, which refer to attempts; generated columns are computed
// again.
const selectTables = `
  SELECT c.relname AS name, c.relname = 'gateway_notification' AS "isNotifications",
    (SELECT string_agg(quote_ident(a.attname), ', ') FROM pg_attribute a
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns
  FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND (c.relname IN ('payment_session', 'gateway_notification')
      OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'session_id'))
  ORDER BY c.relname`;

/** The sessions of a run that began at `since`. */
type Backed = { readonly sessionIds: readonly string[]; readonly sinceMs: number };

/** Copies the rows of sessions, and the notifications of their run. */
async function backUp(server: SqlServer, backed: Backed): Promise<SessionBackup> {
  const { rows: found } = await server.observe(selectTables);
  const tables: (Table & { rows: string })[] = [];
  for (const table of found as Table[]) {
    const text = `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table.name} t WHERE ${whichOf(table)}`;
    const { rows } = await server.observe({ text, values: [keyOf(table, backed)] });
    tables.push({ ...table, rows: rows[0].rows });
  }
  return { tables };
}

/** Puts the rows back in place of those of these sessions. Nothing else may be running. */
async function bringBack(server: SqlServer, backup: SessionBackup, backed: Backed): Promise<void> {
  await server.asReplica("BEGIN");
  for (const table of backup.tables) {
    const { name, columns, rows } = table;
    await server.asReplica({ text: `DELETE FROM ${name} WHERE ${whichOf(table)}`, values: [keyOf(table, backed)] });
    const text = `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
      SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1::json)`;
    await server.asReplica({ text, values: [rows] });
  }
  await server.asReplica("COMMIT");
}

/**
 * Removes the sessions that are not done, with everything that refers to them, and the authorizations that a run's other
 * payments have left to be voided: the next run would void them.
 */
export async function removeOpenSessions(server: SqlServer): Promise<void> {
  const { rows } = await server.observe({ name: "tables", text: selectTables });
  const deletes = (rows as Table[]).flatMap(({ name, isNotifications }, index) => {
    if (isNotifications) return [];
    const column = name === "payment_session" ? "id" : "session_id";
    return [`d${index} AS (DELETE FROM ${name} WHERE ${column} IN (SELECT id FROM open))`];
  });
  const text = `WITH open AS (SELECT id FROM payment_session WHERE phase <> 'DONE'), ${deletes.join(", ")},
    orphans AS (DELETE FROM orphaned_authorization WHERE ended_at IS NULL) SELECT`;
  await server.asReplica({ name: "remove_open", text });
}

function whichOf({ name, isNotifications }: Table): string {
  if (isNotifications) return "received_at >= $1::timestamptz";
  return `${name === "payment_session" ? "id" : "session_id"} = ANY ($1::uuid[])`;
}

function keyOf({ isNotifications }: Table, { sessionIds, sinceMs }: Backed): string | readonly string[] {
  return isNotifications ? new Date(sinceMs).toISOString() : sessionIds;
}

/**
 * Discards everything that sessions became after the backup, if the schedule has one: all processes stop, and their rows
 * are restored, and those of the others beside it.
 */
export function restoreLater(
  restore: Schedule["restore"],
  run: {
    readonly timeline: Timeline;
    readonly server: SqlServer;
    readonly session: { readonly id: string; readonly sinceMs: number };
    readonly others: { sessionIds(): Promise<readonly string[]>; onRestored(): void };
    readonly stopAll: () => Promise<void>;
    readonly onRestored: () => Promise<void>;
    readonly note: (what: string) => void;
  },
): void {
  if (restore === undefined) return;
  const { timeline, server, session } = run;
  const { sinceMs } = session;
  const all = async () => ({ sessionIds: [session.id, ...(await run.others.sessionIds())], sinceMs });
  let backup: SessionBackup | undefined;
  timeline.after(restore.backupAtMs, async () => {
    run.note("the database is backed up");
    backup = await backUp(server, await all());
  });
  timeline.after(restore.atMs, async () => {
    await run.stopAll();
    run.note("the database is restored from the backup");
    if (backup !== undefined) await bringBack(server, backup, await all());
    run.others.onRestored();
    await run.onRestored();
  });
}
