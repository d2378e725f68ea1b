/**
 * Real processes that are killed by SIGKILL while a refund and the capture of a held payment are at the gateway: 200 times,
 * at each of the five gateways. The sandbox holds a request or its answer, so that each kill is in the middle of both.
 */
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../../../client/dashboard-client.ts";
import type { Gateway } from "../../../gateways/connector.ts";
import { decodeId, encodeId } from "../../../platform/ids.ts";
import { Secret } from "../../../platform/secrets.ts";
import { startTestDemo, type TestDemo } from "../../e2e/demo.fixture.ts";
import { connectFiveGateways, fiveGateways } from "../../e2e/five-gateways.fixture.ts";
import { Browser } from "./browser.ts";
import { moveClock } from "./site-database.ts";
import { Tally } from "./tally.ts";

// Two processes die in each.
const turnsOfGateway = 20;
const approvedCard = "4242424242424242";
// Past a lease, so that another process takes over at once.
const pastLeaseMs = 25_000;
const slowly = { timeout: 60_000, interval: 100 };

/**
 * Places of the request when its process dies: executed, and its answer on the way; on the way itself, and executed before its
 * repeat arrives; or on the way, and executed at the same moment as its repeat.
 */
const points = ["answer", "request", "overtaken"] as const;

let demo: TestDemo;
let owner: Client;
let ownerUrl: string;
let browser: Browser;
let operator: DashboardClient;
let routeTo: (gateway: Gateway) => Promise<void>;
let aheadMs = 0;
let orders = 0;
const tally = new Tally();

beforeAll(async () => {
  demo = await startTestDemo();
  browser = new Browser(new Tally());
  ownerUrl = Object.assign(new URL(demo.postgresUrl), { pathname: "switchyard_test" }).href;
  owner = new Client({ connectionString: ownerUrl });
  await owner.connect();
  operator = createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken));
  routeTo = await connectFiveGateways(demo);
}, 120_000);
afterAll(async () => {
  operator?.close();
  await browser?.close();
  await owner?.end();
  await demo?.close();
  console.info(
    tally
      .under("")
      .map(([name, count]) => `${name}: ${count}`)
      .join("\n"),
  );
});

async function post(
  url: string,
  bearer: string,
  body: object,
  headers = {},
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await browser.call("call", { url, bearer, body, headers });
  return answer?.json ?? {};
}

async function pay(fields: object): Promise<string> {
  const { restBase, connectOrigin, merchants } = demo.file;
  const order = { amountMinor: 4_900, currency: "EUR", orderRef: `order-${++orders}`, ...fields };
  const created = await post(`${restBase}/payment-sessions`, merchants[0]!.test.secretKey, order);
  type Opened = { sessionId: string; clientSecret: string; vault: { sdkUrl: string; sdkAuthorization: string } };
  const { sessionId, clientSecret, vault } = created as unknown as Opened;
  const card = { number: approvedCard, expMonth: 4, expYear: new Date().getUTCFullYear() + 3, cvc: "123" };
  const tokenized = await post(`${new URL(vault.sdkUrl).origin}/tokens`, vault.sdkAuthorization, card);
  const submission = { sessionId, vaultToken: tokenized.token };
  await post(`${connectOrigin}/payments.v1.CheckoutService/SubmitPayment`, clientSecret, submission);
  return sessionId;
}

const idOf = (sessionId: string) => decodeId("ps", sessionId);

async function statesOf({ held, paid }: Payments): Promise<unknown> {
  const text = `
    SELECT (SELECT status FROM payment_session WHERE id = $1) AS captured, r.status AS refund
    FROM refund r WHERE r.session_id = $2`;
  const { rows } = await owner.query(text, [idOf(held), idOf(paid)]);
  return rows.map(({ captured, refund }) => `${captured}, refund ${refund === "REQUESTED" ? refund : "made"}`);
}

/** Has the edge, or the worker, send the capture of one payment and a refund of another. */
async function send(role: (typeof roles)[number], { held, paid }: Payments, amountMinor: number): Promise<void> {
  const { restBase, merchants } = demo.file;
  const { merchantId, test } = merchants[0]!;
  if (role === "edge") {
    const session = (id: string) => `${restBase}/payment-sessions/${id}`;
    void post(`${session(held)}/capture`, test.secretKey, { amountMinor });
    void post(`${session(paid)}/refunds`, test.secretKey, { amountMinor }, { "idempotency-key": "return" });
    return;
  }
  const scope = { merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const part = { amountMinor: String(amountMinor), reason: "shipped" };
  await operator.payments.capturePayment({ ...scope, sessionId: held, ...part });
  await operator.payments.refundPayment({
    ...scope,
    sessionId: paid,
    idempotencyKey: "return",
    amountMinor: part.amountMinor,
  });
}

const roles = ["edge", "worker"] as const;
type Payments = { readonly held: string; readonly paid: string };

/** Kills the edge and the worker, each with a capture and a refund of its own at the gateway. */
async function killInTheMiddle(gateway: Gateway, turn: number, of: Readonly<Record<(typeof roles)[number], Payments>>) {
  const point = points[turn % points.length]!;
  const prefix = gateway.replace("SANDBOX_", "").toLowerCase();
  const at = point === "answer" ? "" : ".arrival";
  const operations = [`${prefix}.capture${at}`, `${prefix}.refund${at}`];
  const arePaused = (count: number) =>
    Promise.all(
      operations.map((operation) => expect.poll(() => demo.sandbox.paused({ operation }), slowly).toBe(count)),
    );
  const release = () => Promise.all(operations.map((operation) => demo.sandbox.release({ operation })));
  for (const operation of operations) await demo.sandbox.hold(operation);
  await Promise.all(roles.map((role) => send(role, of[role], amountOf(turn))));
  await arePaused(roles.length);
  for (const role of roles) {
    process.kill(demo.file.pids[role]!, "SIGKILL");
    tally.add(`SIGKILL ${role}, ${point} held`);
  }
  if (point !== "overtaken") await release();
  aheadMs += pastLeaseMs;
  await moveClock(ownerUrl, aheadMs);
  await Promise.all(roles.map((role) => demo.restart(role)));
  if (point === "overtaken") {
    await arePaused(2 * roles.length);
    await release();
  }
  for (const role of roles) {
    await expect.poll(() => statesOf(of[role]), slowly).toEqual(["SUCCEEDED, refund made"]);
  }
}

async function booksOf(sessionId: string) {
  const { rows } = await owner.query("SELECT id FROM attempt WHERE session_id = $1", [idOf(sessionId)]);
  const references = rows.map(({ id }) => encodeId("att", id));
  const requests = await Promise.all(references.map((reference) => demo.sandbox.requests(reference)));
  for (const counts of requests) {
    for (const [operation, count] of Object.entries(counts)) {
      const what = /\.(capture|refund)$/.exec(operation)?.[1];
      if (what !== undefined && count > 1) tally.add(`${what} sent again`);
    }
  }
  const found = await Promise.all(references.map((reference) => demo.sandbox.authorizations(reference)));
  return found.flat().map(({ status, capturedValue, refunds }) => ({
    status,
    capturedValue,
    refunds: refunds.map(({ value }) => value),
  }));
}

const amountOf = (turn: number) => 1_000 + turn;

describe.each(fiveGateways)("processes that are killed in the middle, at %s", (gateway) => {
  it("capture and refund once, whoever repeats it", async () => {
    await routeTo(gateway);
    const turns: { edge: Payments; worker: Payments }[] = [];
    const prepare = async () => ({ held: await pay({ capture: "manual" }), paid: await pay({}) });
    for (let turn = 0; turn < turnsOfGateway; turn++) {
      turns.push({ edge: await prepare(), worker: await prepare() });
    }
    const unconfirmed = "SELECT count(*)::int AS count FROM payment_session WHERE NOT capture_confirmed";
    await expect.poll(async () => (await owner.query(unconfirmed)).rows, slowly).toEqual([{ count: 0 }]);
    for (const [turn, payments] of turns.entries()) await killInTheMiddle(gateway, turn, payments);
    const open = "SELECT count(*)::int AS count FROM refund WHERE status <> 'SUCCEEDED'";
    await expect.poll(async () => (await owner.query(open)).rows, slowly).toEqual([{ count: 0 }]);
    for (const [turn, payments] of turns.entries()) {
      const amount = amountOf(turn);
      for (const { held, paid } of Object.values(payments)) {
        expect(await booksOf(held)).toEqual([{ status: "captured", capturedValue: amount, refunds: [] }]);
        expect(await booksOf(paid)).toEqual([{ status: "captured", capturedValue: 4_900, refunds: [amount] }]);
        tally.add("captured once");
        tally.add("refunded once");
      }
    }
    expect((await owner.query("SELECT rule FROM app.audit()")).rows).toEqual([]);
  }, 1_200_000);
});
