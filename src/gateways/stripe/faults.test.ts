/** Many payments at Stripe's stand-in while requests and answers get lost, late or doubled: what is asked for often enough comes out right. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { type GatewayBench, startGatewayBench } from "../../testing/gateway-bench.ts";
import type { AttemptAtGateway, Hold } from "../connector.ts";
import type { StripeParts } from "./api.ts";
import { StripeConnector } from "./connector.ts";

let bench: GatewayBench;
beforeAll(async () => {
  bench = await startGatewayBench({
    connect: (parts: StripeParts) => new StripeConnector(parts),
    credentials: { secretKey: new Secret("sk_test_underfaults") },
  });
});
afterAll(() => bench.close());

// Late is later than a call waits, so that what is late arrives when nobody listens any more.
const callMs = 500;
const lateMsMax = 1_000;
const triesMax = 60;

async function until<Answer extends { type: string }>(types: readonly string[], ask: (nth: number) => Promise<Answer>) {
  for (let nth = 1; nth <= triesMax; nth++) {
    const answer = await ask(nth);
    if (types.includes(answer.type)) return answer;
  }
  throw new Error(`no answer among ${types.join(", ")} after ${triesMax} tries`);
}

const release = (attempt: AttemptAtGateway) =>
  until(["done", "absent"], (nth) =>
    bench.connector.void(bench.call(`${attempt.attemptReference}_void${nth}`, callMs), attempt),
  );

/** Ends a payment as the flow would: captured where it was held, given back where nobody can tell. */
async function payOnce(knowsName: boolean): Promise<{ reference: string; expected: "captured" | "nothing kept" }> {
  const payment = bench.newPayment();
  const reference = payment.attemptReference;
  const { outcome } = await bench.connector.authorize(bench.call(reference, callMs), payment);
  const { amountMinor, currency } = payment;
  const attempt = { attemptReference: reference, amountMinor, currency };
  if (outcome.type === "held") {
    const hold: Hold = { ...attempt, gatewayReference: outcome.gatewayReference };
    await until(["done"], () => bench.connector.capture(bench.call(`${reference}_cap`, callMs), hold));
    return { reference, expected: "captured" };
  }
  const name = outcome.type === "unknown" && knowsName ? outcome.gatewayReference : undefined;
  if (outcome.type === "unknown") await release({ ...attempt, gatewayReference: name });
  return { reference, expected: "nothing kept" };
}

describe("StripeConnector under faults", () => {
  it.each([
    [
      "that are lost, doubled or late",
      { request_lost: 0.1, answer_lost: 0.1, executed_twice: 0.1, executed_late: 0.1, answered_late: 0.1 },
    ],
    ["that end in errors", { error_after: 0.3, executed_twice: 0.2 }],
  ])("captures once or leaves nothing held, with requests %s", async (title, rates) => {
    await bench.sandbox.setFaults({ seed: `stripe ${title}`, rates, lateMsMax });
    const payments = await Promise.all(Array.from({ length: 24 }, (_, nth) => payOnce(nth % 2 === 0)));
    const faults = await bench.sandbox.faults();
    await bench.sandbox.setFaults();
    for (const kind of Object.keys(rates)) expect(faults).toHaveProperty(kind);
    for (const { reference, expected } of payments) {
      const authorizations = await bench.sandbox.authorizations(reference);
      const states = authorizations.map(({ status }) => status);
      if (expected === "captured") expect(states).toEqual(["captured"]);
      else expect(states.filter((state) => state === "held" || state === "captured")).toEqual([]);
    }
    expect(payments.map(({ expected }) => expected)).toContain("nothing kept");
  });
});
