/**
 * Real processes that are killed by SIGKILL while a refund and the capture of a held payment are at the gateway: 200 times,
 * at each of the five gateways. The sandbox holds a request or its answer, so that each kill is in the middle of both.
 */
import { describe, expect, it } from "vitest";
import type { Gateway } from "../../../gateways/connector.ts";
import { decodeId, encodeId } from "../../../platform/ids.ts";
import { fiveGateways } from "../../e2e/five-gateways.fixture.ts";
import { forFile } from "../../testing/for-file.ts";
import { Browser } from "./browser.ts";
import { openKillSite, type Role, roles } from "./kill-site.fixture.ts";
import { Tally } from "./tally.ts";

// Two processes die in each.
const turnsOfGateway = 20;
const approvedCard = "4242424242424242";
// Past a lease, so that another process takes over at once.
const pastLeaseMs = 25_000;
const slowly = { timeout: 60_000, interval: 100 };

const site = await forFile(openKillSite);
const { demo, owner, operator, tally } = site;
const browser = await forFile(() => new Browser(new Tally()));

async function post(
  url: string,
  bearer: string,
  body: object,
  headers = {},
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await browser.call("call", { url, bearer, body, headers });
  return answer?.json ?? {};
}

const pay = (fields?: object) => site.pay(post, approvedCard, fields);
const idOf = (sessionId: string) => decodeId("ps", sessionId);

async function statesOf({ held, paid }: Payments): Promise<unknown> {
  const text = `
    SELECT (SELECT status FROM payment_session WHERE id = $1) AS captured, r.status AS refund
    FROM refund r WHERE r.session_id = $2`;
  const { rows } = await owner.query(text, [idOf(held), idOf(paid)]);
  return rows.map(({ captured, refund }) => `${captured}, refund ${refund === "REQUESTED" ? refund : "made"}`);
}

/** Has the edge, or the worker, send the capture of one payment and a refund of another. */
async function send(role: Role, { held, paid }: Payments, amountMinor: number): Promise<void> {
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

type Payments = { readonly held: string; readonly paid: string };

/** Kills the edge and the worker, each with a capture and a refund of its own at the gateway. */
async function killInTheMiddle(gateway: Gateway, turn: number, of: Readonly<Record<Role, Payments>>) {
  const prefix = gateway.replace("SANDBOX_", "").toLowerCase();
  await site.killInTheMiddle({
    operations: [`${prefix}.capture`, `${prefix}.refund`],
    turn,
    pastLeaseMs,
    withinMs: slowly.timeout,
    send: (role) => send(role, of[role], amountOf(turn)),
  });
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
    await site.routeTo(gateway);
    const turns: { edge: Payments; worker: Payments }[] = [];
    const prepare = async () => ({ held: await pay({ capture: "manual" }), paid: await pay() });
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
