import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { attemptTransitions, phaseTransitions, sessionTransitions } from "../core/rows/transitions.ts";
import {
  awaited,
  captured,
  connectToPaymentDatabase,
  ended,
  newSession,
  opening,
  refused,
  setAttempt,
  setSession,
  submitted,
  succeeded,
} from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();

type From = Parameters<typeof submitted>[1];
type Status = keyof typeof attemptTransitions;

const toVoiding = setAttempt("status = 'VOIDING'");
const voided = setAttempt("status = 'VOIDED', void_kind = 'VOIDED', completed_at = now()");
const failed = setAttempt("status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now()");

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
    const sql = setAttempt(`status = '${to}'`);
    await refused(await living(from), sql, new RegExp(`illegal attempt transition ${from} to ${to}`));
  });

  it.each(["AWAITING_CUSTOMER", "AUTHORIZED", "CAPTURED", "DECLINED", "FAILED", "UNKNOWN", "VOIDING", "VOIDED"])(
    "do not begin with %s",
    async (status) => {
      const sql = opening(2).replace("gateway, connection_id", "status, gateway, connection_id");
      const run = await submitted(client, "DECLINED");
      await refused(run, sql.replace("'SANDBOX_A',", `'${status}', 'SANDBOX_A',`), /an attempt begins AUTHORIZING/);
    },
  );

  it("do not begin with a capture", async () => {
    const sql = opening(2)
      .replace("gateway, connection_id", "capture_ordered_at, gateway, connection_id")
      .replace("'SANDBOX_A',", "now(), 'SANDBOX_A',");
    await refused(await submitted(client, "DECLINED"), sql, /an attempt begins AUTHORIZING/);
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
  DONE: [ended("DECLINED"), setSession("phase = 'DONE'")],
};

describe("the end of a session", () => {
  it.each(finals)("is final when it is %s", async (status, from, sql) => {
    const run = await submitted(client, from);
    await run(whole(sql));
    for (const other of Object.keys(sessionTransitions).filter((one) => one !== status))
      await refused(run, setSession(`status = '${other}'`), /a final status never changes/);
    const another = status === "SUCCEEDED" ? "NULL" : "$attempt";
    await refused(run, setSession(`winner_attempt_id = ${another}`), /a final status never changes/);
  });

  it.each(["CREATED", "SUCCEEDED", "DECLINED", "DEGRADED"])("does not change from EXPIRED to %s", async (status) => {
    const id = v7();
    const run = (sql: string) => client.query(sql.replaceAll("$session", `'${id}'`));
    await run(newSession({ id: "$session" }));
    await run(setSession("status = 'EXPIRED', phase = 'DONE', settled_at = now()"));
    await refused(run, setSession(`status = '${status}'`), /a final status never changes/);
    await refused(run, opening(1), /an attempt needs a session in processing/);
  });

  it.each(illegalIn<Phase>(phaseTransitions))("does not go back from %s to %s", async (from, to) => {
    const run = await submitted(client, "DECLINED");
    await run(whole(cameTo[from]));
    await refused(run, setSession(`phase = '${to}'`), /the phase only moves forward/);
  });

  it.each([
    ["DECLINED", "AUTHORIZED"],
    ["DEGRADED", "AUTHORIZED"],
    ["DECLINED", "CAPTURING"],
    ["DEGRADED", "CAPTURING"],
  ] as const)("is not %s while the winner is %s", async (status, from) => {
    const run = await submitted(client, from);
    await refused(run, ended(status), /no end without a capture while one may still land/);
  });
});
