/** Rows of a payment stored by plain SQL, for tests of what the database refuses. */
import { Client, type QueryResult } from "pg";
import { v7 } from "uuid";
import { afterAll, expect } from "vitest";
import { createTestDatabase } from "../dev/testing/postgres.ts";

const merchant = v7();

/** Runs statements. */
export type Connection = { query(sql: string): Promise<QueryResult> };

/** A connection to a migrated database as its owner, who alone may write payments; both are gone after the file's last test. */
export async function connectToPaymentDatabase(): Promise<Client> {
  return (await connectWithService()).owner;
}

/** Connects as `connectToPaymentDatabase` does, and once more under the service's role. */
export async function connectWithService(): Promise<{ owner: Client; service: Client }> {
  const database = await createTestDatabase("environment");
  const [service, owner] = [database.url, database.ownerUrl].map((url) => new Client({ connectionString: url }));
  afterAll(async () => {
    await Promise.all([service!.end(), owner!.end()]);
    await database.drop();
  });
  await Promise.all([service!.connect(), owner!.connect()]);
  return { owner: owner!, service: service! };
}

/** Stores a session in PROCESSING with one attempt, and returns a way to change both. */
export async function submitted(
  client: Connection,
  attempt: "AUTHORIZING" | "UNKNOWN" | "AUTHORIZED" | "CAPTURING" | "DECLINED" | "FRAUD" | "HELD",
  session: string = v7(),
  { isManual = attempt === "HELD", ruleVersion }: { isManual?: boolean; ruleVersion?: number } = {},
) {
  const first = v7();
  const run = (sql: string) =>
    client.query(sql.replaceAll("$session", `'${session}'`).replaceAll("$attempt", `'${first}'`));
  await run(`INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at, manual_capture)
    VALUES ($session, '${merchant}', 4900, 'EUR', 'o', 1, now() + interval '1 h', ${isManual})`);
  await run(`UPDATE payment_session SET phase = 'PROCESSING', lease_epoch = 1, lease_until = now(), vault_token = 't',
    submit_deadline = now() + interval '45 s', submitted_at = now(), rule_version = ${ruleVersion ?? "NULL"} WHERE id = $session`);
  await run(opening(1, { id: first }));
  if (attempt === "UNKNOWN")
    await run(`UPDATE attempt SET status = 'UNKNOWN', failure_kind = 'TIMEOUT' WHERE id = $attempt`);
  if (attempt === "DECLINED" || attempt === "FRAUD") {
    await run(`UPDATE attempt SET status = 'DECLINED', completed_at = now(),
      failure_kind = '${attempt === "FRAUD" ? "FRAUD" : "HARD_DECLINE"}', stop = ${attempt === "FRAUD" ? "'fraud'" : "NULL"}
      WHERE id = $attempt`);
  }
  if (attempt === "AUTHORIZED" || attempt === "CAPTURING") {
    await run(`BEGIN; ${winning(first, first)}; COMMIT`);
  }
  if (attempt === "HELD") {
    await run(`BEGIN; ${winning(first, first)}; ${heldNow}; COMMIT`);
  }
  if (attempt === "CAPTURING") await run(`UPDATE attempt SET capture_ordered_at = now() WHERE id = $attempt`);
  return run;
}

/** Stores a payment of 49.00 EUR that has SUCCEEDED with a capture of this amount. */
export async function paidPayment(client: Connection, amountMinor = 4900, session: string = v7()) {
  const isPart = amountMinor < 4900;
  const run = await submitted(client, isPart ? "HELD" : "AUTHORIZED", session);
  const asked = isPart ? "UPDATE payment_session SET capture_asked_at = now() WHERE id = $session;" : "";
  await run(`BEGIN; ${asked}
    UPDATE attempt SET capture_ordered_at = now(), captured_amount_minor = ${amountMinor} WHERE id = $attempt; COMMIT`);
  await run(`BEGIN; ${captured}; ${succeeded}; COMMIT`);
  return run;
}

/** The winner is held for a later capture. */
export const heldNow = `UPDATE payment_session SET held_at = now(), held_until = now() + interval '5 days', vault_token = NULL,
  capture_due_at = now() + interval '4 days' WHERE id = $session`;

/** Opens an attempt at this place of the plan; its amount may be another than the session's. */
export function opening(
  sequence: number,
  { id = v7(), amount = 4900, gateway = "SANDBOX_A", connection = v7() } = {},
): string {
  return `INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because,
      amount_minor, currency, latest_execution_at)
    VALUES ($session, '${id}', ${sequence}, '${gateway}', '${connection}', 1, ${sequence}, 'why', ${amount}, 'EUR', now() + interval '1 h')`;
}

/** Opens the second attempt of the plan, and returns its id. */
export async function openedSecond(
  run: (sql: string) => Promise<unknown>,
  given?: { readonly gateway?: string; readonly connection?: string },
): Promise<string> {
  const id = v7();
  await run(opening(2, { ...given, id }));
  return id;
}

/** The first attempt, or the one of this id, is held and wins. */
export function winning(id?: string, reference = v7()): string {
  const attempt = id === undefined ? "$attempt" : `'${id}'`;
  return `UPDATE attempt SET status = 'AUTHORIZED', failure_kind = NULL, gateway_reference = '${reference}' WHERE id = ${attempt};
    UPDATE payment_session SET winner_attempt_id = ${attempt} WHERE id = $session`;
}

/** Stores a session that was not submitted, of this life; `more` has further columns and what they hold. */
export function newSession(more: Readonly<Record<string, string>> = {}, life = "1 h"): string {
  const columns = {
    id: `'${v7()}'`,
    merchant_id: `'${v7()}'`,
    amount_minor: "4900",
    currency: "'EUR'",
    order_ref: "'o'",
    secret_version: "1",
    expires_at: `now() + interval '${life}'`,
    ...more,
  };
  return `INSERT INTO payment_session (${Object.keys(columns)}) VALUES (${Object.values(columns)})`;
}

/** The statement is refused with this reason (or by this constraint), and nothing of its transaction stays. */
export async function refused(run: (sql: string) => Promise<unknown>, sql: string, reason: RegExp): Promise<void> {
  const failure = await run(`BEGIN; ${sql}; COMMIT`).then(
    () => "it was stored",
    (error: Error & { constraint?: string }) => `${error.message} ${error.constraint ?? ""}`,
  );
  await run("ROLLBACK");
  expect(failure).toMatch(reason);
}

/** Changes these columns of the first attempt, or of its session. */
export const setAttempt = (columns: string) => `UPDATE attempt SET ${columns} WHERE id = $attempt`;
export const setSession = (columns: string) => `UPDATE payment_session SET ${columns} WHERE id = $session`;

/** The session loses its winner, whose capture the gateway has refused. */
export const captureRefused = `${setSession("winner_attempt_id = NULL")};
  ${setAttempt("status = 'VOIDING', capture_refusal_code = 'expired'")}`;

/** The winner is captured; its session has to follow in the same transaction. */
export const captured = setAttempt("status = 'CAPTURED', completed_at = now()");
/** The session whose winner is captured has succeeded. */
export const succeeded = `UPDATE payment_session SET status = 'SUCCEEDED', phase = 'DONE', vault_token = NULL, settled_at = now(),
  captured_via = 'SANDBOX_A', capture_confirmed = true WHERE id = $session`;
/** The session ended without money; its open attempts have to leave in the same transaction. */
export const ended = (
  status: string,
) => `UPDATE payment_session SET status = '${status}', vault_token = NULL, settled_at = now(),
  decline_code = 'card_declined', winner_attempt_id = NULL WHERE id = $session`;

/** Statements by which an attempt in AUTHORIZING begins to await its customer, in one transaction. */
export const awaited = [
  `INSERT INTO authentication (session_id, id, sequence, attempt_id, connection_id, because, holds_only_when_asked, action_life_ms, deadline_at)
    SELECT session_id, gen_random_uuid(), 1, id, connection_id, 'b', true, 0, now() + interval '10 min' FROM attempt WHERE id = $attempt`,
  "UPDATE attempt SET status = 'AWAITING_CUSTOMER', next_retry_at = now() WHERE id = $attempt",
  "UPDATE payment_session SET awaiting_since = now(), authentications = 1 WHERE id = $session",
];
