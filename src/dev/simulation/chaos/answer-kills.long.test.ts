/**
 * Real processes that are killed by SIGKILL while an answer to a dispute is at the gateway: 200 times, at each of the five gateways.
 * The sandbox holds the request or its answer, so that each kill is in the middle.
 */
import { describe, expect, it } from "vitest";
import { disputeCards } from "../../../gateways/sandbox/dispute-cards.ts";
import { decodeId, encodeId } from "../../../platform/ids.ts";
import { fiveGateways } from "../../e2e/five-gateways.fixture.ts";
import { forFile } from "../../testing/for-file.ts";
import { openKillSite, type Role, roles } from "./kill-site.fixture.ts";

// Two processes die in each.
const turnsOfGateway = 20;
// Past the time for which a process has an answer to itself, and past the pause between two readings of an account.
const pastLeaseMs = 65_000;
const pastReadingMs = 12 * 60_000;
const disputedAfterMs = 6_000;
const slowly = { timeout: 120_000, interval: 100 };

const types = ["ACCEPT", "EVIDENCE"] as const;
type Type = (typeof types)[number];
type Disputed = { readonly sessionId: string; readonly disputeId: string };

const operations: Readonly<Record<(typeof fiveGateways)[number], Readonly<Record<Type, string>>>> = {
  SANDBOX_A: { ACCEPT: "a.accept-dispute", EVIDENCE: "a.submit-evidence" },
  SANDBOX_B: { ACCEPT: "b.acceptDispute", EVIDENCE: "b.defendDispute" },
  STRIPE: { ACCEPT: "stripe.accept_dispute", EVIDENCE: "stripe.submit_evidence" },
  ADYEN: { ACCEPT: "adyen.acceptDispute", EVIDENCE: "adyen.defendDispute" },
  PAYPAL: { ACCEPT: "paypal.accept_dispute", EVIDENCE: "paypal.submit_evidence" },
};

const site = await forFile(openKillSite);
const { demo, owner, operator, tally } = site;

/** Calls without a body are reads, and acceptances. Resolves empty when the process dies meanwhile. */
async function call(
  url: string,
  bearer: string,
  body?: object,
  method = "POST",
): Promise<Readonly<Record<string, unknown>>> {
  const headers = { authorization: `Bearer ${bearer}`, ...(body && { "content-type": "application/json" }) };
  try {
    const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/** Pays, and waits until the dispute of each payment is known. */
async function disputed(count: number): Promise<readonly Disputed[]> {
  const { number } = disputeCards.find(({ name }) => name === "Disputed")!;
  const sessions: string[] = [];
  for (let paid = 0; paid < count; paid++) sessions.push(await site.pay(call, number));
  const ids = sessions.map((id) => decodeId("ps", id));
  // What is listed since the last reading has the gateway's times.
  await site.pass(pastReadingMs, (aheadMs) => demo.sandbox.setClockAhead(aheadMs + disputedAfterMs));
  const text = `SELECT session_id AS "sessionId", id FROM dispute WHERE session_id = ANY ($1::uuid[]) AND status = 'NEEDS_RESPONSE'`;
  const known = async () => (await owner.query(text, [ids])).rows;
  await expect.poll(known, slowly).toHaveLength(count);
  return (await known()).map(({ sessionId, id }) => ({
    sessionId: encodeId("ps", sessionId),
    disputeId: encodeId("dsp", id),
  }));
}

async function evidenceFor(disputeId: string): Promise<object> {
  const { restBase, merchants } = demo.file;
  const url = `${restBase}/disputes/${disputeId}/response-options`;
  type Offered = { defenses: { code?: string; documentTypes: { type: string; required: boolean }[] }[] };
  const { defenses } = (await call(url, merchants[0]!.test.secretKey, undefined, "GET")) as unknown as Offered;
  const { code, documentTypes } = defenses[0]!;
  const { type } = documentTypes.find(({ required }) => required) ?? documentTypes[0]!;
  return { ...(code && { defense: code }), explanation: "The parcel was delivered.", files: [{ file: "facts", type }] };
}

/** Has the edge, or the worker, send an answer. */
async function send(role: Role, type: Type, { sessionId, disputeId }: Disputed): Promise<void> {
  const { restBase, merchants } = demo.file;
  const { merchantId, test } = merchants[0]!;
  const evidence = type === "EVIDENCE" ? await evidenceFor(disputeId) : undefined;
  if (role === "edge") {
    const path = type === "ACCEPT" ? "accept" : "evidence";
    void call(`${restBase}/disputes/${disputeId}/${path}`, test.secretKey, evidence);
    return;
  }
  const named = { merchantId, environment: "ENVIRONMENT_TEST", sessionId, disputeId } as const;
  if (type === "ACCEPT") await operator.disputes.acceptDispute(named);
  else await operator.disputes.submitEvidence({ ...named, evidence: evidence! });
}

/** Kills the edge and the worker, each with an answer of its own at the gateway. */
async function killInTheMiddle(
  gateway: (typeof fiveGateways)[number],
  turn: number,
  of: Readonly<Record<Role, Disputed>>,
): Promise<Type> {
  const type = types[turn % types.length]!;
  await site.killInTheMiddle({
    operations: [operations[gateway][type]],
    turn,
    what: type,
    pastLeaseMs,
    withinMs: slowly.timeout,
    send: (role) => send(role, type, of[role]),
  });
  for (const role of roles) await expect.poll(() => answersTo(of[role]), slowly).toEqual([{ type, status: "TAKEN" }]);
  return type;
}

async function answersTo({ disputeId }: Disputed) {
  const text = "SELECT type, status FROM dispute_response WHERE dispute_id = $1";
  return (await owner.query(text, [decodeId("dsp", disputeId)])).rows;
}

/** Returns what the gateway has as the answer. */
async function atGateway({ sessionId }: Disputed) {
  const { rows } = await owner.query("SELECT id FROM attempt WHERE session_id = $1", [decodeId("ps", sessionId)]);
  const found = await Promise.all(rows.map(({ id }) => demo.sandbox.authorizations(encodeId("att", id))));
  return found.flat().map(({ disputed: one }) => one?.answer?.type);
}

describe.each(fiveGateways)("processes that are killed in the middle, at %s", (gateway) => {
  it("answer a dispute once, whoever repeats it", async () => {
    await site.routeTo(gateway);
    const all = await disputed(turnsOfGateway * roles.length);
    for (let turn = 0; turn < turnsOfGateway; turn++) {
      const of = { edge: all[2 * turn]!, worker: all[2 * turn + 1]! };
      const type = await killInTheMiddle(gateway, turn, of);
      for (const role of roles) {
        expect(await atGateway(of[role])).toEqual([type === "ACCEPT" ? "accept" : "evidence"]);
        tally.add(`${type} made once`);
      }
    }
    expect((await owner.query("SELECT rule FROM app.audit()")).rows).toEqual([]);
  }, 1_800_000);
});
