/**
 * Makes the demo's payments through the API, as a shop, its page and a card frame would: a few examples at the present
 * time, and a week whose times are then moved into it.
 */
import { Client } from "pg";
import { switchGuards } from "../migrations/switch-guards.ts";
import { decodeId } from "../platform/ids.ts";
import { forgetCounts } from "../reporting/analytics/count-settled.ts";
import { forgetLedgerSums } from "../reporting/ledger-totals.ts";
import type { DemoFile } from "./demo-file.ts";
import { DemoShop } from "./demo-shop.ts";
import { type PlannedPayment, planExamples, planTraffic } from "./traffic-plan.ts";

// Number of concurrent customers that a laptop serves well beside everything else.
const customers = 8;

export type ExampleOptions = {
  readonly file: DemoFile;
  readonly onMade: (made: number, all: number) => void;
  /** Ends the making; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
};

export type TrafficOptions = ExampleOptions & {
  readonly seed: string;
  /** The database of the test environment, as the owner of its tables. */
  readonly ownerUrl: string;
  /** Number of payments; the demo's default if absent. */
  readonly payments?: number | undefined;
};

/** Makes a few payments that show what a payment can do, one after the other, and resolves with their number by outcome. */
export async function makeExamples(options: ExampleOptions): Promise<Record<string, number>> {
  return (await sellAll(planExamples(), 1, options)).ends;
}

/** Makes the week and resolves when it is complete, with the number of payments by outcome. */
export async function makeTraffic(options: TrafficOptions): Promise<Record<string, number>> {
  const endsAtMs = Date.now();
  const plan = planTraffic(options.seed, endsAtMs, options.payments);
  const { made, ends } = await sellAll(plan, customers, options);
  // Lists are in the order of ids, and customers overtake each other: the times are assigned in that order too.
  const moments = plan.map(({ minutesAgo }) => new Date(endsAtMs - minutesAgo * 60_000));
  await putInTheirWeek(
    options.ownerUrl,
    made.toSorted().map((id, index) => ({ id, at: moments[index]! })),
  );
  return ends;
}

async function sellAll(
  plan: readonly PlannedPayment[],
  side: number,
  { file, onMade, signal = new AbortController().signal }: ExampleOptions,
) {
  const shop = new DemoShop(file, signal);
  const made: string[] = [];
  const ends: Record<string, number> = {};
  const queue = plan.values();
  const customer = async () => {
    for (const payment of queue) {
      signal.throwIfAborted();
      const { sessionId, status } = await shop.sell(payment, made.length);
      made.push(decodeId("ps", sessionId)!);
      ends[status] = (ends[status] ?? 0) + 1;
      onMade(made.length, plan.length);
    }
  };
  await Promise.all(Array.from({ length: side }, customer)).finally(() => shop.close());
  return { made, ends };
}

const sessionMoments = [
  "created_at",
  "expires_at",
  "submitted_at",
  "settled_at",
  "submit_deadline",
  "lease_until",
  "pending_event_at",
  ...["held_at", "held_until", "capture_by", "capture_due_at", "capture_asked_at"],
];
const attemptMoments = [
  ...["started_at", "answered_at", "completed_at", "capture_ordered_at", "changed_at", "looked_up_at"],
  ...["void_asked_at", "voiding_at", "latest_execution_at"],
];
const authenticationMoments = [
  "started_at",
  "deadline_at",
  "shown_at",
  "cancel_asked_at",
  "answered_at",
  "completed_at",
];
const moved = (columns: readonly string[]) => columns.map((column) => `${column} = x.${column} + moved.by`);

/**
 * Moves the times of the demo's own payments, all of one payment by the same interval; only its refunds stay today's. It
 * is the demo's only step that bypasses the service. The guards against such changes are off for this transaction, which only the tables' owner can
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
      UPDATE authentication x SET ${moved(authenticationMoments)} FROM moved WHERE moved.id = x.session_id;
      ${switchGuards("ENABLE")};
      ${forgetCounts};
      ${forgetLedgerSums};
      COMMIT`);
  } finally {
    await client.end();
  }
}
