/**
 * Real processes that are killed by SIGKILL while an answer to a dispute is at the gateway: 200 times, at each of the five gateways.
 * The sandbox holds the request or its answer, so that each kill is in the middle.
 */
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../../../client/dashboard-client.ts";
import type { Gateway } from "../../../gateways/connector.ts";
import { disputeCards } from "../../../gateways/sandbox/dispute-cards.ts";
import { decodeId, encodeId } from "../../../platform/ids.ts";
import { Secret } from "../../../platform/secrets.ts";
import { startTestDemo, type TestDemo } from "../../e2e/demo.fixture.ts";
import { connectFiveGateways, fiveGateways } from "../../e2e/five-gateways.fixture.ts";
import { moveClock } from "./site-database.ts";
import { Tally } from "./tally.ts";

// Two processes die in each.
const turnsOfGateway = 20;
// Past the time for which a process has an answer to itself, and past the pause between two readings of an account.
const pastLeaseMs = 65_000;
const pastReadingMs = 12 * 60_000;
const disputedAfterMs = 6_000;
const slowly = { timeout: 120_000, interval: 100 };

/** Places of the request when its process dies, as in money-kills.long.test.ts. */
const points = ["answer", "request", "overtaken"] as const;
const types = ["ACCEPT", "EVIDENCE"] as const;
const roles = ["edge", "worker"] as const;
type Type = (typeof types)[number];
type Role = (typeof roles)[number];
type Disputed = { readonly sessionId: string; readonly disputeId: string };

const operations: Readonly<Record<(typeof fiveGateways)[number], Readonly<Record<Type, string>>>> = {
  SANDBOX_A: { ACCEPT: "a.accept-dispute", EVIDENCE: "a.submit-evidence" },
  SANDBOX_B: { ACCEPT: "b.acceptDispute", EVIDENCE: "b.defendDispute" },
  STRIPE: { ACCEPT: "stripe.accept_dispute", EVIDENCE: "stripe.submit_evidence" },
  ADYEN: { ACCEPT: "adyen.acceptDispute", EVIDENCE: "adyen.defendDispute" },
  PAYPAL: { ACCEPT: "paypal.accept_dispute", EVIDENCE: "paypal.submit_evidence" },
};

let demo: TestDemo;
let owner: Client;
let ownerUrl: string;
let operator: DashboardClient;
let routeTo: (gateway: Gateway) => Promise<void>;
let aheadMs = 0;
let orders = 0;
const tally = new Tally();

beforeAll(async () => {
  demo = await startTestDemo();
  ownerUrl = Object.assign(new URL(demo.postgresUrl), { pathname: "switchyard_test" }).href;
  owner = new Client({ connectionString: ownerUrl });
  await owner.connect();
  operator = createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken));
  routeTo = await connectFiveGateways(demo);
}, 120_000);
afterAll(async () => {
  operator?.close();
  await owner?.end();
  await demo?.close();
  const counted = tally.under("").map(([name, count]) => `${name}: ${count}`);
  console.info(counted.join("\n"));
});

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

async function pay(): Promise<string> {
  const { restBase, connectOrigin, merchants } = demo.file;
  const order = { amountMinor: 4_900, currency: "EUR", orderRef: `order-${++orders}` };
  const created = await call(`${restBase}/payment-sessions`, merchants[0]!.test.secretKey, order);
  type Opened = { sessionId: string; clientSecret: string; vault: { sdkUrl: string; sdkAuthorization: string } };
  const { sessionId, clientSecret, vault } = created as unknown as Opened;
  const { number } = disputeCards.find(({ name }) => name === "Disputed")!;
  const card = { number, expMonth: 4, expYear: new Date().getUTCFullYear() + 3, cvc: "123" };
  const tokenized = await call(`${new URL(vault.sdkUrl).origin}/tokens`, vault.sdkAuthorization, card);
  const submission = { sessionId, vaultToken: tokenized.token };
  await call(`${connectOrigin}/payments.v1.CheckoutService/SubmitPayment`, clientSecret, submission);
  return sessionId;
}

/** Pays, and waits until the dispute of each payment is known. */
async function disputed(count: number): Promise<readonly Disputed[]> {
  const sessions: string[] = [];
  for (let paid = 0; paid < count; paid++) sessions.push(await pay());
  const ids = sessions.map((id) => decodeId("ps", id));
  aheadMs += pastReadingMs;
  // What is listed since the last reading has the gateway's times.
  await demo.sandbox.setClockAhead(aheadMs + disputedAfterMs);
  await moveClock(ownerUrl, aheadMs);
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
  const point = points[turn % points.length]!;
  const type = types[turn % types.length]!;
  const operation = `${operations[gateway][type]}${point === "answer" ? "" : ".arrival"}`;
  const arePaused = (count: number) => expect.poll(() => demo.sandbox.paused({ operation }), slowly).toBe(count);
  await demo.sandbox.hold(operation);
  await Promise.all(roles.map((role) => send(role, type, of[role])));
  await arePaused(roles.length);
  for (const role of roles) {
    process.kill(demo.file.pids[role]!, "SIGKILL");
    tally.add(`SIGKILL ${role}, ${type}, ${point} held`);
  }
  if (point !== "overtaken") await demo.sandbox.release({ operation });
  aheadMs += pastLeaseMs;
  await moveClock(ownerUrl, aheadMs);
  await Promise.all(roles.map((role) => demo.restart(role)));
  if (point === "overtaken") {
    await arePaused(2 * roles.length);
    await demo.sandbox.release({ operation });
  }
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
    await routeTo(gateway);
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
