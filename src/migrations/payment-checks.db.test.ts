import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import {
  captured,
  connectToPaymentDatabase,
  ended,
  opening,
  refused,
  submitted,
  succeeded,
} from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();

type From = Parameters<typeof submitted>[1];

// Each statement breaks one rule, and the reason is that rule's own: without it another wall, or none, would answer.
const refusals: [rule: string, from: From, sql: string, reason: RegExp][] = [
  [
    "another winner than the named one",
    "AUTHORIZED",
    `UPDATE payment_session SET winner_attempt_id = '${v7()}' WHERE id = $session`,
    /a winner is named from null only/,
  ],
  [
    "an attempt that begins otherwise than AUTHORIZING",
    "DECLINED",
    opening(`'${v7()}'`, 2)
      .replace("gateway, connection_id", "status, failure_kind, gateway, connection_id")
      .replace("'SANDBOX_A',", "'UNKNOWN', 'TIMEOUT', 'SANDBOX_A',"),
    /an attempt begins AUTHORIZING/,
  ],
  [
    "another connection for an attempt",
    "UNKNOWN",
    `UPDATE attempt SET connection_id = '${v7()}' WHERE id = $attempt`,
    /what an attempt asked for never changes/,
  ],
  [
    "another gateway reference for a hold",
    "AUTHORIZED",
    "UPDATE attempt SET gateway_reference = 'other' WHERE id = $attempt",
    /a gateway reference never changes/,
  ],
  [
    "an ordered capture that is ordered no more",
    "CAPTURING",
    "UPDATE attempt SET capture_ordered_at = NULL WHERE id = $attempt",
    /an ordered capture stays ordered/,
  ],
  [
    "a capture of what was only being voided",
    "UNKNOWN",
    `UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt; ${captured}`,
    /no capture was ever ordered/,
  ],
  [
    "a capture after the end",
    "UNKNOWN",
    `UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt; ${ended("DEGRADED")}; ${captured}`,
    /no capture is kept once the session has ended/,
  ],
  ["SUCCEEDED without a winner", "DECLINED", succeeded, /SUCCEEDED needs a winner/],
  [
    "SUCCEEDED without the gateway that captured",
    "CAPTURING",
    `${captured}; ${succeeded.replace("captured_via = 'SANDBOX_A',", "")}`,
    /SUCCEEDED names its gateway/,
  ],
  [
    "DONE while CREATED",
    "DECLINED",
    "UPDATE payment_session SET phase = 'DONE', vault_token = NULL WHERE id = $session",
    /DONE needs a final status/,
  ],
  [
    "EXPIRED after a submission",
    "DECLINED",
    "UPDATE payment_session SET status = 'EXPIRED', phase = 'DONE', vault_token = NULL, settled_at = now(), submitted_at = NULL WHERE id = $session",
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
    "UPDATE payment_session SET lease_until = NULL WHERE id = $session",
    /PROCESSING needs a lease and a deadline/,
  ],
  [
    "processing without the moment of submission",
    "DECLINED",
    "UPDATE payment_session SET submitted_at = NULL WHERE id = $session",
    /a submission has its time/,
  ],
  [
    "DECLINED by a timeout",
    "AUTHORIZING",
    "UPDATE attempt SET status = 'DECLINED', failure_kind = 'TIMEOUT', completed_at = now() WHERE id = $attempt",
    /DECLINED means declined by the gateway/,
  ],
  [
    "DECLINED without its moment",
    "AUTHORIZING",
    "UPDATE attempt SET status = 'DECLINED', failure_kind = 'HARD_DECLINE' WHERE id = $attempt",
    /a final attempt has its time/,
  ],
  [
    "a hold without the gateway's reference",
    "AUTHORIZING",
    "UPDATE attempt SET status = 'AUTHORIZED' WHERE id = $attempt; UPDATE payment_session SET winner_attempt_id = $attempt WHERE id = $session",
    /a hold has the gateway's reference/,
  ],
  [
    "VOIDED without how",
    "UNKNOWN",
    "UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt; UPDATE attempt SET status = 'VOIDED', completed_at = now() WHERE id = $attempt",
    /VOIDED says how/,
  ],
  [
    "a next step without its reason",
    "DECLINED",
    "UPDATE attempt SET next_action = 'stop' WHERE id = $attempt",
    /what follows an attempt has its reason/,
  ],
];

describe("the database of a payment", () => {
  it.each(refusals)("refuses %s", async (_, from, sql, reason) => {
    await refused(client, await submitted(client, from), sql, reason);
  });

  it("refuses a new hold while a former winner may still turn out captured", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(`BEGIN; UPDATE payment_session SET winner_attempt_id = NULL WHERE id = $session;
      UPDATE attempt SET status = 'VOIDING', capture_refusal_code = 'expired' WHERE id = $attempt; COMMIT`);
    const second = v7();
    await run(opening(`'${second}'`, 2));
    const hold = `UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = 'r5' WHERE id = '${second}';
      UPDATE payment_session SET winner_attempt_id = '${second}' WHERE id = $session`;
    await refused(client, run, hold, /attempt_one_capturable/);
  });

  it("refuses to adopt a hold beside a winner", async () => {
    const run = await submitted(client, "UNKNOWN");
    const second = v7();
    await run(opening(`'${second}'`, 2));
    const both = `UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = 'r6' WHERE id = '${second}';
      UPDATE payment_session SET winner_attempt_id = '${second}' WHERE id = $session;
      UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = 'r7' WHERE id = $attempt`;
    await refused(client, run, both, /a hold is adopted only while CREATED and without a winner/);
  });

  it("refuses an attempt after a stop", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(`UPDATE attempt SET status = 'DECLINED', failure_kind = 'HARD_DECLINE', stop = 'same_card_fails',
      completed_at = now() WHERE id = $attempt`);
    await refused(client, run, opening(`'${v7()}'`, 2), /no attempt follows a stop/);
  });

  it("refuses an attempt after the end", async () => {
    const run = await submitted(client, "DECLINED");
    await run(ended("DECLINED"));
    await refused(client, run, opening(`'${v7()}'`, 2), /an attempt needs a session in processing/);
  });

  it("refuses one gateway reference for two attempts of a connection", async () => {
    const connection = v7();
    const hold = async (): Promise<string> => {
      const run = await submitted(client, "DECLINED");
      const id = v7();
      await run(opening(`'${id}'`, 2, "4900", connection));
      const adopt = `BEGIN; UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = 'same' WHERE id = '${id}';
        UPDATE payment_session SET winner_attempt_id = '${id}' WHERE id = $session; COMMIT`;
      return run(adopt).then(
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
    const insert = (expiry: string) => `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref,
      secret_version, expires_at) VALUES ('${v7()}', '${v7()}', 1, 'EUR', 'o', 1, now() + interval '${expiry}')`;
    const run = (sql: string) => client.query(sql);
    await refused(client, run, insert("-1 s"), /a session expires after it was created/);
    const declined =
      "UPDATE payment_session SET status = 'DECLINED', decline_code = 'x', settled_at = now() WHERE phase = 'IDLE'";
    await refused(client, run, `${insert("1 h")}; ${declined}`, /an IDLE session is CREATED/);
  });
});
