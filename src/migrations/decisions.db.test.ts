import { describe, expect, it } from "vitest";
import {
  captured,
  captureRefused,
  connectToPaymentDatabase,
  ended,
  refused,
  setAttempt,
  setSession,
  submitted,
  succeeded,
} from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();

const otherAmount = (minor: number) =>
  `captured_amount_minor = ${minor}, ordered_amount_minor = 4900, next_action = 'stop', next_because = 'seen'`;

const decide = (decision: "GIVEN_UP" | "CAPTURED", change = "") =>
  setAttempt(`decision = '${decision}',
  decision_reference = ${decision === "CAPTURED" ? "'r1'" : "NULL"}, decision_reason = 'looked there', decided_by = 'ada',
  decided_at = now(), decision_takes_two = true${change}`);
const confirmBy = (name: string) => setAttempt(`decision_confirmed_by = '${name}', decision_confirmed_at = now()`);
const toVoiding = setAttempt("status = 'VOIDING'");
const noWinner = setSession("winner_attempt_id = NULL");
const givenUp = setAttempt("status = 'VOIDED', void_kind = 'GIVEN_UP', completed_at = now()");
const pastDeadline = setSession("submit_deadline = now()");
const whole = (...statements: string[]) => `BEGIN; ${statements.join("; ")}; COMMIT`;

describe("a decision of a person", () => {
  it("ends an unanswered capture as given up once it is confirmed, and the session then ends without money", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(pastDeadline);
    const giveUp = whole(noWinner, toVoiding, givenUp);
    await refused(run, giveUp, /an unanswered capture is never given up/);
    await run(decide("GIVEN_UP"));
    await refused(run, giveUp, /an unanswered capture is never given up/);
    await run(confirmBy("grace"));
    await run(giveUp);
    await run(ended("DEGRADED"));
  });

  it("does not give up a capture that the deadline still has time for, nor a hold whose capture was never ordered", async () => {
    const words = /past the deadline, is given up/;
    await refused(await submitted(client, "CAPTURING"), decide("GIVEN_UP"), words);
    await refused(await submitted(client, "AUTHORIZED"), decide("GIVEN_UP"), words);
    await refused(await submitted(client, "AUTHORIZING"), decide("GIVEN_UP"), words);
    await refused(await submitted(client, "UNKNOWN"), decide("GIVEN_UP"), words);
  });

  it("ends a void as given up, and never without a confirmed decision", async () => {
    const run = await submitted(client, "UNKNOWN");
    await run(toVoiding);
    await refused(run, givenUp, /only a confirmed decision gives a void up/);
    await run(decide("GIVEN_UP"));
    await refused(run, givenUp, /only a confirmed decision gives a void up/);
    await run(confirmBy("grace"));
    await run(givenUp);
  });

  it("takes an attempt for captured only where its capture was ordered and the session has no end", async () => {
    const words = /only an ordered capture/;
    await refused(await submitted(client, "AUTHORIZED"), decide("CAPTURED"), words);
    const voiding = await submitted(client, "UNKNOWN");
    await voiding(whole(ended("DEGRADED"), toVoiding));
    await refused(voiding, decide("CAPTURED"), words);
    const run = await submitted(client, "CAPTURING");
    await run(decide("CAPTURED"));
    await run(confirmBy("grace"));
    await run(whole(captured, succeeded));
    await refused(run, confirmBy("eve"), /a confirmed decision never changes/);
  });

  it("is confirmed by another person, as it was decided, and never changes then", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(decide("CAPTURED"));
    await refused(run, confirmBy("ada"), /another person confirms a decision that takes two/);
    const other = confirmBy("grace").replace("SET", "SET decision_reference = 'r2',");
    await refused(run, other, /what is confirmed is what was decided/);
    await run(confirmBy("grace"));
    await refused(run, decide("CAPTURED"), /a confirmed decision never changes/);
    await refused(
      run,
      setAttempt("decision_confirmed_by = NULL, decision_confirmed_at = NULL"),
      /a confirmed decision never changes/,
    );
  });

  it("is withdrawn whole after its confirmation only where it says captured, and not made once the capture is refused", async () => {
    const withdrawn = setAttempt(`decision = NULL, decision_reference = NULL, decision_reason = NULL, decided_by = NULL,
      decided_at = NULL, decision_takes_two = NULL, decision_confirmed_by = NULL, decision_confirmed_at = NULL`);
    const run = await submitted(client, "CAPTURING");
    await run(pastDeadline);
    await run(decide("CAPTURED"));
    await run(confirmBy("grace"));
    await run(withdrawn);
    await run(decide("GIVEN_UP"));
    await run(confirmBy("grace"));
    await refused(run, withdrawn, /a confirmed decision never changes/);
    const other = await submitted(client, "CAPTURING");
    await other(whole(captureRefused));
    await refused(other, decide("CAPTURED"), /only an ordered capture/);
  });

  it("is not confirmed in the statement that makes it, where it takes two", async () => {
    const run = await submitted(client, "CAPTURING");
    const confirmed = ", decision_confirmed_by = 'grace', decision_confirmed_at = now()";
    const words = /a decision that takes two is confirmed after it was made/;
    await refused(run, decide("CAPTURED", confirmed), words);
    await run(decide("CAPTURED", confirmed).replace("takes_two = true", "takes_two = false"));
  });

  const wholeReason = /a decision has its reason, its person, its time and how many it takes/;
  const reference = /a decision has a reference if it says CAPTURED/;
  it.each([
    [
      "no reason",
      decide("CAPTURED", ", decision_reason = NULL").replace("decision_reason = 'looked there',", ""),
      wholeReason,
    ],
    ["no reference", decide("CAPTURED").replace("'r1'", "NULL"), reference],
    [
      "a reference without a capture",
      decide("GIVEN_UP").replace("decision_reference = NULL", "decision_reference = 'r'"),
      reference,
    ],
    ["another word", decide("CAPTURED").replace("'CAPTURED'", "'LOST'"), wholeReason],
    ["a confirmation alone", confirmBy("grace"), /a confirmation has its decision, its person and its time/],
  ])("is whole: %s is refused", async (_, sql, reason) => {
    const run = await submitted(client, "CAPTURING");
    await run(pastDeadline);
    await refused(run, sql, reason);
  });

  const ofPart = (minor: number) => decide("CAPTURED", `, decision_amount_minor = ${minor}`);
  const landed = /or one of a hold whose order is lost/;
  const amount = /of a capture, and at most the held one/;
  it("says that a hold was captured only with the amount, which is then the one that is recorded", async () => {
    const run = await submitted(client, "HELD");
    await refused(run, decide("CAPTURED"), landed);
    for (const minor of [0, 4_901]) await refused(run, ofPart(minor), amount);
    await run(ofPart(900));
    await run(confirmBy("grace"));
    const order = (minor: number) => `UPDATE payment_session SET capture_asked_at = now() WHERE id = $session;
      UPDATE attempt SET capture_ordered_at = now(), captured_amount_minor = ${minor} WHERE id = $attempt`;
    await refused(run, order(901), /the amount that a person has seen captured/);
    await run(whole(order(900), captured, succeeded));
    const unheld = await submitted(client, "AUTHORIZED");
    await refused(unheld, ofPart(900), landed);
  });

  it("names another amount than the ordered one, which is then recorded beside it with a reason", async () => {
    const run = await submitted(client, "CAPTURING");
    for (const minor of [0, 4_901]) await refused(run, ofPart(minor), amount);
    await refused(run, decide("GIVEN_UP", ", decision_amount_minor = 900"), amount);
    await run(ofPart(900));
    await run(confirmBy("grace"));
    await refused(run, whole(captured, succeeded), /the amount that a person has seen captured/);
    const other = (minor: number) => captured.replace("SET", `SET ${otherAmount(minor)},`);
    await refused(run, whole(other(901), succeeded), /the amount that a person has seen captured/);
    await run(whole(other(900), succeeded));
  });

  it("gives up a hold past its end, and no other", async () => {
    const run = await submitted(client, "HELD");
    await refused(run, decide("GIVEN_UP"), /a hold past its end/);
  });

  it("is not made of an attempt that is over, or with the attempt", async () => {
    const over = await submitted(client, "DECLINED");
    await refused(over, decide("GIVEN_UP"), /nothing is decided of an attempt that is over/);
    expect((await over("SELECT decision FROM attempt WHERE id = $attempt")).rows).toEqual([{ decision: null }]);
  });
});
