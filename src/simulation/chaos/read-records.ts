/** Reads what a run has in the database and at the acquirers, and lets sessions expire before their time. */
import { Client } from "pg";
import { toGatewayAmount } from "../../gateways/amounts.ts";
import { currencies as currenciesOfA } from "../../gateways/sandbox/a/currencies.ts";
import { currencies as currenciesOfB } from "../../gateways/sandbox/b/currencies.ts";
import { decodeId, encodeId } from "../../platform/ids.ts";
import type { SandboxControl } from "../../testing/sandbox-control.ts";
import type { AttemptRecord, EventRecord, Records, SessionRecord } from "./records.ts";

type Row<Fields extends string> = Record<Fields, string> & Record<"sequence" | "amountMinor", number>;

const selectSessions = `
  SELECT id, order_ref AS "orderRef", status, phase, winner_attempt_id AS "winnerAttemptId",
         submitted_at AS "submittedAt"
  FROM payment_session`;
const selectAttempts = `
  SELECT session_id AS "sessionId", id, sequence, gateway, status, failure_kind AS "failureKind",
         void_kind AS "voidKind", horizon_at AS "horizonAt", amount_minor::float8 AS "amountMinor", currency
  FROM attempt`;
const selectEvents = `
  SELECT session_id AS "sessionId", id, sequence, type, encode(sha256(body), 'hex') AS body FROM outbox_event`;

/** What the service and the acquirers have on record; one snapshot of the database. */
export async function readRecords(
  databaseUrl: string,
  acquirers: SandboxControl,
): Promise<Omit<Records, "webhooks" | "orders">> {
  return withDatabase(databaseUrl, async (client) => {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const sessions = (await client.query(selectSessions)).rows.map(toSession);
    const attempts = (await client.query(selectAttempts)).rows.map(toAttempt);
    const events = (await client.query(selectEvents)).rows.map(toEvent);
    return { sessions, attempts, events, authorizations: await acquirers.authorizations() };
  });
}

/** Sessions that are not done; undefined while the database cannot be asked. */
export async function countOpen(databaseUrl: string): Promise<number | undefined> {
  const text = "SELECT count(*)::int AS count FROM payment_session WHERE phase <> 'DONE'";
  const answer = await withDatabase(databaseUrl, (client) => client.query<{ count: number }>(text)).catch(
    () => undefined,
  );
  return answer?.rows[0]?.count;
}

/** Moves one session's expiry up, as if its page had been open that long. What the database does not take is left. */
export function expireIn(databaseUrl: string): (sessionId: string, ms: number) => Promise<void> {
  const text = `
    UPDATE payment_session SET expires_at = app.clock() + $2 * interval '1 ms' WHERE id = $1 AND phase = 'IDLE'`;
  return async (sessionId, ms) => {
    const values = [decodeId("ps", sessionId), ms];
    await withDatabase(databaseUrl, (client) => client.query(text, values)).catch(() => {});
  };
}

/** Moves the expiry of everything up that nobody submitted. */
export async function expireUnsubmitted(databaseUrl: string): Promise<void> {
  const text = `
    UPDATE payment_session SET expires_at = app.clock() WHERE phase = 'IDLE' AND expires_at > app.clock()`;
  await withDatabase(databaseUrl, (client) => client.query(text));
}

/** Connects for one piece of work: the database may have been restarted since the last one. */
async function withDatabase<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A connection that breaks is told twice; the query's own rejection is enough.
  client.on("error", () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

function toSession(
  row: Row<"id" | "orderRef" | "status" | "phase" | "winnerAttemptId" | "submittedAt">,
): SessionRecord {
  return {
    ...row,
    sessionId: encodeId("ps", row.id),
    winnerAttemptId: row.winnerAttemptId ? encodeId("att", row.winnerAttemptId) : undefined,
    submittedAt: row.submittedAt ? momentOf(row.submittedAt) : undefined,
  };
}

function toAttempt(
  row: Row<"sessionId" | "id" | "gateway" | "status" | "failureKind" | "voidKind" | "horizonAt" | "currency">,
): AttemptRecord {
  const table = row.gateway === "SANDBOX_A" ? currenciesOfA : currenciesOfB;
  const amount = toGatewayAmount(table, row);
  return {
    ...row,
    sessionId: encodeId("ps", row.sessionId),
    attemptId: encodeId("att", row.id),
    failureKind: row.failureKind ?? undefined,
    voidKind: row.voidKind ?? undefined,
    horizonAt: momentOf(row.horizonAt),
    value: amount.type === "exact" ? amount.value : Number.NaN,
  };
}

function toEvent(row: Row<"sessionId" | "id" | "type" | "body">): EventRecord {
  return { ...row, sessionId: encodeId("ps", row.sessionId), eventId: encodeId("evt", row.id) };
}

function momentOf(timestamp: string): string {
  return new Date(timestamp).toISOString();
}
