/** Tests what the database refuses of customer authentication: rules A1 to A12 of docs/safety.md. */
import { v7 } from "uuid";
import { describe, it } from "vitest";
import { awaited, connectToPaymentDatabase, opening, refused, submitted } from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();
const whole = (...statements: string[]) => `BEGIN; ${statements.join("; ")}; COMMIT`;

const own = "WHERE session_id = $session";
const completing = [
  `UPDATE authentication SET status = 'CONFIRMING', completions_sent = 1, answered_at = now() ${own}`,
  "UPDATE attempt SET status = 'AUTHORIZING', next_retry_at = NULL WHERE id = $attempt",
  "UPDATE payment_session SET awaiting_since = NULL WHERE id = $session",
];
const endedAs = (status: string) => `UPDATE authentication SET status = '${status}', completed_at = now() ${own}`;
const declined = `UPDATE attempt SET status = 'DECLINED', failure_kind = 'SOFT_DECLINE', stop = 'authentication_failed',
  completed_at = now() WHERE id = $attempt`;
const notWaiting = "UPDATE payment_session SET awaiting_since = NULL WHERE id = $session";
const givenUp = [endedAs("CANCELLED"), declined, notWaiting];
const byItself = awaited.map((sql) => sql.replace("true, 0,", "false, 7200000,"));

/** A session whose customer is asked; with `mayHold`, at a gateway that may hold by itself. */
async function waiting({ mayHold = false } = {}) {
  const run = await submitted(client, "AUTHORIZING");
  await run(whole(...(mayHold ? byItself : awaited)));
  return run;
}

const decline = (stop: string) =>
  `UPDATE attempt SET status = 'DECLINED', failure_kind = 'SOFT_DECLINE', stop = '${stop}', completed_at = now() WHERE id = $attempt`;
const repeated = (sequence: number, connection = "(SELECT connection_id FROM attempt WHERE id = $attempt)") =>
  `INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency, latest_execution_at, round)
   VALUES ($session, '${v7()}', ${sequence}, 'SANDBOX_A', ${connection}, 1, 1, 'b', 4900, 'EUR', now(), 1)`;

describe("an authentication", () => {
  it("begins together with its attempt's wait, and is completed or given up", async () => {
    const completed = await waiting();
    await completed(whole(...completing));
    await completed(whole(decline("authentication_failed"), endedAs("FAILED")));
    const cancelled = await waiting();
    await cancelled(whole(...givenUp));
  });

  it.each([
    ["without its attempt", [awaited[0]!, awaited[2]!], /an attempt and its authentication change together/],
    ["without its session", [awaited[0]!, awaited[1]!], /a session waits exactly while an action is open/],
    [
      "without a count",
      [awaited[0]!, awaited[1]!, awaited[2]!.replace(", authentications = 1", "")],
      /a session counts/,
    ],
    [
      "that is completed already",
      [awaited[0]!.replace("holds_only", "completions_sent, holds_only").replace("'b', true", "'b', 1, true")],
      /begins with its action/,
    ],
    ["as the third", [awaited[0]!.replace("1, id, connection_id", "3, id, connection_id")], /at most two challenges/],
  ])("does not begin %s", async (_, statements, wall) => {
    await refused(client, await submitted(client, "AUTHORIZING"), whole(...statements), wall);
  });

  it.each([
    [
      "completed after the customer gave up",
      [`UPDATE authentication SET cancel_asked_at = now() ${own}`, ...completing],
      /nothing is completed after/,
    ],
    [
      "completed without a count",
      [completing[0]!.replace(", completions_sent = 1", ""), ...completing.slice(1)],
      /counted before it is sent/,
    ],
    ["completed apart from its attempt", [completing[0]!, completing[2]!], /change together/],
    ["given up apart from its attempt", [givenUp[0]!, givenUp[2]!], /change together/],
    ["left while the session waits on", givenUp.slice(0, 2), /a session waits exactly/],
    [
      "ended with its action kept",
      [`UPDATE authentication SET action_sealed = 'x' ${own}`, ...givenUp],
      /lives no longer than its authentication/,
    ],
    ["shown a fourth time", [`UPDATE authentication SET shown_count = 4 ${own}`], /at most three times/],
    [
      "given another deadline",
      [`UPDATE authentication SET deadline_at = now() + interval '1 h' ${own}`],
      /never changes/,
    ],
    [
      "followed by the end of the session",
      [
        ...givenUp.slice(0, 2),
        "UPDATE payment_session SET status = 'DECLINED', decline_code = 'x', settled_at = now(), vault_token = NULL WHERE id = $session",
      ],
      /no end while an action is open/,
    ],
    [
      "given time without having waited",
      ["UPDATE payment_session SET submit_deadline = submit_deadline + interval '1 h' WHERE id = $session"],
      /a deadline moves by the time/,
    ],
    [
      "given an hour after the wait",
      [
        ...completing.slice(0, 2),
        "UPDATE payment_session SET awaiting_since = NULL, submit_deadline = submit_deadline + interval '1 h' WHERE id = $session",
      ],
      /a deadline moves by the time/,
    ],
    ["joined by another attempt", [opening(`'${v7()}'`, 2)], /attempt_one_authorizing/],
  ])("is not %s", async (_, statements, wall) => {
    await refused(client, await waiting(), whole(...statements), wall);
  });

  it("is not completed a third time, nor given up once it is being completed", async () => {
    const run = await waiting();
    await run(whole(...completing));
    await refused(client, run, `UPDATE authentication SET completions_sent = 3 ${own}`, /at most twice/);
    await refused(client, run, endedAs("CANCELLED"), /illegal authentication transition CONFIRMING to CANCELLED/);
    await refused(
      client,
      run,
      `UPDATE authentication SET cancel_asked_at = now() ${own}`,
      /only a customer who is asked/,
    );
    await run(`UPDATE authentication SET completions_sent = 2 ${own}`);
    await refused(client, run, `UPDATE authentication SET completions_sent = 1 ${own}`, /only a running completion/);
  });

  it("rules out no hold that may appear by itself", async () => {
    const run = await waiting({ mayHold: true });
    await refused(client, run, whole(...givenUp), /is not ruled out by giving up/);
    const unknown = "UPDATE attempt SET status = 'UNKNOWN', failure_kind = 'TIMEOUT', stop = 'authentication_failed'";
    const late = (interval: string) =>
      `${unknown}, latest_execution_at = now() + interval '${interval}' WHERE id = $attempt`;
    await refused(
      client,
      run,
      whole(endedAs("ABANDONED"), late("90 min"), notWaiting),
      /for as long as the action lives/,
    );
    await run(whole(endedAs("ABANDONED"), late("130 min"), notWaiting));
    const adopted =
      "UPDATE attempt SET status = 'AUTHORIZED', failure_kind = NULL, gateway_reference = 'r' WHERE id = $attempt";
    await refused(client, run, adopted, /no hold is adopted after a failed authentication/);
    await refused(client, run, opening(`'${v7()}'`, 2), /no attempt follows a stop/);
  });
});

describe("a decline that asks for authentication", () => {
  it("is repeated once at its connection, and then stops nothing", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(decline("authentication_required"));
    await refused(client, run, opening(`'${v7()}'`, 2), /no attempt follows a stop/);
    await refused(client, run, repeated(2, `'${v7()}'`), /only a decline that asks for authentication is repeated/);
    await run(repeated(2));
    const end =
      "UPDATE attempt SET status = 'DECLINED', failure_kind = 'HARD_DECLINE', completed_at = now() WHERE session_id = $session AND round = 1";
    await run(end);
    await refused(client, run, repeated(3), /a session has one repeat/);
    await run(opening(`'${v7()}'`, 3));
    await refused(
      client,
      run,
      "UPDATE attempt SET round = 0 WHERE session_id = $session AND round = 1",
      /never changes/,
    );
  });

  it("is the only one that is repeated", async () => {
    const run = await submitted(client, "DECLINED");
    await refused(client, run, repeated(2), /only a decline that asks for authentication is repeated/);
    await refused(client, run, repeated(2).replace(", 1)", ", 2)"), /a session has one repeat/);
  });
});

describe("browser data", () => {
  it("are gone when the session ends", async () => {
    const run = await submitted(client, "DECLINED");
    await run("UPDATE payment_session SET browser_sealed = 'x' WHERE id = $session");
    const end =
      "UPDATE payment_session SET status = 'DECLINED', decline_code = 'x', settled_at = now(), vault_token = NULL";
    await refused(client, run, `${end} WHERE id = $session`, /browser data lives no longer/);
    await run(`${end}, browser_sealed = NULL WHERE id = $session`);
  });
});
