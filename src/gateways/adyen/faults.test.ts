/** Many payments at Adyen's stand-in while requests, answers and notifications get lost, late or doubled: what is asked for often enough comes out right. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { type GatewayBench, startGatewayBench } from "../../testing/gateway-bench.ts";
import { Receiver } from "../../testing/receiver.ts";
import type { AttemptAtGateway, Notice } from "../connector.ts";
import type { AdyenParts } from "./api.ts";
import { AdyenConnector } from "./connector.ts";

const merchantAccount = "UnderFaultsECOM";
const hmacKey = "cd".repeat(32);
const credentials = {
  apiKey: new Secret("AQEunderfaults/of-the=bench"),
  merchantAccount: new Secret(merchantAccount),
  hmacKey: new Secret(hmacKey),
};

let bench: GatewayBench;
let intake: Receiver;
beforeAll(async () => {
  bench = await startGatewayBench({ connect: (parts: AdyenParts) => new AdyenConnector(parts), credentials });
  intake = await Receiver.start();
  await bench.sandbox.setAccount(merchantAccount, { notificationUrl: intake.url, hmacKey });
});
afterAll(async () => {
  await bench.close();
  await intake.close();
});

// Late is later than a call waits, so that what is late arrives when nobody listens any more.
const callMs = 1_000;
const lateMsMax = 1_500;
const triesMax = 60;

async function until(type: string, ask: (nth: number) => Promise<{ readonly type: string }>): Promise<void> {
  for (let nth = 1; nth <= triesMax; nth++) if ((await ask(nth)).type === type) return;
  throw new Error(`not ${type} after ${triesMax} tries`);
}

type Ended = { readonly attempt: AttemptAtGateway; readonly expected: "captured" | "nothing kept" };

/** Ends a payment as the flow would: captured where it was held, given back where nobody can tell. */
async function payOnce(): Promise<Ended> {
  const payment = bench.newPayment();
  const { attemptReference, amountMinor, currency } = payment;
  const { outcome } = await bench.connector.authorize(bench.call(attemptReference, callMs), payment);
  const attempt = { attemptReference, amountMinor, currency };
  if (outcome.type !== "held") {
    await giveBack(attempt, "void");
    return { attempt, expected: "nothing kept" };
  }
  const hold = { ...attempt, gatewayReference: outcome.gatewayReference };
  await until("accepted", () => bench.connector.capture(bench.call(`${attemptReference}_cap`, callMs), hold));
  return { attempt, expected: "captured" };
}

const giveBack = (attempt: AttemptAtGateway, name: string) =>
  until("accepted", (nth) =>
    bench.connector.void(bench.call(`${attempt.attemptReference}_${name}${nth}`, callMs), attempt),
  );

async function statesOf({ attemptReference }: AttemptAtGateway): Promise<string[]> {
  const found = await bench.sandbox.authorizations(attemptReference);
  return found.map(({ status }) => status).filter((status) => status === "held" || status === "captured");
}

describe("AdyenConnector under faults", () => {
  it("captures once or leaves nothing held, and each result is told by a notice that counts once", async () => {
    const rates = {
      request_lost: 0.12,
      answer_lost: 0.12,
      executed_twice: 0.12,
      executed_late: 0.12,
      error_after: 0.12,
      notice_late: 0.3,
      notice_twice: 0.3,
      result_late: 0.3,
    };
    await bench.sandbox.setFaults({ seed: "adyen", rates, lateMsMax });
    const payments = await Promise.all(Array.from({ length: 32 }, payOnce));
    const faults = await bench.sandbox.faults();
    await bench.sandbox.setFaults();
    for (const kind of Object.keys(rates)) expect(faults).toHaveProperty(kind);
    // Past the horizon nothing comes late any more: one more cancellation finds what an early one could not.
    for (const { attempt, expected } of payments) if (expected === "nothing kept") await giveBack(attempt, "last");
    for (const { attempt, expected } of payments) {
      const kept = expected === "captured" ? ["captured"] : [];
      await expect.poll(() => statesOf(attempt)).toEqual(kept);
      if (expected === "captured") expect(await noticesOf(attempt, "captured")).toHaveLength(1);
    }
    expect(payments.map(({ expected }) => expected)).toContain("nothing kept");
  });

  /** What the connector reads of a kind about an attempt, each notice once. */
  async function noticesOf({ attemptReference }: AttemptAtGateway, kind: Notice["kind"]): Promise<string[]> {
    const isIt = ({ body }: { body: Buffer }) => body.includes(`"${attemptReference}"`) && body.includes('"CAPTURE"');
    await intake.waitFor(isIt);
    const readings = await Promise.all(
      intake.requests
        .filter(isIt)
        .map(({ body }) => bench.connector.readNotification!(credentials, { headers: {}, body })),
    );
    const notices = readings.flatMap((reading) => (reading.type === "authentic" ? reading.notices : []));
    return [...new Set(notices.filter((notice) => notice.kind === kind).map(({ noticeId }) => noticeId))];
  }
});
