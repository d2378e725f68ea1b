import { describe, it } from "vitest";
import {
  captured,
  captureRefused,
  connectWithService,
  ended,
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

const toVoiding = setAttempt("status = 'VOIDING'");

describe("the guards of a payment", () => {
  it("store a payment that keeps every rule", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(`BEGIN; ${captured}; ${succeeded}; COMMIT`);
  });

  it.each<[what: string, from: Parameters<typeof submitted>[1], sql: string, wall: RegExp]>([
    ["a second attempt while one is AUTHORIZING", "AUTHORIZING", opening(2), /attempt_one_authorizing/],
    ["an attempt beside a winner", "AUTHORIZED", opening(2), /no attempt beside a winner/],
    ["an attempt after a fraud decline", "FRAUD", opening(2), /fraud-class decline is never retried/],
    [
      "a fraud decline that does not stop the plan",
      "AUTHORIZING",
      setAttempt("status = 'DECLINED', completed_at = now(), failure_kind = 'FRAUD'"),
      /a fraud-class decline is a stop/,
    ],
    [
      "an attempt for another amount than the session's",
      "DECLINED",
      opening(2, { amount: 4901 }),
      /attempt_session_id_amount_minor_currency_fkey/,
    ],
    [
      "a hold that is not the winner",
      "AUTHORIZING",
      setAttempt("status = 'AUTHORIZED', gateway_reference = 'r'"),
      /an authorized attempt is the winner/,
    ],
    [
      "to order the capture of anything but the winner",
      "UNKNOWN",
      setAttempt("capture_ordered_at = now()"),
      /only the authorized winner is captured/,
    ],
    [
      "CAPTURED before the capture was ordered",
      "AUTHORIZED",
      `${captured}; ${succeeded}`,
      /only an ordered capture is CAPTURED/,
    ],
    ["CAPTURED without SUCCEEDED", "CAPTURING", captured, /a captured attempt means SUCCEEDED/],
    ["SUCCEEDED without CAPTURED", "CAPTURING", succeeded, /payment_session_captured/],
    [
      "to give up a capture without an answer",
      "CAPTURING",
      `${setSession("winner_attempt_id = NULL")}; ${toVoiding}`,
      /an unanswered capture is never given up/,
    ],
    ["an end while AUTHORIZING", "AUTHORIZING", ended("DEGRADED"), /no end while an attempt is AUTHORIZING/],
    ["an end while UNKNOWN", "UNKNOWN", ended("DEGRADED"), /unknown attempts go to VOIDING/],
  ])("refuse %s", async (_, from, sql, wall) => {
    await refused(await submitted(client, from), sql, wall);
  });

  it("refuse an attempt after the deadline", async () => {
    const run = await submitted(client, "DECLINED");
    await run(setSession("submit_deadline = now()"));
    await refused(run, opening(2), /no attempt after the deadline/);
  });

  it("refuse a winner while another attempt stays UNKNOWN", async () => {
    const run = await submitted(client, "UNKNOWN");
    await refused(run, winning(await openedSecond(run)), /unknown attempts go to VOIDING/);
  });

  it("refuse to adopt a hold after a fraud decline", async () => {
    const run = await submitted(client, "UNKNOWN");
    const second = await openedSecond(run);
    await run(`UPDATE attempt SET status = 'DECLINED', completed_at = now(), failure_kind = 'FRAUD', stop = 'fraud'
      WHERE id = '${second}'`);
    await refused(run, winning(), /no hold is adopted after a fraud decline/);
  });

  it("refuse an end without a capture while one may still land", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(`BEGIN; ${captureRefused}; COMMIT`);
    await refused(run, ended("DEGRADED"), /no end without a capture while one may still land/);
  });

  it("refuse to leave VOIDING except for VOIDED or CAPTURED", async () => {
    const run = await submitted(client, "UNKNOWN");
    await run(toVoiding);
    await refused(run, setAttempt("status = 'UNKNOWN'"), /illegal attempt transition/);
    await refused(run, winning(), /illegal attempt transition VOIDING to AUTHORIZED/);
  });

  it("refuse 'never existed' before the latest execution time", async () => {
    const run = await submitted(client, "UNKNOWN");
    await run(toVoiding);
    const voided = (askedAt: string) =>
      setAttempt(`status = 'VOIDED', void_kind = 'NEVER_EXISTED', void_asked_at = ${askedAt}, completed_at = now()`);
    await refused(run, voided("now()"), /a hold never existed only if none can follow/);
    await run(voided("now() + interval '2 h'"));
  });

  it("refuse to change a final status, a phase backwards, an epoch backwards, or what was ordered", async () => {
    const run = await submitted(client, "CAPTURING");
    await refused(run, setSession("lease_epoch = 0"), /epoch never goes back/);
    await refused(run, setSession("amount_minor = 1"), /what was ordered never changes/);
    await run(`BEGIN; ${captured}; ${succeeded}; COMMIT`);
    await refused(run, setSession("status = 'DEGRADED'"), /a final status never changes/);
    await refused(run, setSession("phase = 'PROCESSING'"), /phase only moves forward/);
  });

  it("refuse DONE while an attempt is open, and a token that outlives its payment", async () => {
    const run = await submitted(client, "UNKNOWN");
    await refused(run, `${toVoiding}; ${ended("DEGRADED")}; ${setSession("phase = 'DONE'")}`, /every attempt is final/);
    const withToken = ended("DEGRADED").replace("vault_token = NULL,", "");
    await refused(run, `${toVoiding}; ${withToken}`, /the token lives no longer than the payment that may use it/);
  });

  it("refuse to delete a session or an attempt, or to drop a guard, as the service's role", async () => {
    const run = (sql: string) => service.query(sql);
    await refused(run, "DELETE FROM attempt", /permission denied/);
    await refused(run, "DELETE FROM payment_session", /permission denied/);
    await refused(run, "DROP TRIGGER guard ON partitions.attempt_rest", /must be owner/);
  });
});
