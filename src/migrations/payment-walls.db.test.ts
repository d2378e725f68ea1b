import { v7 } from "uuid";
import { describe, it } from "vitest";
import { captured, connectWithService, opening, refused, submitted, succeeded } from "./payment-rows.fixture.ts";

const { owner: client, service } = await connectWithService();

type From = Parameters<typeof submitted>[1];

const toVoiding = "UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt";
const captureRefused = `UPDATE payment_session SET winner_attempt_id = NULL WHERE id = $session;
  UPDATE attempt SET status = 'VOIDING', capture_refusal_code = 'expired' WHERE id = $attempt`;

/** Each statement, from the state in which it would do harm, and the wall that it meets. */
const forbidden: [what: string, from: From, sql: string, wall: RegExp][] = [
  [
    "a winner that is only UNKNOWN",
    "UNKNOWN",
    "UPDATE payment_session SET winner_attempt_id = $attempt WHERE id = $session",
    /payment_session_winner/,
  ],
  [
    "a winner that is still AUTHORIZING",
    "AUTHORIZING",
    "UPDATE payment_session SET winner_attempt_id = $attempt WHERE id = $session",
    /payment_session_winner/,
  ],
  [
    "a winner that was declined",
    "DECLINED",
    "UPDATE payment_session SET winner_attempt_id = $attempt WHERE id = $session",
    /payment_session_winner/,
  ],
  [
    "a winner that is being voided",
    "UNKNOWN",
    `${toVoiding}; UPDATE payment_session SET winner_attempt_id = $attempt WHERE id = $session`,
    /payment_session_winner/,
  ],
  [
    "a hold that the session no longer names",
    "AUTHORIZED",
    "UPDATE payment_session SET winner_attempt_id = NULL WHERE id = $session",
    /an authorized attempt is the winner/,
  ],
  ["a winner voided while it is still named", "AUTHORIZED", toVoiding, /payment_session_winner/],
  [
    "a capture that is ordered once more, at another time",
    "CAPTURING",
    "UPDATE attempt SET capture_ordered_at = now() + interval '1 s' WHERE id = $attempt",
    /an ordered capture stays ordered/,
  ],
  [
    "a capture ordered while it is voided",
    "AUTHORIZED",
    `UPDATE payment_session SET winner_attempt_id = NULL WHERE id = $session; UPDATE attempt SET status = 'VOIDING', capture_ordered_at = now(), capture_refusal_code = 'x' WHERE id = $attempt`,
    /only the authorized winner is captured/,
  ],
  [
    "'never existed' of a capture that was not refused",
    "CAPTURING",
    `${captureRefused}; UPDATE attempt SET capture_refusal_code = NULL, status = 'VOIDED', void_kind = 'NEVER_EXISTED', void_asked_at = now() + interval '2 h', completed_at = now() WHERE id = $attempt`,
    /a hold whose capture may land did exist/,
  ],
  [
    "a latest execution time that comes nearer",
    "UNKNOWN",
    "UPDATE attempt SET latest_execution_at = now() WHERE id = $attempt",
    /what an attempt asked for never changes/,
  ],
  [
    "an attempt under other credentials",
    "UNKNOWN",
    "UPDATE attempt SET credential_version = 2 WHERE id = $attempt",
    /what an attempt asked for never changes/,
  ],
  [
    "an attempt of another session",
    "UNKNOWN",
    `UPDATE attempt SET session_id = '${v7()}' WHERE id = $attempt`,
    /what an attempt asked for never changes/,
  ],
  [
    "another sequence of attempts",
    "UNKNOWN",
    "UPDATE attempt SET sequence = 2 WHERE id = $attempt",
    /what an attempt asked for never changes/,
  ],
  [
    "another amount of an attempt",
    "UNKNOWN",
    "UPDATE attempt SET amount_minor = 4901 WHERE id = $attempt",
    /attempt_session_id_amount_minor_currency_fkey/,
  ],
  [
    "another currency of an attempt",
    "UNKNOWN",
    "UPDATE attempt SET currency = 'USD' WHERE id = $attempt",
    /attempt_session_id_amount_minor_currency_fkey/,
  ],
  [
    "another currency of a session",
    "DECLINED",
    "UPDATE payment_session SET currency = 'USD' WHERE id = $session",
    /what was ordered never changes/,
  ],
  [
    "another merchant of a session",
    "DECLINED",
    `UPDATE payment_session SET merchant_id = '${v7()}' WHERE id = $session`,
    /what was ordered never changes/,
  ],
  [
    "a pin that is pulled",
    "AUTHORIZED",
    "UPDATE payment_session SET pinned = false WHERE id = $session",
    /a session is pinned to its winner/,
  ],
  [
    "a forgotten reference of a hold",
    "AUTHORIZED",
    "UPDATE attempt SET gateway_reference = NULL WHERE id = $attempt",
    /a gateway reference never changes/,
  ],
  [
    "a void of what never existed that was not requested",
    "UNKNOWN",
    `${toVoiding}; UPDATE attempt SET status = 'VOIDED', void_kind = 'NEVER_EXISTED', completed_at = now() WHERE id = $attempt`,
    /a hold never existed only if none can follow/,
  ],
  [
    "a fraud decline that turns into another",
    "FRAUD",
    "UPDATE attempt SET failure_kind = 'HARD_DECLINE', stop = NULL WHERE id = $attempt",
    /what ended an attempt never changes/,
  ],
  [
    "another gateway of an attempt",
    "UNKNOWN",
    "UPDATE attempt SET gateway = 'SANDBOX_B' WHERE id = $attempt",
    /what an attempt asked for never changes/,
  ],
  [
    "a deadline that moves away",
    "DECLINED",
    "UPDATE payment_session SET submit_deadline = now() + interval '1 h' WHERE id = $session",
    /a deadline never moves away/,
  ],
  [
    "another rule than the one it was planned by",
    "DECLINED",
    "UPDATE payment_session SET rule_version = 2 WHERE id = $session",
    /what was submitted never changes/,
  ],
  [
    "another card than the one that was submitted",
    "DECLINED",
    "UPDATE payment_session SET token_hash = 'other' WHERE id = $session",
    /what was submitted never changes/,
  ],
  [
    "money captured at another gateway than the winner's",
    "CAPTURING",
    `${captured}; ${succeeded.replace("SANDBOX_A", "SANDBOX_B")}`,
    /the money was captured at the winner's gateway/,
  ],
  [
    "a sixth attempt",
    "DECLINED",
    opening(`'${v7()}'`, 6),
    /a session has at most five attempts, one repeat and one retry/,
  ],
  ["a second attempt of one number", "DECLINED", opening(`'${v7()}'`, 1), /attempt_session_id_sequence_key/],
  [
    "an attempt in another currency",
    "DECLINED",
    opening(`'${v7()}'`, 2).replace("'EUR'", "'USD'"),
    /attempt_session_id_amount_minor_currency_fkey/,
  ],
];

describe("the walls of a payment", () => {
  it.each(forbidden)("refuse %s", async (_, from, sql, wall) => {
    await refused(client, await submitted(client, from), sql, wall);
  });

  it("refuse the winner of another session", async () => {
    const other = v7();
    const theirs = await submitted(client, "DECLINED");
    await theirs(opening(`'${other}'`, 2));
    await theirs(`BEGIN; UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = '${other}' WHERE id = '${other}';
      UPDATE payment_session SET winner_attempt_id = '${other}' WHERE id = $session; COMMIT`);
    const sql = `UPDATE payment_session SET winner_attempt_id = '${other}' WHERE id = $session`;
    await refused(client, await submitted(client, "DECLINED"), sql, /payment_session_winner/);
  });

  it("refuse an attempt of a session that was not submitted", async () => {
    const id = v7();
    const insert = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
      VALUES ('${id}', '${v7()}', 4900, 'EUR', 'o', 1, now() + interval '1 h')`;
    await client.query(insert);
    const run = (sql: string) => client.query(sql.replaceAll("$session", `'${id}'`));
    await refused(client, run, opening(`'${v7()}'`, 1), /an attempt needs a session in processing/);
    await refused(
      client,
      run,
      `UPDATE payment_session SET vault_token = 't' WHERE id = $session`,
      /the token lives no longer than the payment that may use it/,
    );
  });

  it.each([
    ["no money", "0, 'EUR'", /an amount is between/],
    ["negative money", "-1, 'EUR'", /an amount is between/],
    ["more money than can be written exactly", "1000000000000, 'EUR'", /an amount is between/],
    ["a currency in small letters", "1, 'eur'", /a currency is three capital letters/],
  ])("refuse a session over %s", async (_, money, reason) => {
    const insert = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
      VALUES ('${v7()}', '${v7()}', ${money}, 'o', 1, now() + interval '1 h')`;
    await refused(client, (sql) => client.query(sql), insert, reason);
  });

  it.each([
    ["before it was submitted", "", "", /an IDLE session is CREATED, without a winner/],
    [
      "after it was declined",
      ", status, phase, lease_epoch, lease_until, submit_deadline, submitted_at, settled_at, decline_code",
      ", 'DECLINED', 'DONE', 1, now(), now(), now(), now(), 'card_declined'",
      /an end without a capture has no winner/,
    ],
  ])("refuse a session that names a winner %s", async (_, columns, values, reason) => {
    const insert = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at,
        winner_attempt_id${columns})
      VALUES ('${v7()}', '${v7()}', 1, 'EUR', 'o', 1, now() + interval '1 h', '${v7()}'${values})`;
    await refused(client, (sql) => client.query(sql), insert, reason);
  });

  it("refuse a session that begins with its end", async () => {
    const insert = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at,
        status, phase, lease_epoch, submitted_at, settled_at, captured_via, capture_confirmed, winner_attempt_id)
      VALUES ('${v7()}', '${v7()}', 1, 'EUR', 'o', 1, now() + interval '1 h', 'SUCCEEDED', 'DONE', 1, now(), now(),
        'SANDBOX_A', true, '${v7()}')`;
    await refused(client, (sql) => client.query(sql), insert, /payment_session_(winner|captured)/);
  });
});

describe("the service's own role", () => {
  it.each([
    ["disable a guard", "ALTER TABLE attempt DISABLE TRIGGER ALL", /must be owner/],
    ["go around every guard", "SET session_replication_role = replica", /permission denied/],
    ["drop a constraint", "ALTER TABLE payment_session DROP CONSTRAINT payment_session_winner", /must be owner/],
    ["drop an index of the rules", "DROP INDEX attempt_one_capturable", /must be owner/],
    [
      "set the clock",
      "CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
      /permission denied|must be owner/,
    ],
    [
      "rewrite a guard",
      "CREATE OR REPLACE FUNCTION partitions.guard_attempt_rest() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
      /permission denied|must be owner/,
    ],
    ["empty a table", "TRUNCATE attempt", /permission denied/],
  ])("cannot %s", async (_, sql, reason) => {
    await refused(service, (statement) => service.query(statement), sql, reason);
  });
});
