import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { attemptTransitions, phaseTransitions, sessionTransitions } from "../core/rows/transitions.ts";
import {
  awaited,
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
type Status = keyof typeof attemptTransitions;

const toVoiding = "UPDATE attempt SET status = 'VOIDING' WHERE id = $attempt";
const voided = `UPDATE attempt SET status = 'VOIDED', void_kind = 'VOIDED', completed_at = now() WHERE id = $attempt`;
const failed =
  "UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE id = $attempt";

/** Statements that bring an attempt to each status. */
const lives: Record<Status, { from: From; after: readonly string[] }> = {
  AUTHORIZING: { from: "AUTHORIZING", after: [] },
  AWAITING_CUSTOMER: { from: "AUTHORIZING", after: awaited },
  AUTHORIZED: { from: "CAPTURING", after: [] },
  CAPTURED: { from: "CAPTURING", after: [captured, succeeded] },
  DECLINED: { from: "DECLINED", after: [] },
  FAILED: { from: "AUTHORIZING", after: [failed] },
  UNKNOWN: { from: "UNKNOWN", after: [] },
  VOIDING: { from: "UNKNOWN", after: [toVoiding] },
  VOIDED: { from: "UNKNOWN", after: [toVoiding, voided] },
};

/** Every change from one state to another that a table of transitions does not have. */
function illegalIn<State extends string>(transitions: Readonly<Record<State, object>>): [State, State][] {
  const states = Object.keys(transitions) as State[];
  return states.flatMap((from) =>
    states.filter((to) => to !== from && !(to in transitions[from])).map((to): [State, State] => [from, to]),
  );
}
const illegal = illegalIn<Status>(attemptTransitions);

const whole = (statements: readonly string[]) => `BEGIN; ${statements.join("; ")}; COMMIT`;

/** A session with one attempt in this status. */
async function living(status: Status) {
  const { from, after } = lives[status];
  const run = await submitted(client, from);
  if (after.length > 0) await run(whole(after));
  return run;
}

describe("the states of an attempt", () => {
  it("have 16 legal transitions", () => {
    expect(illegal).toHaveLength(9 * 8 - 16);
  });

  it.each(illegal)("know no way from %s to %s", async (from, to) => {
    const sql = `UPDATE attempt SET status = '${to}' WHERE id = $attempt`;
    await refused(client, await living(from), sql, new RegExp(`illegal attempt transition ${from} to ${to}`));
  });

  it.each(["AWAITING_CUSTOMER", "AUTHORIZED", "CAPTURED", "DECLINED", "FAILED", "UNKNOWN", "VOIDING", "VOIDED"])(
    "do not begin with %s",
    async (status) => {
      const sql = opening(`'${v7()}'`, 2).replace("gateway, connection_id", "status, gateway, connection_id");
      const run = await submitted(client, "DECLINED");
      await refused(
        client,
        run,
        sql.replace("'SANDBOX_A',", `'${status}', 'SANDBOX_A',`),
        /an attempt begins AUTHORIZING/,
      );
    },
  );

  it("do not begin with a capture", async () => {
    const sql = opening(`'${v7()}'`, 2)
      .replace("gateway, connection_id", "capture_ordered_at, gateway, connection_id")
      .replace("'SANDBOX_A',", "now(), 'SANDBOX_A',");
    await refused(client, await submitted(client, "DECLINED"), sql, /an attempt begins AUTHORIZING/);
  });
});

const finals: [status: string, from: From, sql: readonly string[]][] = [
  ["SUCCEEDED", "CAPTURING", [captured, succeeded]],
  ["DECLINED", "DECLINED", [ended("DECLINED")]],
  ["DEGRADED", "DECLINED", [ended("DEGRADED")]],
];

type Phase = keyof typeof phaseTransitions;
/** Statements that bring a submitted session to each phase; from IDLE there is no way back. */
const cameTo: Record<Phase, readonly string[]> = {
  IDLE: [],
  PROCESSING: [],
  DONE: [ended("DECLINED"), "UPDATE payment_session SET phase = 'DONE' WHERE id = $session"],
};

describe("the end of a session", () => {
  it.each(finals)("is final when it is %s", async (status, from, sql) => {
    const run = await submitted(client, from);
    await run(whole(sql));
    for (const other of Object.keys(sessionTransitions).filter((one) => one !== status)) {
      const change = `UPDATE payment_session SET status = '${other}' WHERE id = $session`;
      await refused(client, run, change, /a final status never changes/);
    }
    const winner = "UPDATE payment_session SET winner_attempt_id = ";
    const another = status === "SUCCEEDED" ? "NULL" : "$attempt";
    await refused(client, run, `${winner}${another} WHERE id = $session`, /a final status never changes/);
  });

  it.each(["CREATED", "SUCCEEDED", "DECLINED", "DEGRADED"])("does not change from EXPIRED to %s", async (status) => {
    const id = v7();
    await client.query(`INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
      VALUES ('${id}', '${v7()}', 1, 'EUR', 'o', 1, now() + interval '1 h')`);
    await client.query(
      `UPDATE payment_session SET status = 'EXPIRED', phase = 'DONE', settled_at = now() WHERE id = '${id}'`,
    );
    const run = (sql: string) => client.query(sql.replaceAll("$session", `'${id}'`));
    await refused(
      client,
      run,
      `UPDATE payment_session SET status = '${status}' WHERE id = $session`,
      /a final status never changes/,
    );
    await refused(client, run, opening(`'${v7()}'`, 1), /an attempt needs a session in processing/);
  });

  it.each(illegalIn<Phase>(phaseTransitions))("does not go back from %s to %s", async (from, to) => {
    const run = await submitted(client, "DECLINED");
    await run(whole(cameTo[from]));
    const back = `UPDATE payment_session SET phase = '${to}' WHERE id = $session`;
    await refused(client, run, back, /the phase only moves forward/);
  });

  it.each([
    ["DECLINED", "AUTHORIZED"],
    ["DEGRADED", "AUTHORIZED"],
    ["DECLINED", "CAPTURING"],
    ["DEGRADED", "CAPTURING"],
  ] as const)("is not %s while the winner is %s", async (status, from) => {
    const run = await submitted(client, from);
    await refused(client, run, ended(status), /no end without a capture while one may still land/);
  });
});
