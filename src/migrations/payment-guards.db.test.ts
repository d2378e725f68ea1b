import { v7 } from "uuid";
import { describe, it } from "vitest";
import { captured, connectWithService, ended, opening, refused, submitted, succeeded } from "./payment-rows.fixture.ts";

const { owner: client, service } = await connectWithService();

describe("the guards of a payment", () => {
  it("store a payment that keeps every rule", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(`BEGIN; ${captured}; ${succeeded}; COMMIT`);
  });

  it("refuse a second attempt while one is AUTHORIZING", async () => {
    await refused(client, await submitted(client, "AUTHORIZING"), opening(`'${v7()}'`, 2), /attempt_one_authorizing/);
  });

  it("refuse an attempt beside a winner", async () => {
    await refused(client, await submitted(client, "AUTHORIZED"), opening(`'${v7()}'`, 2), /no attempt beside a winner/);
  });

  it("refuse an attempt after a fraud decline", async () => {
    await refused(
      client,
      await submitted(client, "FRAUD"),
      opening(`'${v7()}'`, 2),
      /fraud-class decline is never retried/,
    );
  });

  it("refuse a fraud decline that does not stop the plan", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await refused(
      client,
      run,
      `UPDATE attempt SET status = 'DECLINED', completed_at = now(), failure_kind = 'FRAUD' WHERE id = $attempt`,
      /a fraud-class decline is a stop/,
    );
  });

  it("refuse an attempt after the deadline", async () => {
    const run = await submitted(client, "DECLINED");
    await run("UPDATE payment_session SET submit_deadline = now() WHERE id = $session");
    await refused(client, run, opening(`'${v7()}'`, 2), /no attempt after the deadline/);
  });

  it("refuse an attempt for another amount than the session's", async () => {
    await refused(
      client,
      await submitted(client, "DECLINED"),
      opening(`'${v7()}'`, 2, "4901"),
      /attempt_session_id_amount_minor_currency_fkey/,
    );
  });

  it("refuse a hold that is not the winner", async () => {
    await refused(
      client,
      await submitted(client, "AUTHORIZING"),
      `UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = 'r' WHERE id = $attempt`,
      /an authorized attempt is the winner/,
    );
  });

  it("refuse a winner while another attempt stays UNKNOWN", async () => {
    const run = await submitted(client, "UNKNOWN");
    const second = v7();
    await run(opening(`'${second}'`, 2));
    await refused(
      client,
      run,
      `UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = 'r2' WHERE id = '${second}';
       UPDATE payment_session SET winner_attempt_id = '${second}' WHERE id = $session`,
      /unknown attempts go to VOIDING/,
    );
  });

  it("refuse to adopt a hold after a fraud decline", async () => {
    const run = await submitted(client, "UNKNOWN");
    const second = v7();
    await run(opening(`'${second}'`, 2));
    await run(`UPDATE attempt SET status = 'DECLINED', completed_at = now(), failure_kind = 'FRAUD', stop = 'fraud'
      WHERE id = '${second}'`);
    await refused(
      client,
      run,
      `UPDATE attempt SET status = 'AUTHORIZED', failure_kind = NULL, gateway_reference = 'r4' WHERE id = $attempt;
       UPDATE payment_session SET winner_attempt_id = $attempt WHERE id = $session`,
      /no hold is adopted after a fraud decline/,
    );
  });

  it("refuse to order the capture of anything but the winner", async () => {
    await refused(
      client,
      await submitted(client, "UNKNOWN"),
      "UPDATE attempt SET capture_ordered_at = now() WHERE id = $attempt",
      /only the authorized winner is captured/,
    );
  });

  it("refuse CAPTURED before the capture was ordered", async () => {
    await refused(
      client,
      await submitted(client, "AUTHORIZED"),
      `${captured}; ${succeeded}`,
      /only an ordered capture is CAPTURED/,
    );
  });

  it("refuse CAPTURED without SUCCEEDED, and SUCCEEDED without CAPTURED", async () => {
    await refused(client, await submitted(client, "CAPTURING"), captured, /a captured attempt means SUCCEEDED/);
    await refused(client, await submitted(client, "CAPTURING"), succeeded, /payment_session_captured/);
  });

  it("refuse to give up a capture without an answer", async () => {
    await refused(
      client,
      await submitted(client, "CAPTURING"),
      `UPDATE payment_session SET winner_attempt_id = NULL WHERE id = $session;
       UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt`,
      /an unanswered capture is never given up/,
    );
  });

  it("refuse an end without a capture while one may still land", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(`BEGIN; UPDATE payment_session SET winner_attempt_id = NULL WHERE id = $session;
      UPDATE attempt SET status = 'VOIDING', capture_refusal_code = 'expired' WHERE id = $attempt; COMMIT`);
    await refused(client, run, ended("DEGRADED"), /no end without a capture while one may still land/);
  });

  it("refuse an end while an attempt is AUTHORIZING or UNKNOWN", async () => {
    await refused(
      client,
      await submitted(client, "AUTHORIZING"),
      ended("DEGRADED"),
      /no end while an attempt is AUTHORIZING/,
    );
    await refused(client, await submitted(client, "UNKNOWN"), ended("DEGRADED"), /unknown attempts go to VOIDING/);
  });

  it("refuse to leave VOIDING except for VOIDED or CAPTURED", async () => {
    const run = await submitted(client, "UNKNOWN");
    await run("UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt");
    await refused(
      client,
      run,
      "UPDATE attempt SET status = 'UNKNOWN' WHERE id = $attempt",
      /illegal attempt transition/,
    );
    await refused(
      client,
      run,
      `UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = 'r3' WHERE id = $attempt;
       UPDATE payment_session SET winner_attempt_id = $attempt WHERE id = $session`,
      /illegal attempt transition VOIDING to AUTHORIZED/,
    );
  });

  it("refuse 'never existed' before the latest execution time", async () => {
    const run = await submitted(client, "UNKNOWN");
    await run("UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt");
    const voided = (askedAt: string) => `UPDATE attempt SET status = 'VOIDED', void_kind = 'NEVER_EXISTED',
      void_asked_at = ${askedAt}, completed_at = now() WHERE id = $attempt`;
    await refused(client, run, voided("now()"), /a hold never existed only if none can follow/);
    await run(voided("now() + interval '2 h'"));
  });

  it("refuse to change a final status, a phase backwards, an epoch backwards, or what was ordered", async () => {
    const run = await submitted(client, "CAPTURING");
    await refused(
      client,
      run,
      "UPDATE payment_session SET lease_epoch = 0 WHERE id = $session",
      /epoch never goes back/,
    );
    await refused(
      client,
      run,
      "UPDATE payment_session SET amount_minor = 1 WHERE id = $session",
      /what was ordered never changes/,
    );
    await run(`BEGIN; ${captured}; ${succeeded}; COMMIT`);
    await refused(
      client,
      run,
      "UPDATE payment_session SET status = 'DEGRADED' WHERE id = $session",
      /a final status never changes/,
    );
    await refused(
      client,
      run,
      "UPDATE payment_session SET phase = 'PROCESSING' WHERE id = $session",
      /phase only moves forward/,
    );
  });

  it("refuse DONE while an attempt is open, and a token that outlives its payment", async () => {
    const run = await submitted(client, "UNKNOWN");
    const toVoiding = "UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt";
    await refused(
      client,
      run,
      `${toVoiding}; ${ended("DEGRADED")}; UPDATE payment_session SET phase = 'DONE' WHERE id = $session`,
      /every attempt is final/,
    );
    await refused(
      client,
      run,
      `${toVoiding}; ${ended("DEGRADED").replace("vault_token = NULL,", "")}`,
      /the token lives no longer than the payment that may use it/,
    );
  });

  it("refuse to delete a session or an attempt, or to drop a guard, as the service's role", async () => {
    const run = (sql: string) => service.query(sql);
    await refused(service, run, "DELETE FROM attempt", /permission denied/);
    await refused(service, run, "DELETE FROM payment_session", /permission denied/);
    await refused(service, run, "DROP TRIGGER guard ON partitions.attempt_rest", /must be owner/);
  });
});
