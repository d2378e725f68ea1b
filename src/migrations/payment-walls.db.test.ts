import { v7 } from "uuid";
import { describe, it } from "vitest";
import {
  captured,
  captureRefused,
  connectWithService,
  newSession,
  openedSecond,
  opening,
  refused,
  setAttempt,
  setSession,
  submitted,
  succeeded,
  winning,
} from "./payment-rows.fixture.ts";

const { owner: client, service } = await connectWithService();

type From = Parameters<typeof submitted>[1];

const toVoiding = setAttempt("status = 'VOIDING'");
const named = setSession("winner_attempt_id = $attempt");
const noWinner = setSession("winner_attempt_id = NULL");

// The walls of several rows.
const isHeld = /payment_session_winner/;
const asAsked = /what an attempt asked for never changes/;
const asOrdered = /attempt_session_id_amount_minor_currency_fkey/;

/** Each statement, from the state in which it would do harm, and the wall that it meets. */
const forbidden: [what: string, from: From, sql: string, wall: RegExp][] = [
  ["a winner that is only UNKNOWN", "UNKNOWN", named, isHeld],
  ["a winner that is still AUTHORIZING", "AUTHORIZING", named, isHeld],
  ["a winner that was declined", "DECLINED", named, isHeld],
  ["a winner that is being voided", "UNKNOWN", `${toVoiding}; ${named}`, isHeld],
  ["a hold that the session no longer names", "AUTHORIZED", noWinner, /an authorized attempt is the winner/],
  ["a winner voided while it is still named", "AUTHORIZED", toVoiding, isHeld],
  [
    "a capture that is ordered once more, at another time",
    "CAPTURING",
    setAttempt("capture_ordered_at = now() + interval '1 s'"),
    /an ordered capture stays ordered/,
  ],
  [
    "a capture ordered while it is voided",
    "AUTHORIZED",
    `${noWinner}; ${setAttempt("status = 'VOIDING', capture_ordered_at = now(), capture_refusal_code = 'x'")}`,
    /only the authorized winner is captured/,
  ],
  [
    "'never existed' of a capture that was not refused",
    "CAPTURING",
    `${captureRefused}; ${setAttempt("capture_refusal_code = NULL, status = 'VOIDED', void_kind = 'NEVER_EXISTED', void_asked_at = now() + interval '2 h', completed_at = now()")}`,
    /a hold whose capture may land did exist/,
  ],
  ["a latest execution time that comes nearer", "UNKNOWN", setAttempt("latest_execution_at = now()"), asAsked],
  ["an attempt under other credentials", "UNKNOWN", setAttempt("credential_version = 2"), asAsked],
  ["an attempt of another session", "UNKNOWN", setAttempt(`session_id = '${v7()}'`), asAsked],
  ["another sequence of attempts", "UNKNOWN", setAttempt("sequence = 2"), asAsked],
  ["another amount of an attempt", "UNKNOWN", setAttempt("amount_minor = 4901"), asOrdered],
  ["another currency of an attempt", "UNKNOWN", setAttempt("currency = 'USD'"), asOrdered],
  ["another currency of a session", "DECLINED", setSession("currency = 'USD'"), /what was ordered never changes/],
  [
    "another merchant of a session",
    "DECLINED",
    setSession(`merchant_id = '${v7()}'`),
    /what was ordered never changes/,
  ],
  ["a pin that is pulled", "AUTHORIZED", setSession("pinned = false"), /a session is pinned to its winner/],
  [
    "a forgotten reference of a hold",
    "AUTHORIZED",
    setAttempt("gateway_reference = NULL"),
    /a gateway reference never changes/,
  ],
  [
    "a void of what never existed that was not requested",
    "UNKNOWN",
    `${toVoiding}; ${setAttempt("status = 'VOIDED', void_kind = 'NEVER_EXISTED', completed_at = now()")}`,
    /a hold never existed only if none can follow/,
  ],
  [
    "a fraud decline that turns into another",
    "FRAUD",
    setAttempt("failure_kind = 'HARD_DECLINE', stop = NULL"),
    /what ended an attempt never changes/,
  ],
  ["another gateway of an attempt", "UNKNOWN", setAttempt("gateway = 'SANDBOX_B'"), asAsked],
  [
    "a deadline that moves away",
    "DECLINED",
    setSession("submit_deadline = now() + interval '1 h'"),
    /a deadline never moves away/,
  ],
  [
    "another rule than the one it was planned by",
    "DECLINED",
    setSession("rule_version = 2"),
    /what was submitted never changes/,
  ],
  [
    "another card than the one that was submitted",
    "DECLINED",
    setSession("token_hash = 'other'"),
    /what was submitted never changes/,
  ],
  [
    "money captured at another gateway than the winner's",
    "CAPTURING",
    `${captured}; ${succeeded.replace("SANDBOX_A", "SANDBOX_B")}`,
    /the money was captured at the winner's gateway/,
  ],
  ["a sixth attempt", "DECLINED", opening(6), /a session has at most five attempts, one repeat and one retry/],
  ["a second attempt of one number", "DECLINED", opening(1), /attempt_session_id_sequence_key/],
  ["an attempt in another currency", "DECLINED", opening(2).replace("'EUR'", "'USD'"), asOrdered],
];

describe("the walls of a payment", () => {
  it.each(forbidden)("refuse %s", async (_, from, sql, wall) => {
    await refused(await submitted(client, from), sql, wall);
  });

  it("refuse the winner of another session", async () => {
    const theirs = await submitted(client, "DECLINED");
    const other = await openedSecond(theirs);
    await theirs(`BEGIN; ${winning(other)}; COMMIT`);
    await refused(await submitted(client, "DECLINED"), setSession(`winner_attempt_id = '${other}'`), isHeld);
  });

  it("refuse an attempt of a session that was not submitted", async () => {
    const id = v7();
    const run = (sql: string) => client.query(sql.replaceAll("$session", `'${id}'`));
    await run(newSession({ id: "$session" }));
    await refused(run, opening(1), /an attempt needs a session in processing/);
    await refused(run, setSession("vault_token = 't'"), /the token lives no longer than the payment that may use it/);
  });

  it.each([
    ["no money", { amount_minor: "0" }, /an amount is between/],
    ["negative money", { amount_minor: "-1" }, /an amount is between/],
    ["more money than can be written exactly", { amount_minor: "1000000000000" }, /an amount is between/],
    ["a currency in small letters", { currency: "'eur'" }, /a currency is three capital letters/],
  ])("refuse a session over %s", async (_, money, reason) => {
    await refused((sql) => client.query(sql), newSession(money), reason);
  });

  const submittedOnce = { phase: "'DONE'", lease_epoch: "1", submitted_at: "now()", settled_at: "now()" };
  it.each([
    ["before it was submitted", {}, /an IDLE session is CREATED, without a winner/],
    [
      "after it was declined",
      { ...submittedOnce, status: "'DECLINED'", lease_until: "now()", submit_deadline: "now()", decline_code: "'d'" },
      /an end without a capture has no winner/,
    ],
    [
      "and begins with its end",
      { ...submittedOnce, status: "'SUCCEEDED'", captured_via: "'SANDBOX_A'", capture_confirmed: "true" },
      /payment_session_(winner|captured)/,
    ],
  ])("refuse a session that names a winner %s", async (_, columns, reason) => {
    const insert = newSession({ ...columns, winner_attempt_id: `'${v7()}'` });
    await refused((sql) => client.query(sql), insert, reason);
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
    await refused((statement) => service.query(statement), sql, reason);
  });
});
