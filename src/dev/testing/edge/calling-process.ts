/** A process that calls checkouts at a steady rate, as browsers do, so that its work takes no time of the edge's. */
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

export type CallingBrowser = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly publishableKey: string;
  readonly address: string;
};

export type CallingOrder = {
  readonly origin: string;
  readonly browsers: readonly CallingBrowser[];
  readonly perSecond: number;
  readonly durationMs: number;
};

/** The answer: the statuses, and the milliseconds of the calls that were admitted. */
export type CallingResult = { readonly statuses: Record<number, number>; readonly admittedMs: readonly number[] };

// Fewer than the calls that may wait at once would be no attack.
const agent = new Agent({ keepAlive: true, maxSockets: 600 });
// Calls are sent in groups, because a timer is no more exact.
const everyMs = 10;

async function callAll({ origin, browsers, perSecond, durationMs }: CallingOrder): Promise<CallingResult> {
  const statuses: Record<number, number> = {};
  const admittedMs: number[] = [];
  const calls: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let elapsedMs = 0; elapsedMs < durationMs; elapsedMs = performance.now() - startedAt) {
    while (calls.length < (elapsedMs * perSecond) / 1_000) {
      const calledAt = performance.now();
      const call = getCheckout(origin, browsers[calls.length % browsers.length]!).then((status) => {
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status === 200) admittedMs.push(performance.now() - calledAt);
      });
      calls.push(call);
    }
    await pause(everyMs);
  }
  await Promise.all(calls);
  return { statuses, admittedMs };
}

function getCheckout(origin: string, { sessionId, clientSecret, publishableKey, address }: CallingBrowser) {
  return new Promise<number>((resolve) => {
    const headers = {
      authorization: `Bearer ${clientSecret}`,
      "publishable-key": publishableKey,
      "content-type": "application/json",
      "x-forwarded-for": address,
    };
    const url = `${origin}/payments.v1.CheckoutService/GetCheckout`;
    const sent = request(url, { method: "POST", agent, headers }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", () => resolve(0)).end(JSON.stringify({ sessionId }));
  });
}

process.on("message", async (order: CallingOrder | "end") => {
  if (order === "end") process.disconnect();
  else process.send?.(await callAll(order));
});
process.send?.("ready");
