/** Tests what the database refuses of a provider's authentication. The titles name the rules of docs/safety.md. */
import { v7 } from "uuid";
import { describe, it } from "vitest";
import {
  awaited,
  connectToPaymentDatabase,
  ended,
  opening,
  refused,
  setSession,
  submitted,
  winning,
} from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();
const whole = (...statements: string[]) => `BEGIN; ${statements.join("; ")}; COMMIT`;

const own = "WHERE session_id = $session AND provider IS NOT NULL";
const columns = `session_id, id, sequence, connection_id, because, flow, status, provider, credential_version,
  holds_only_when_asked, action_life_ms, deadline_at`;
const provided = (id: string, sequence: number) =>
  `INSERT INTO authentication (${columns}) VALUES ($session, '${id}', ${sequence}, '${v7()}', 'b', 'FRICTIONLESS',
     'PREPARING', 'SANDBOX_3DS', 1, true, 0, now() + interval '10 min')`;
const beginning = (id: string = v7(), sequence = 1) => [
  provided(id, sequence),
  setSession(`authentications = ${sequence}`),
];
/** The first statement of a beginning, with one more column. */
const begunWith = (column: string, value: string) => [
  provided(v7(), 1).replace(columns, `${columns}, ${column}`).replace("'10 min')", `'10 min', ${value})`),
  beginning()[1]!,
];
const changed = (set: string) => `UPDATE authentication SET ${set} ${own}`;
const waiting = setSession("awaiting_since = now()");
const notWaiting = setSession("awaiting_since = NULL");
const checked = [changed("status = 'METHOD', action_sealed = 'x'"), waiting];
const requested = changed("status = 'REQUESTING', action_sealed = NULL");
const challenged = [changed("status = 'AWAITING_CUSTOMER', flow = 'CHALLENGE', action_sealed = 'x'"), waiting];
const cancelled = changed("cancel_asked_at = now()");
const finished = "completed_at = now(), action_sealed = NULL";
const endedAs = (status: string) => changed(`status = '${status}', ${finished}`);
const proven = changed(`status = 'AUTHENTICATED', ${finished}, trans_status = 'Y', eci = '05', proof_sealed = 'x'`);

const withProof = (attempt: string, authentication: string) =>
  opening(2, { id: attempt })
    .replace("latest_execution_at)", "latest_execution_at, authentication_id)")
    .replace("interval '1 h')", `interval '1 h', '${authentication}')`);
const decline = (stop: string, attempt = "$attempt") =>
  `UPDATE attempt SET status = 'DECLINED', failure_kind = 'SOFT_DECLINE', stop = ${stop}, completed_at = now() WHERE id = ${attempt}`;
const repeat = (authentication: string) =>
  `INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because,
     amount_minor, currency, latest_execution_at, round, authentication_id)
   VALUES ($session, '${v7()}', 2, 'SANDBOX_A', (SELECT connection_id FROM attempt WHERE id = $attempt), 1, 1, 'b', 4900,
     'EUR', now(), 1, ${authentication})`;

const states = {
  PREPARING: [],
  METHOD: [whole(...checked)],
  REQUESTING: [requested],
  AWAITING_CUSTOMER: [requested, whole(...challenged)],
  AUTHENTICATED: [requested, proven],
  REJECTED: [requested, endedAs("REJECTED")],
};

/** A session after a decline whose customer a provider authenticates, in this state. */
async function asked(state: keyof typeof states, { id = v7(), stop = "NULL" } = {}) {
  const run = await submitted(client, "AUTHORIZING");
  await run(decline(stop));
  await run(whole(...beginning(id)));
  for (const statement of states[state]) await run(statement);
  return run;
}

describe("a provider's authentication", () => {
  it("runs through device check and challenge to a proof, which the next gateway gets", async () => {
    const id = v7();
    const run = await asked("METHOD", { id });
    await run(whole(requested, notWaiting));
    await run(whole(...challenged));
    await run(whole(proven, notWaiting));
    await run(withProof(v7(), id));
  });

  it.each([
    ["further than with its preparation", [provided(v7(), 1).replace("PREPARING", "REQUESTING")], /its preparation/],
    ["with a challenge", [provided(v7(), 1).replace("FRICTIONLESS", "CHALLENGE")], /its preparation/],
    [
      "without the version of its credentials",
      [provided(v7(), 1).replace("'SANDBOX_3DS', 1,", "'SANDBOX_3DS', NULL,")],
      /its preparation/,
    ],
    ["A8: shown already", begunWith("shown_count", "1"), /its preparation/],
    ["A9: with a proof", begunWith("proof_sealed", "'x'"), /its preparation/],
    ["A9: with an action", begunWith("action_sealed", "'x'"), /its preparation/],
    ["A2: given up", begunWith("cancel_asked_at", "now()"), /its preparation/],
    ["A2: with a completing request", begunWith("completions_sent", "1"), /its preparation/],
    ["inside an attempt", begunWith("attempt_id", "$attempt"), /its preparation/],
    ["A8: without being counted", [provided(v7(), 1)], /a session counts its authentications/],
  ])("does not begin %s", async (_, statements, wall) => {
    await refused(await submitted(client, "DECLINED"), whole(...statements), wall);
  });

  it("A1: runs while no attempt does", async () => {
    const beside = /one thing at a time: no authentication beside an attempt/;
    await refused(await submitted(client, "AUTHORIZING"), whole(...beginning()), beside);
    const atBank = await submitted(client, "AUTHORIZING");
    await atBank(whole(...awaited));
    await refused(atBank, whole(...beginning(v7(), 2)), beside);
    const run = await asked("PREPARING");
    await refused(run, opening(2), /no attempt beside an authentication/);
  });

  it("A1: does not begin beside a hold, nor after the end", async () => {
    const held = await submitted(client, "AUTHORIZED");
    await refused(held, whole(...beginning()), /needs a session in processing/);
    const over = await submitted(client, "DECLINED");
    await over(ended("DECLINED"));
    await refused(over, whole(...beginning()), /needs a session in processing/);
  });

  it("A6, A8: happens once, and not after a customer whom a gateway's authentication refused", async () => {
    const run = await asked("AUTHENTICATED");
    await refused(run, whole(...beginning(v7(), 2)), /a provider authenticates once/);
    const failed = await submitted(client, "AUTHORIZING");
    await failed(whole(...awaited));
    await failed(
      whole(
        "UPDATE authentication SET status = 'FAILED', completed_at = now() WHERE session_id = $session",
        decline("'authentication_failed'"),
        notWaiting,
      ),
    );
    await refused(failed, whole(...beginning(v7(), 2)), /nothing follows a failed authentication/);
  });

  it.each([
    ["A13: ended without its request", "PREPARING", [endedAs("AUTHENTICATED")], /PREPARING to AUTHENTICATED/],
    ["A13: ended after the device check alone", "METHOD", [endedAs("AUTHENTICATED"), notWaiting], /METHOD to AUTHEN/],
    ["A13: prepared again", "REQUESTING", [changed("status = 'PREPARING'")], /REQUESTING to PREPARING/],
    ["A13: requested again", "AWAITING_CUSTOMER", [requested, notWaiting], /AWAITING_CUSTOMER to REQUESTING/],
    ["A6: authenticated after its refusal", "REJECTED", [changed("status = 'AUTHENTICATED'")], /illegal .* REJECTED/],
    ["confirmed as a gateway's", "AWAITING_CUSTOMER", [changed("status = 'CONFIRMING'")], /to CONFIRMING/],
    ["without its customer waiting", "REQUESTING", [challenged[0]!], /a session waits exactly while/],
    ["with its customer waiting for nothing", "METHOD", [requested], /a session waits exactly while/],
    [
      "a challenge without being counted",
      "REQUESTING",
      [challenged[0]!.replace("flow = 'CHALLENGE', ", ""), waiting],
      /a challenge is counted/,
    ],
    [
      "A8: called a challenge without one",
      "REQUESTING",
      [changed("flow = 'CHALLENGE'")],
      /a challenge is offered once/,
    ],
    [
      "A8: turned back from a challenge",
      "AWAITING_CUSTOMER",
      [changed("flow = 'FRICTIONLESS'")],
      /a challenge is offered once/,
    ],
    ["A2: given up before the customer sees it", "PREPARING", [cancelled], /only a customer who is asked/],
    ["A13: authenticated after the customer gave up", "REQUESTING", [cancelled, proven], /after a customer gave up/],
    ["A13: asked of a customer who gave up", "REQUESTING", [cancelled, ...challenged], /after a customer gave up/],
    [
      "A2: given up twice",
      "REQUESTING",
      [cancelled, changed("cancel_asked_at = now() + interval '1 s'")],
      /gives up, once/,
    ],
    ["A10: given another deadline", "PREPARING", [changed("deadline_at = now() + interval '1 h'")], /never changes/],
    ["taken to another provider", "PREPARING", [changed("provider = 'OTHER'")], /never changes/],
    ["taken to other credentials", "PREPARING", [changed("credential_version = 2")], /never changes/],
    ["made a gateway's", "PREPARING", [changed("provider = NULL")], /a gateway's or a provider's/],
    ["A9: shown without asking", "REQUESTING", [changed("action_sealed = 'x'")], /while the customer is asked/],
    [
      "A9: ended with its action",
      "AWAITING_CUSTOMER",
      [changed("status = 'FAILED', completed_at = now()"), notWaiting],
      /an action lives no longer/,
    ],
    [
      "A9: ended with what is kept for its calls",
      "REQUESTING",
      [changed(`status = 'FAILED', ${finished}, keep_sealed = 'x'`)],
      /an action lives no longer/,
    ],
    ["ended without its time", "REQUESTING", [changed("status = 'FAILED'")], /a final authentication has its time/],
    ["changed after its end", "AUTHENTICATED", [changed("eci = '06'")], /a final authentication never changes/],
    [
      "renamed after its end",
      "AUTHENTICATED",
      [changed("ds_transaction_id = 'x'")],
      /a final authentication never changes/,
    ],
    ["given up after its end", "AUTHENTICATED", [cancelled], /only a customer who is asked/],
    ["of an unknown liability", "REQUESTING", [changed("liability = 'x'")], /no liability/],
    ["A11: open when the session ends", "REQUESTING", [ended("DECLINED")], /no end while an authentication is open/],
    [
      "A10: a reason for more time",
      "REQUESTING",
      [setSession("submit_deadline = submit_deadline + interval '20 s'")],
      /a deadline moves by the time/,
    ],
  ] as const)("is not %s", async (_, state, statements, wall) => {
    await refused(await asked(state), whole(...statements), wall);
  });

  it("A8: offers no third challenge", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(decline("NULL"));
    for (const sequence of [1, 2]) {
      const id = v7();
      await run(opening(sequence + 1, { id }));
      const statements = awaited.map((sql) =>
        sql
          .replace("1, id, connection_id", `${sequence}, id, connection_id`)
          .replaceAll("$attempt", `'${id}'`)
          .replace("authentications = 1", `authentications = ${sequence}`),
      );
      await run(whole(...statements));
      const end = `UPDATE authentication SET status = 'UNAVAILABLE', completed_at = now() WHERE session_id = $session AND sequence = ${sequence}`;
      await run(whole(decline("NULL", `'${id}'`), end, notWaiting));
    }
    await run(whole(...beginning(v7(), 3)));
    await run(requested);
    await refused(run, whole(...challenged), /at most two challenges/);
  });

  it.each(["FAILED", "REJECTED", "CANCELLED", "ABANDONED"])("A6: is followed by no attempt once %s", async (status) => {
    const run = await asked("REQUESTING");
    await run(endedAs(status));
    await refused(run, opening(2), /no attempt follows a refusal by the provider/);
  });

  it("A6: is followed by no adopted hold once it has failed", async () => {
    const run = await submitted(client, "UNKNOWN");
    for (const statement of [whole(...beginning()), requested, endedAs("REJECTED")]) await run(statement);
    await refused(run, winning(), /no hold is adopted after a refusal by the provider/);
  });

  it("A12: is abandoned after a restore, and begins only after the gateways were asked", async () => {
    const run = await asked("REQUESTING");
    const fresh = await submitted(client, "DECLINED");
    await client.query("UPDATE payment_session SET unrecorded_check_at = now() WHERE status = 'CREATED'");
    await refused(run, proven, /while the session is in doubt/);
    await refused(run, whole(...challenged), /while the session is in doubt/);
    await refused(fresh, whole(...beginning()), /while the session is in doubt/);
    await run(endedAs("ABANDONED"));
  });
});

describe("a proof", () => {
  it("A9: goes with attempts of its own session only", async () => {
    const other = v7();
    await asked("AUTHENTICATED", { id: other });
    await refused(await asked("AUTHENTICATED"), withProof(v7(), other), /gets the proof of this session/);
  });

  it("A9: is of an authenticated customer", async () => {
    const run = await asked("REQUESTING");
    const refusedByBank = changed(`status = 'FAILED', ${finished}, proof_sealed = 'x'`);
    await refused(run, refusedByBank, /a proof is of an authenticated customer/);
    await refused(run, changed("proof_sealed = 'x'"), /a proof is of an authenticated customer/);
  });

  it("A9: is never another one, and no attempt names one that is gone", async () => {
    const id = v7();
    const run = await asked("AUTHENTICATED", { id });
    await refused(run, changed("proof_sealed = 'y'"), /a final authentication never changes/);
    await run(changed("proof_sealed = NULL"));
    await refused(run, changed("proof_sealed = 'x'"), /a final authentication never changes/);
    await refused(run, withProof(v7(), id), /gets the proof of this session/);
  });

  it("A9: is gone when the session ends, and never comes back", async () => {
    const run = await asked("AUTHENTICATED");
    await refused(run, ended("DECLINED"), /a proof lives no longer than the payment/);
    await run(whole(changed("proof_sealed = NULL"), ended("DECLINED")));
    await refused(run, changed("proof_sealed = 'x'"), /never changes|lives no longer than the payment/);
  });

  it("A7: is named by no repeat at a gateway that gets none", async () => {
    const run = await asked("AUTHENTICATED", { stop: "'authentication_required'" });
    await run(repeat("NULL"));
  });

  it("A7: is named by the repeat that follows it, which names no other", async () => {
    const id = v7();
    const stop = "'authentication_required'";
    const run = await asked("AUTHENTICATED", { id, stop });
    const planned = (step: string) => setSession(`plan = jsonb_build_array(${step})`);
    const own = "'connectionId', (SELECT connection_id FROM attempt WHERE id = $attempt)";
    await run(planned(`jsonb_build_object(${own}, 'provider', '{}')`));
    await refused(run, repeat("NULL"), /a repeat names the authentication that it follows/);
    await refused(run, repeat(`'${v7()}'`), /gets the proof of this session/);
    await run(repeat(`'${id}'`));
    await refused(run, "UPDATE attempt SET authentication_id = NULL WHERE session_id = $session", /never changes/);
  });
});

describe("a gateway's authentication", () => {
  it.each([
    ["a proof", "proof_sealed", "'x'"],
    ["a bank's message", "message_sealed", "'x'"],
    ["a provider's look", "next_look_at", "now()"],
    ["a provider's credentials", "credential_version", "1"],
  ])("has not %s", async (_, column, value) => {
    const begun = awaited[0]!.replace("because,", `because, ${column},`).replace("'b',", `'b', ${value},`);
    const run = await submitted(client, "AUTHORIZING");
    await refused(run, whole(begun, ...awaited.slice(1)), /a gateway's or a provider's/);
  });
});

describe("a bank's message", () => {
  const written = changed("message_sealed = 'x'");

  it.each(["METHOD", "REQUESTING"] as const)("A9: does not come before the bank's answer: %s", async (state) => {
    await refused(await asked(state), written, /comes with its answer/);
  });

  it("A9: is gone with a customer who gives up, and never changes after the end, from which it can be deleted", async () => {
    const run = await asked("AWAITING_CUSTOMER");
    await run(written);
    const end = (status: string) => whole(endedAs(status), notWaiting);
    await refused(run, end("ABANDONED"), /comes with its answer/);
    await run(end("FAILED"));
    await refused(run, changed("message_sealed = 'y'"), /a final authentication never changes/);
    await run(changed("message_sealed = NULL"));
    await refused(run, written, /a final authentication never changes/);
  });
});

describe("data of a customer", () => {
  it.each([
    ["the browser's, kept", setSession("browser_sealed = 'x'")],
    ["an action, kept", changed("action_sealed = 'x'")],
    ["a ticket, kept", changed("ticket_hash = 'x'")],
  ])("A9: is not in a settled session: %s", async (_, sql) => {
    const run = await asked("AUTHENTICATED");
    await run(whole(changed("proof_sealed = NULL"), ended("DECLINED")));
    await refused(run, sql, /lives no longer|never changes/);
  });
});
