/**
 * Compares payments by turns with something and without it: the guards of the checkout, or the indexes by which events are followed.
 * Both are what a plain payment pays for others.
 */
import { askOne, withClient } from "../testing/with-client.ts";
import { kinds, type PaidTurn, payAndDeliver } from "./payment-bench.ts";
import { databaseOf, PaymentSite } from "./payment-site.ts";
import { intervalOf, spreadOf } from "./rounds.ts";
import { lineOf, type TableLine } from "./whole/table-line.ts";

export type GuardsOptions = {
  readonly pairs: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly customers: number;
};

type Side = "on" | "off";
/** A turn with the compared feature, and a turn without it. */
export type TurnPair = Readonly<Record<Side, PaidTurn>>;

/** A comparison of two sides. `begin` prepares one, and returns a check that throws unless so many payments ran as that side says. */
export type Compared = {
  readonly card: (side: Side) => string;
  /** Paid before a turn is measured: plans are made anew after a change of the schema. */
  readonly settleSeconds?: number;
  readonly begin: (site: PaymentSite, side: Side) => Promise<(payments: number) => Promise<void>>;
};

// The test card that is counted, and is approved.
const countedCard = "4000000000008419";

/**
 * With the guards repeated orders are refused, cards and networks are counted, and the block list is read and empty; without them repeated
 * orders only warn and nothing is counted.
 */
export const guarded: Compared = {
  card: (side) => (side === "on" ? countedCard : kinds.approved),
  async begin(site, side) {
    const isOn = side === "on";
    const setting = `UPDATE merchant_settings SET repeated_orders = '${isOn ? "REFUSE" : "WARN"}' RETURNING 1`;
    await askOne(databaseOf(site), setting);
    const before = await countGuarded(site);
    return async (payments) => {
      const after = await countGuarded(site);
      for (const [what, count] of Object.entries(after)) {
        if (count - before[what as keyof Guarded] !== (isOn ? payments : 0))
          throw new Error(`${side}: of ${payments} payments, ${count - before[what as keyof Guarded]} have ${what}`);
      }
    };
  },
};

const feedIndexes = {
  outbox_event_in_order: "merchant_id, feed_position, sequence, id",
  outbox_event_of_all: "feed_position, sequence, id",
};

/** With or without the indexes by which a merchant and a service follow events. */
export const followed: Compared = {
  card: () => kinds.approved,
  settleSeconds: 3,
  async begin(site, side) {
    await withClient(databaseOf(site), async (client) => {
      for (const [name, columns] of Object.entries(feedIndexes))
        await client.query(
          side === "on"
            ? `CREATE INDEX IF NOT EXISTS ${name} ON outbox_event (${columns})`
            : `DROP INDEX IF EXISTS ${name}`,
        );
    });
    return async () => {};
  },
};

/** Plays pairs by turns; each side begins every other one. Throws when a payment did not succeed, or a side was not as it should be. */
export async function measurePairs(
  compared: Compared,
  options: GuardsOptions,
  report: (step: string) => void,
): Promise<TurnPair[]> {
  report("starting servers and roles");
  const site = await PaymentSite.open({ behindProxy: true });
  try {
    await site.start("worker");
    const customersOfSite = site.startChild("payment-load.ts");
    const play = async (side: Side, seconds: number): Promise<PaidTurn> => {
      const { customers } = options;
      const load = { customers, doors: site.doors, card: compared.card(side), ofStrangers: true };
      const check = await compared.begin(site, side);
      if (compared.settleSeconds)
        await payAndDeliver(site, customersOfSite, { ...load, seconds: compared.settleSeconds });
      const paid = await payAndDeliver(site, customersOfSite, { ...load, seconds });
      await check(paid.payments);
      return paid;
    };
    report("warming up");
    for (const side of ["on", "off"] as const) await play(side, options.warmUp);
    const pairs: TurnPair[] = [];
    for (let pair = 0; pair < options.pairs; pair++) {
      report(`${pair} of ${options.pairs} pairs played`);
      const [first, second] = pair % 2 === 0 ? (["on", "off"] as const) : (["off", "on"] as const);
      const turns = { [first]: await play(first, options.seconds), [second]: await play(second, options.seconds) };
      pairs.push(turns as TurnPair);
    }
    return pairs;
  } catch (error) {
    site.printLogs();
    throw error;
  } finally {
    await site.close();
  }
}

const rateMin = 0.98;

/** Returns the payments per second and the CPU time with the compared feature, beside those without it. */
export function linesOfPairs(row: number, what: string, pairs: readonly TurnPair[]): TableLine[] {
  const compare = (unit: string, figureOf: (turn: PaidTurn) => number) => {
    const ratio = intervalOf(pairs.map(({ on, off }) => figureOf(on) / figureOf(off)));
    const medianOf = (side: Side) => `${spreadOf(pairs.map((pair) => figureOf(pair[side]))).median.toFixed(1)}${unit}`;
    const interval = `${ratio.median.toFixed(3)} (95 %: ${ratio.from.toFixed(3)}–${ratio.to.toFixed(3)})`;
    return {
      median: ratio.median,
      cells: { measured: medianOf("on"), peer: `without: ${medianOf("off")}`, ratio: interval },
    };
  };
  const rate = compare("/s", ({ payments, elapsedMs }) => (payments * 1_000) / elapsedMs);
  const cpu = compare(" ms", ({ cpuMs }) => Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0));
  return [
    lineOf({
      row,
      what: `payments end to end with ${what}`,
      ...rate.cells,
      goal: `≥ ${rateMin} ×`,
      isReached: rate.median >= rateMin,
    }),
    lineOf({ row, what: "CPU of one payment with them", ...cpu.cells }),
  ];
}

type Guarded = { readonly orders: number; readonly cards: number; readonly networks: number };

function countGuarded(site: PaymentSite): Promise<Guarded> {
  return askOne(
    databaseOf(site),
    `SELECT jsonb_build_object('orders', (SELECT count(*) FROM app.order_winner),
       'cards', (SELECT count(*) FROM card_submission WHERE nth = 1), 'networks', (SELECT count(network) FROM card_submission))`,
  );
}
