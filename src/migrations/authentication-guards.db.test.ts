/** Tests what the database refuses of customer authentication. The titles name the rules of docs/safety.md. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import {
  awaited,
  connectWithService,
  opening,
  refused,
  setAttempt,
  setSession,
  submitted,
} from "./payment-rows.fixture.ts";

const { owner: client, service } = await connectWithService();
const whole = (...statements: string[]) => `BEGIN; ${statements.join("; ")}; COMMIT`;

const own = "WHERE session_id = $session";
const completing = [
  `UPDATE authentication SET status = 'CONFIRMING', completions_sent = 1, answered_at = now() ${own}`,
  setAttempt("status = 'AUTHORIZING', next_retry_at = NULL"),
  setSession("awaiting_since = NULL"),
];
const resumed = [
  `UPDATE authentication SET status = 'AWAITING_CUSTOMER', answered_at = NULL ${own}`,
  setAttempt("status = 'AWAITING_CUSTOMER', next_retry_at = now()"),
  setSession("awaiting_since = now()"),
];
const endedAs = (status: string) => `UPDATE authentication SET status = '${status}', completed_at = now() ${own}`;
const declined = setAttempt(`status = 'DECLINED', failure_kind = 'SOFT_DECLINE', stop = 'authentication_failed',
  completed_at = now()`);
const notWaiting = setSession("awaiting_since = NULL");
const givenUp = [endedAs("CANCELLED"), declined, notWaiting];
const byItself = awaited.map((sql) => sql.replace("true, 0,", "false, 7200000,"));

/** A session whose customer is asked; with `mayHold`, at a gateway that may hold by itself. */
async function waiting({ mayHold = false } = {}) {
  const run = await submitted(client, "AUTHORIZING");
  await run(whole(...(mayHold ? byItself : awaited)));
  return run;
}

const decline = (stop: string) =>
  setAttempt(`status = 'DECLINED', failure_kind = 'SOFT_DECLINE', stop = '${stop}', completed_at = now()`);
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
    ["A3: without its attempt", [awaited[0]!, awaited[2]!], /an attempt and its authentication change together/],
    ["A3: without its session", [awaited[0]!, awaited[1]!], /a session waits exactly while an action is open/],
    [
      "A8: without a count",
      [awaited[0]!, awaited[1]!, awaited[2]!.replace(", authentications = 1", "")],
      /a session counts/,
    ],
    [
      "A2: that is completed already",
      [awaited[0]!.replace("holds_only", "completions_sent, holds_only").replace("'b', true", "'b', 1, true")],
      /begins with its action/,
    ],
    [
      "with another flow",
      [awaited[0]!.replace("because,", "because, flow,").replace("'b',", "'b', 'CHALLENGE',")],
      /such a flow/,
    ],
  ])("does not begin %s", async (_, statements, wall) => {
    await refused(await submitted(client, "AUTHORIZING"), whole(...statements), wall);
  });

  it.each([
    [
      "A2: completed after the customer gave up",
      [`UPDATE authentication SET cancel_asked_at = now() ${own}`, ...completing],
      /nothing is completed after/,
    ],
    [
      "A2: completed without a count",
      [completing[0]!.replace(", completions_sent = 1", ""), ...completing.slice(1)],
      /counted before it is sent/,
    ],
    ["A3: completed apart from its attempt", [completing[0]!, completing[2]!], /change together/],
    ["A3: given up apart from its attempt", [givenUp[0]!, givenUp[2]!], /change together/],
    ["A3: left while the session waits on", givenUp.slice(0, 2), /a session waits exactly/],
    [
      "A9: ended with its action kept",
      [`UPDATE authentication SET action_sealed = 'x' ${own}`, ...givenUp],
      /lives no longer than its authentication/,
    ],
    ["A8: shown a fourth time", [`UPDATE authentication SET shown_count = 4 ${own}`], /at most three times/],
    [
      "A10: given another deadline",
      [`UPDATE authentication SET deadline_at = now() + interval '1 h' ${own}`],
      /never changes/,
    ],
    [
      "A11: followed by the end of the session",
      [
        ...givenUp.slice(0, 2),
        setSession("status = 'DECLINED', decline_code = 'x', settled_at = now(), vault_token = NULL"),
      ],
      /no end while an action is open/,
    ],
    [
      "A10: given time without having waited",
      [setSession("submit_deadline = submit_deadline + interval '1 h'")],
      /a deadline moves by the time/,
    ],
    [
      "A10: given an hour after the wait",
      [
        ...completing.slice(0, 2),
        setSession("awaiting_since = NULL, submit_deadline = submit_deadline + interval '1 h'"),
      ],
      /a deadline moves by the time/,
    ],
    [
      "A1: joined by another one",
      [
        awaited[0]!.replace("1, id, connection_id", `2, id, '${v7()}'`),
        awaited[2]!.replace("authentications = 1", "authentications = 2"),
      ],
      /authentication_session_id_attempt_id_key|authentication_one_open/,
    ],
    [
      "A5: given a later latest execution time while it waits",
      [setAttempt("latest_execution_at = latest_execution_at + interval '1 h'")],
      /what an attempt asked for never changes/,
    ],
    ["changed from a challenge to none", [`UPDATE authentication SET flow = 'FRICTIONLESS' ${own}`], /never changes/],
    ["A1: joined by another attempt", [opening(2)], /attempt_one_authorizing/],
  ])("is not %s", async (_, statements, wall) => {
    await refused(await waiting(), whole(...statements), wall);
  });

  it("A2, A3: is not completed a third time, nor given up once it is being completed", async () => {
    const run = await waiting();
    await run(whole(...completing));
    await refused(run, `UPDATE authentication SET completions_sent = 3 ${own}`, /at most twice/);
    await refused(run, endedAs("CANCELLED"), /illegal authentication transition CONFIRMING to CANCELLED/);
    await refused(run, `UPDATE authentication SET cancel_asked_at = now() ${own}`, /only a customer who is asked/);
    await run(`UPDATE authentication SET completions_sent = 2 ${own}`);
    await refused(run, `UPDATE authentication SET completions_sent = 1 ${own}`, /only a running completion/);
  });

  it("A4: rules out no hold that a completing request may have made", async () => {
    const run = await waiting();
    await run(whole(...completing));
    await run(whole(...resumed));
    await refused(run, whole(...givenUp), /a completing request may have made/);
  });

  it("A4, A5, A6: rules out no hold that may appear by itself", async () => {
    const run = await waiting({ mayHold: true });
    await refused(run, whole(...givenUp), /is not ruled out by giving up/);
    const unknown = "UPDATE attempt SET status = 'UNKNOWN', failure_kind = 'TIMEOUT', stop = 'authentication_failed'";
    const late = (interval: string) =>
      `${unknown}, latest_execution_at = now() + interval '${interval}' WHERE id = $attempt`;
    await refused(run, whole(endedAs("ABANDONED"), late("90 min"), notWaiting), /for as long as the action lives/);
    await run(whole(endedAs("ABANDONED"), late("130 min"), notWaiting));
    const adopted = setAttempt("status = 'AUTHORIZED', failure_kind = NULL, gateway_reference = 'r'");
    await refused(run, adopted, /no hold is adopted after a failed authentication/);
    await refused(run, opening(2), /no attempt follows a stop/);
  });
});

describe("a decline after which the gateway allows another try", () => {
  const retried = (sequence: number, connection?: string) => repeated(sequence, connection).replace(", 1)", ", 2)");
  const rule = (version: number, retries: boolean) =>
    `INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on, retries_same_gateway)
     SELECT merchant_id, ${version}, '{}', '{}', ${retries} FROM payment_session WHERE id = $session ON CONFLICT DO NOTHING`;
  const allowed = setAttempt("next_action = 'retry', next_because = 'b'");
  const uncertain = /only a certain decline is retried, where the rule says so/;

  it("11: is retried once in the session, directly and at its connection, where the rule says so", async () => {
    const run = await submitted(client, "DECLINED", v7(), { ruleVersion: 1 });
    await run(rule(1, true));
    await refused(run, retried(2), uncertain);
    await run(allowed);
    await refused(run, retried(2, `'${v7()}'`), uncertain);
    await run(retried(2));
    await run(
      "UPDATE attempt SET status = 'DECLINED', failure_kind = 'HARD_DECLINE', completed_at = now(), next_action = 'retry', next_because = 'b' WHERE session_id = $session AND round = 2",
    );
    await refused(run, retried(3), /a session has one retry/);
    await run(opening(3));
  });

  it("11: is retried by no other rule, and nothing else is", async () => {
    const declinedByOther = await submitted(client, "DECLINED", v7(), { ruleVersion: 2 });
    await declinedByOther(rule(2, false));
    await declinedByOther(allowed);
    await refused(declinedByOther, retried(2), uncertain);
    for (const status of ["UNKNOWN", "FRAUD"] as const) {
      const run = await submitted(client, status, v7(), { ruleVersion: 1 });
      await run(rule(1, true));
      await run(allowed);
      await refused(run, retried(2), uncertain);
    }
  });
});

describe("a decline that asks for authentication", () => {
  it("A7: is repeated once at its connection, and then stops nothing", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(decline("authentication_required"));
    await refused(run, opening(2), /no attempt follows a stop/);
    await refused(run, repeated(2, `'${v7()}'`), /only a decline that asks for authentication is repeated/);
    await run(repeated(2));
    const end =
      "UPDATE attempt SET status = 'DECLINED', failure_kind = 'HARD_DECLINE', completed_at = now() WHERE session_id = $session AND round = 1";
    await run(end);
    await refused(run, repeated(3), /a session has one repeat/);
    await run(opening(3));
    await refused(run, "UPDATE attempt SET round = 0 WHERE session_id = $session AND round = 1", /never changes/);
  });

  it("A7: is the only one that is repeated", async () => {
    const run = await submitted(client, "DECLINED");
    await refused(run, repeated(2), /only a decline that asks for authentication is repeated/);
    await refused(run, repeated(2).replace(", 1)", ", 3)"), /a session has one repeat/);
  });
});

describe("browser data", () => {
  it("A9: are gone when the session ends", async () => {
    const run = await submitted(client, "DECLINED");
    await run(setSession("browser_sealed = 'x'"));
    const end =
      "UPDATE payment_session SET status = 'DECLINED', decline_code = 'x', settled_at = now(), vault_token = NULL";
    await refused(run, `${end} WHERE id = $session`, /browser data lives no longer/);
    await run(`${end}, browser_sealed = NULL WHERE id = $session`);
  });
});

const refusedByBank = [completing, [decline("authentication_failed"), endedAs("FAILED")]];
/** A challenge in the attempt of this id, at its connection or at another. */
const another = (next: string, sequence: number, connection = "connection_id") =>
  awaited.map((sql) =>
    sql
      .replace("1, id, connection_id", `${sequence}, id, ${connection}`)
      .replaceAll("$attempt", `'${next}'`)
      .replace("authentications = 1", `authentications = ${sequence}`),
  );

describe("a refused authentication", () => {
  it("A6: is followed by no attempt, no other authentication and no completing request", async () => {
    const run = await waiting();
    for (const statements of refusedByBank) await run(whole(...statements));
    await refused(run, opening(2), /no attempt follows a stop/);
    const first = "SELECT session_id, gen_random_uuid(), 2, gen_random_uuid()";
    const insert = awaited[0]!.replace("SELECT session_id, gen_random_uuid(), 1, id", first);
    await refused(run, insert, /nothing follows a failed authentication/);
    await refused(run, completing[0]!, /an authentication that has ended never changes/);
  });

  it("A3, A6: never changes", async () => {
    const run = await waiting();
    await run(whole(...givenUp));
    await refused(run, endedAs("AUTHENTICATED"), /never changes/);
    await refused(run, `UPDATE authentication SET liability = 'ISSUER' ${own}`, /never changes/);
  });
});

describe("a session", () => {
  const declinedHard = `UPDATE attempt SET status = 'DECLINED', failure_kind = 'HARD_DECLINE', completed_at = now()`;

  /** A session whose first gateway has challenged the customer and declined, with an attempt at the next one. */
  async function challenged() {
    const run = await waiting();
    await run(whole(...completing));
    await run(whole(`${declinedHard} WHERE id = $attempt`, endedAs("AUTHENTICATED")));
    const next = v7();
    await run(opening(2, { id: next }));
    return { run, next };
  }

  it("A8: offers no second challenge at one gateway", async () => {
    const connection = "(SELECT connection_id FROM authentication WHERE session_id = $session)";
    const { run, next } = await challenged();
    await refused(run, whole(...another(next, 2, connection)), /authentication_one_challenge/);
  });

  it("A8: offers no third challenge", async () => {
    const { run, next } = await challenged();
    await run(whole(...another(next, 2)));
    await run(
      whole(
        `${declinedHard} WHERE id = '${next}'`,
        `UPDATE authentication SET status = 'UNAVAILABLE', completed_at = now() ${own} AND attempt_id = '${next}'`,
        notWaiting,
      ),
    );
    const third = v7();
    await run(opening(3, { id: third }));
    await refused(run, whole(...another(third, 3)), /at most two challenges/);
  });
});

describe("an authentication without the customer", () => {
  const frictionless = (status: string, more = "", value = "", completedAt = "now()") => [
    `INSERT INTO authentication (session_id, id, sequence, attempt_id, connection_id, because, flow, status,
       holds_only_when_asked, action_life_ms, deadline_at, completed_at${more})
     SELECT session_id, gen_random_uuid(), 1, id, connection_id, 'b', 'FRICTIONLESS', '${status}', true, 0, now(), ${completedAt}${value}
     FROM attempt WHERE id = $attempt`,
    setSession("authentications = 1"),
  ];

  it("A8: counts as no challenge", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(whole(...frictionless("AUTHENTICATED"), decline("authentication_required")));
    await run(repeated(2));
    const again = "(SELECT id FROM attempt WHERE session_id = $session AND round = 1)";
    await run(
      whole(
        awaited[0]!.replace("1, id, connection_id", "2, id, connection_id").replace("$attempt", again),
        awaited[1]!.replace("$attempt", again),
        awaited[2]!.replace("authentications = 1", "authentications = 2"),
      ),
    );
  });

  it.each([
    ["A3: with a customer who waits", frictionless("AWAITING_CUSTOMER", "", "", "NULL"), /begins with its end/],
    [
      "A2: while it is completed",
      frictionless("CONFIRMING", ", completions_sent", ", 1", "NULL"),
      /begins with its action/,
    ],
    ["with a customer who gave up", frictionless("CANCELLED"), /begins with its end/],
    [
      "with a customer who answered",
      frictionless("AUTHENTICATED", ", answered_at", ", now()"),
      /begins with its action/,
    ],
    ["A8: with a page that was shown", frictionless("AUTHENTICATED", ", shown_count", ", 1"), /begins with its action/],
    ["A9: with an action", frictionless("AUTHENTICATED", ", action_sealed", ", 'x'"), /lives no longer/],
    ["without an end", frictionless("AUTHENTICATED", "", "", "NULL"), /a final authentication has its time/],
    ["A3: before its attempt's answer", frictionless("AUTHENTICATED"), /change together/],
    [
      "uncounted",
      [frictionless("AUTHENTICATED")[0]!, decline("authentication_required")],
      /a session counts its authentications/,
    ],
  ])("is not stored %s", async (_, statements, wall) => {
    await refused(await submitted(client, "AUTHORIZING"), whole(...statements), wall);
  });
});

describe("after a restore", () => {
  /** A session whose customer is asked, in doubt. */
  async function inDoubt(options?: { mayHold?: boolean }) {
    const session = v7();
    const run = await submitted(client, "AUTHORIZING", session);
    await run(whole(...(options?.mayHold ? byItself : awaited)));
    return { run, session };
  }
  const doubt = (session: string) =>
    client.query("UPDATE payment_session SET unrecorded_check_at = now() WHERE id = $1", [session]);

  it("A12: nothing is completed, for the first or the second time", async () => {
    const { run, session } = await inDoubt();
    await doubt(session);
    await refused(run, whole(...completing), /nothing is completed while the session is in doubt/);
    const other = await inDoubt();
    await other.run(whole(...completing));
    await doubt(other.session);
    await refused(other.run, `UPDATE authentication SET completions_sent = 2 ${own}`, /is in doubt/);
  });

  it("A12: an open action is abandoned, and its attempt is not ruled out", async () => {
    const { run, session } = await inDoubt();
    await doubt(session);
    await refused(run, whole(endedAs("ABANDONED"), declined, notWaiting), /not declined by giving up/);
    const unknown = setAttempt("status = 'UNKNOWN', failure_kind = 'TIMEOUT', stop = 'authentication_failed'");
    await run(whole(endedAs("ABANDONED"), unknown, notWaiting));
  });

  it("A12: the service cannot put a session in doubt by itself", async () => {
    const { session } = await inDoubt();
    const itself = service.query("SELECT FROM app.set_unrecorded_check($1, now(), NULL)", [session]);
    await expect(itself).rejects.toThrow("only the owner of the database declares a restore");
  });
});
