import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import {
  captured,
  captureRefused,
  connectToPaymentDatabase,
  ended,
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

const client = await connectToPaymentDatabase();

type From = Parameters<typeof submitted>[1];

const toVoiding = setAttempt("status = 'VOIDING'");

// Each statement breaks one rule, and the reason is that rule's own: without it another wall, or none, would answer.
const refusals: [rule: string, from: From, sql: string, reason: RegExp][] = [
  [
    "another winner than the named one",
    "AUTHORIZED",
    setSession(`winner_attempt_id = '${v7()}'`),
    /a winner is named from null only/,
  ],
  [
    "an attempt that begins otherwise than AUTHORIZING",
    "DECLINED",
    opening(2)
      .replace("gateway, connection_id", "status, failure_kind, gateway, connection_id")
      .replace("'SANDBOX_A',", "'UNKNOWN', 'TIMEOUT', 'SANDBOX_A',"),
    /an attempt begins AUTHORIZING/,
  ],
  [
    "another connection for an attempt",
    "UNKNOWN",
    setAttempt(`connection_id = '${v7()}'`),
    /what an attempt asked for never changes/,
  ],
  [
    "another gateway reference for a hold",
    "AUTHORIZED",
    setAttempt("gateway_reference = 'other'"),
    /a gateway reference never changes/,
  ],
  [
    "an ordered capture that is ordered no more",
    "CAPTURING",
    setAttempt("capture_ordered_at = NULL"),
    /an ordered capture stays ordered/,
  ],
  ["a capture of what was only being voided", "UNKNOWN", `${toVoiding}; ${captured}`, /no capture was ever ordered/],
  [
    "a capture after the end",
    "UNKNOWN",
    `${toVoiding}; ${ended("DEGRADED")}; ${captured}`,
    /no capture is kept once the session has ended/,
  ],
  ["SUCCEEDED without a winner", "DECLINED", succeeded, /SUCCEEDED needs a winner/],
  [
    "SUCCEEDED without the gateway that captured",
    "CAPTURING",
    `${captured}; ${succeeded.replace("captured_via = 'SANDBOX_A',", "")}`,
    /SUCCEEDED names its gateway/,
  ],
  ["DONE while CREATED", "DECLINED", setSession("phase = 'DONE', vault_token = NULL"), /DONE needs a final status/],
  [
    "EXPIRED after a submission",
    "DECLINED",
    setSession("status = 'EXPIRED', phase = 'DONE', vault_token = NULL, settled_at = now(), submitted_at = NULL"),
    /EXPIRED means DONE and never submitted/,
  ],
  [
    "an end without its moment",
    "DECLINED",
    ended("DECLINED").replace("settled_at = now(),", ""),
    /a final status has its time/,
  ],
  [
    "an end without its decline code",
    "DECLINED",
    ended("DECLINED").replace("decline_code = 'card_declined',", ""),
    /DECLINED and DEGRADED have a decline code/,
  ],
  [
    "processing without a lease",
    "DECLINED",
    setSession("lease_until = NULL"),
    /PROCESSING needs a lease and a deadline/,
  ],
  [
    "processing without the moment of submission",
    "DECLINED",
    setSession("submitted_at = NULL"),
    /a submission has its time/,
  ],
  [
    "DECLINED by a timeout",
    "AUTHORIZING",
    setAttempt("status = 'DECLINED', failure_kind = 'TIMEOUT', completed_at = now()"),
    /DECLINED means declined by the gateway/,
  ],
  [
    "DECLINED without its moment",
    "AUTHORIZING",
    setAttempt("status = 'DECLINED', failure_kind = 'HARD_DECLINE'"),
    /a final attempt has its time/,
  ],
  [
    "a hold without the gateway's reference",
    "AUTHORIZING",
    `${setAttempt("status = 'AUTHORIZED'")}; ${setSession("winner_attempt_id = $attempt")}`,
    /a hold has the gateway's reference/,
  ],
  [
    "VOIDED without how",
    "UNKNOWN",
    `${toVoiding}; ${setAttempt("status = 'VOIDED', completed_at = now()")}`,
    /VOIDED says how/,
  ],
  [
    "a next step without its reason",
    "DECLINED",
    setAttempt("next_action = 'stop'"),
    /what follows an attempt has its reason/,
  ],
];

describe("the database of a payment", () => {
  it.each(refusals)("refuses %s", async (_, from, sql, reason) => {
    await refused(await submitted(client, from), sql, reason);
  });

  it("refuses a new hold while a former winner may still turn out captured", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(`BEGIN; ${captureRefused}; COMMIT`);
    await refused(run, winning(await openedSecond(run)), /attempt_one_capturable/);
  });

  it("refuses to adopt a hold beside a winner", async () => {
    const run = await submitted(client, "UNKNOWN");
    const both = `${winning(await openedSecond(run))}; ${setAttempt("status = 'AUTHORIZED', gateway_reference = 'r7'")}`;
    await refused(run, both, /a hold is adopted only while CREATED and without a winner/);
  });

  it("refuses an attempt after a stop", async () => {
    const run = await submitted(client, "AUTHORIZING");
    const stopped =
      "status = 'DECLINED', failure_kind = 'HARD_DECLINE', stop = 'same_card_fails', completed_at = now()";
    await run(setAttempt(stopped));
    await refused(run, opening(2), /no attempt follows a stop/);
  });

  it("refuses an attempt after the end", async () => {
    const run = await submitted(client, "DECLINED");
    await run(ended("DECLINED"));
    await refused(run, opening(2), /an attempt needs a session in processing/);
  });

  it("refuses one gateway reference for two attempts of a connection", async () => {
    const connection = v7();
    const hold = async (): Promise<string> => {
      const run = await submitted(client, "DECLINED");
      const second = await openedSecond(run, { connection });
      return run(`BEGIN; ${winning(second, "same")}; COMMIT`).then(
        () => "stored",
        async (error: Error) => {
          await client.query("ROLLBACK");
          return error.message;
        },
      );
    };
    expect(await hold()).toBe("stored");
    expect(await hold()).toContain("attempt_gateway_reference");
  });

  it("refuses a session that expires before it begins, and one that ends unsubmitted otherwise than by time", async () => {
    const run = (sql: string) => client.query(sql);
    await refused(run, newSession({}, "-1 s"), /a session expires after it was created/);
    const declined =
      "UPDATE payment_session SET status = 'DECLINED', decline_code = 'x', settled_at = now() WHERE phase = 'IDLE'";
    await refused(run, `${newSession()}; ${declined}`, /an IDLE session is CREATED/);
  });
});
