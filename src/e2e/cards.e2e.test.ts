/** What becomes of a payment with each test card: its end, its trail, and what is left at the acquirers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PaymentSessionJson } from "../../gen/payments/v1/payment_session_pb.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo, type TestDemo } from "./demo-fixture.ts";

type Expected = {
  readonly status: PaymentSessionJson["status"];
  readonly declineCode?: string;
  /** The final status of each attempt, in the order in which the gateways were asked: first A, then B. */
  readonly attempts: readonly string[];
};

const approvedByA: Expected = { status: "SUCCEEDED", attempts: ["CAPTURED"] };
const approvedByB: Expected = { status: "SUCCEEDED", attempts: ["VOIDED", "CAPTURED"] };

/** By the card's name. A card without a row fails the first test. */
const expectations: Readonly<Record<string, Expected>> = {
  Approved: approvedByA,
  "Approved, Mastercard": approvedByA,
  "Approved, American Express": approvedByA,
  "Failover after a decline": { status: "SUCCEEDED", attempts: ["DECLINED", "CAPTURED"] },
  Fraud: { status: "DECLINED", declineCode: "fraud_suspected", attempts: ["DECLINED"] },
  "Insufficient funds": {
    status: "DECLINED",
    declineCode: "insufficient_funds",
    attempts: ["DECLINED", "DECLINED"],
  },
  "Expired card": { status: "DECLINED", declineCode: "card_expired", attempts: ["DECLINED"] },
  "Unclassified decline": { status: "DECLINED", declineCode: "unclassified", attempts: ["DECLINED"] },
  Timeout: approvedByB,
  "Gateway error": approvedByB,
  "All gateways down": {
    status: "DEGRADED",
    declineCode: "processing_unavailable",
    // SANDBOX_B can say that nothing is held only when nothing can come any more (cards.long.test.ts).
    attempts: ["VOIDED", "VOIDING"],
  },
  "Answer lost": approvedByB,
  "Approved late": approvedByB,
  "Captured slowly": approvedByA,
  "Amount mismatch": approvedByB,
};

// The slowest wait for a gateway's silence or a slow capture, with room for a busy machine.
const settledWithinMs = 40_000;
const lookEveryMs = 250;

let demo: TestDemo;
let merchant: ApiCheckout;

beforeAll(async () => {
  demo = await startTestDemo();
  merchant = new ApiCheckout(demo.file);
});
afterAll(() => demo?.close());

async function atAcquirers({ attempts = [] }: PaymentSessionJson) {
  const found = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
  return found.flat();
}

describe("the sandbox cards", () => {
  it("are all described here", () => {
    expect(Object.keys(expectations).toSorted()).toEqual(testCards.map(({ name }) => name).toSorted());
  });

  it.concurrent.for(testCards)("$name: $behaviour", { timeout: 2 * settledWithinMs }, async (card, { expect }) => {
    const { attempts, ...expected } = expectations[card.name]!;
    const session = await merchant.open();
    await merchant.submit(session, await merchant.tokenize(session, card.number));
    const read = () => merchant.read(session.sessionId);
    const waiting = { timeout: settledWithinMs, interval: lookEveryMs };
    await expect.poll(async () => (await read()).status, waiting).toBe(expected.status);
    await expect.poll(async () => (await read()).attempts?.map(({ status }) => status), waiting).toEqual(attempts);
    const ended = await read();
    expect(ended).toMatchObject({ ...expected, processing: false, failover: attempts.indexOf("CAPTURED") === 1 });
    const gateways = ["SANDBOX_A", "SANDBOX_B"].slice(0, attempts.length);
    expect(ended.attempts?.map(({ gateway }) => gateway)).toEqual(gateways);
    expect(ended.capturedVia).toBe(gateways[attempts.indexOf("CAPTURED")]);
    // SANDBOX_B carries out what it has received a moment later.
    const captures = ended.capturedVia === undefined ? [] : [ended.capturedVia.at(-1)];
    const capturesThere = async () =>
      (await atAcquirers(ended)).filter(({ status }) => status === "captured").map(({ acquirer }) => acquirer);
    await expect.poll(capturesThere, waiting).toEqual(captures);
    // What an acquirer was still going to do, such as approving late, happens now.
    for (const { attemptId } of ended.attempts ?? []) await demo.sandbox.release({ reference: attemptId });
    expect((await atAcquirers(ended)).filter(({ status }) => status === "held")).toEqual([]);
    expect(await capturesThere()).toEqual(captures);
  });
});
