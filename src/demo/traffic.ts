/**
 * Makes the payments of a week through the API, as a shop, its page and a card frame would, and then moves their times
 * into that week.
 */
import { Client } from "pg";
import { Agent, request } from "undici";
import { RestClient } from "../client/merchant/rest-client.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { decodeId } from "../platform/ids.ts";
import { forgetCounts } from "../reporting/analytics/count-settled.ts";
import type { DemoFile } from "./demo-file.ts";
import { type PlannedPayment, planTraffic } from "./traffic-plan.ts";

// Number of concurrent customers that a laptop serves well beside everything else.
const customers = 8;
// Longer than the time after which a submission answers that it is still in progress.
const submitTimeoutMs = 40_000;

/** The installation and the plan of the traffic. */
export type TrafficOptions = {
  readonly file: DemoFile;
  readonly seed: string;
  /** The database of the test environment, as the owner of its tables. */
  readonly ownerUrl: string;
  /** Number of payments; the demo's default if absent. */
  readonly payments?: number | undefined;
  readonly onMade: (made: number, all: number) => void;
};

/** Makes the week and resolves when it is complete, with the number of payments by outcome. */
export async function makeTraffic({
  file,
  seed,
  ownerUrl,
  payments,
  onMade,
}: TrafficOptions): Promise<Record<string, number>> {
  const endsAtMs = Date.now();
  const plan = planTraffic(seed, endsAtMs, payments);
  const shop = new Shop(file);
  const made: string[] = [];
  const ends: Record<string, number> = {};
  const queue = plan.values();
  const customer = async () => {
    for (const payment of queue) {
      const { sessionId, status } = await shop.sell(payment, made.length);
      made.push(decodeId("ps", sessionId)!);
      ends[status] = (ends[status] ?? 0) + 1;
      onMade(made.length, plan.length);
    }
  };
  await Promise.all(Array.from({ length: customers }, customer)).finally(() => shop.close());
  // Lists are in the order of ids, and customers overtake each other: the times are assigned in that order too.
  const moments = plan.map(({ minutesAgo }) => new Date(endsAtMs - minutesAgo * 60_000));
  await putInTheirWeek(
    ownerUrl,
    made.toSorted().map((id, index) => ({ id, at: moments[index]! })),
  );
  return ends;
}

/** The first merchant's shop in test, with customers who pay by test cards. */
class Shop {
  readonly #file: DemoFile;
  readonly #api: RestClient;
  // The vault limits the cards of an address: customers come from many, and loopback has many too.
  readonly #addresses = Array.from({ length: 60 }, (_, number) => new Agent({ localAddress: `127.0.0.${number + 2}` }));

  constructor(file: DemoFile) {
    this.#file = file;
    this.#api = new RestClient({ restBase: file.restBase, secretKey: file.merchants[0]!.test.secretKey });
  }

  async sell(payment: PlannedPayment, visitor: number): Promise<{ sessionId: string; status: string }> {
    const { orderRef, amountMinor, currency, card } = payment;
    const session = await this.#api.createSession({ orderRef, amountMinor, currency });
    const { sdkUrl, sdkAuthorization } = session.vault as { sdkUrl: string; sdkAuthorization: string };
    const entered = { number: card, expMonth: 4, expYear: new Date().getUTCFullYear() + 3 };
    const cvc = card.length === 15 ? "1234" : "123";
    const dispatcher = this.#addresses[visitor % this.#addresses.length]!;
    const { token } = await post(`${new URL(sdkUrl).origin}/tokens`, sdkAuthorization, { ...entered, cvc }, dispatcher);
    const rpc = `${this.#file.connectOrigin}/payments.v1.CheckoutService/SubmitPayment`;
    const { sessionId, clientSecret } = session;
    const { checkout } = await post(rpc, clientSecret, { sessionId, vaultToken: token }, dispatcher);
    return { sessionId, status: (checkout as { status: string }).status };
  }

  async close(): Promise<void> {
    await Promise.all(this.#addresses.map((agent) => agent.close()));
  }
}

async function post(url: string, secret: string, body: object, dispatcher: Agent): Promise<Record<string, unknown>> {
  const answer = await request(url, {
    dispatcher,
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(submitTimeoutMs),
  });
  // The body could hold a secret; its address and status are enough to find it in the logs.
  if (answer.statusCode >= 300) throw new Error(`${new URL(url).pathname} answered ${answer.statusCode}`);
  return (await answer.body.json()) as Record<string, unknown>;
}

const sessionMoments = [
  "created_at",
  "expires_at",
  "submitted_at",
  "settled_at",
  "submit_deadline",
  "lease_until",
  "pending_event_at",
];
const attemptMoments = [
  ...["started_at", "answered_at", "completed_at", "capture_ordered_at", "changed_at", "looked_up_at"],
  ...["void_asked_at", "voiding_at", "latest_execution_at"],
];
const moved = (columns: readonly string[]) => columns.map((column) => `${column} = x.${column} + moved.by`);

/**
 * Moves the times of the demo's own payments, all of one payment by the same interval. It is the demo's only step that
 * bypasses the service. The guards against such changes are off for this transaction, which only the tables' owner can
 * do. Counters of the payments are computed again.
 */
async function putInTheirWeek(ownerUrl: string, made: readonly { id: string; at: Date }[]): Promise<void> {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query(`BEGIN;
      ${switchGuards("DISABLE")};
      CREATE TEMPORARY TABLE moved (id uuid, by interval) ON COMMIT DROP`);
    await client.query(
      `INSERT INTO moved SELECT id, t.at - s.created_at FROM unnest($1::uuid[], $2::timestamptz[]) AS t(id, at)
       JOIN payment_session s USING (id)`,
      [made.map(({ id }) => id), made.map(({ at }) => at)],
    );
    await client.query(`
      UPDATE payment_session x SET ${moved(sessionMoments)} FROM moved WHERE moved.id = x.id;
      UPDATE attempt x SET ${moved(attemptMoments)} FROM moved WHERE moved.id = x.session_id;
      ${switchGuards("ENABLE")};
      ${forgetCounts};
      COMMIT`);
  } finally {
    await client.end();
  }
}
