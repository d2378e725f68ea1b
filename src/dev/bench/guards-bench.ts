/** Compares payments under the guards of the checkout with payments without them: what the guards cost a plain payment. */
import { askOne } from "../testing/with-client.ts";
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

/**
 * A turn with the guards (repeated orders are refused, cards and networks are counted, the block list is read and empty), and one in
 * which repeated orders only warn and nothing is counted.
 */
export type GuardsPair = Readonly<Record<"on" | "off", PaidTurn>>;

// The test card that is counted, and is approved.
const countedCard = "4000000000008419";

/** Plays pairs by turns; each side begins every other one. Throws when a payment did not succeed, or a guard was not as it should be. */
export async function measureGuards(options: GuardsOptions, report: (step: string) => void): Promise<GuardsPair[]> {
  report("starting servers and roles");
  const site = await PaymentSite.open({ behindProxy: true });
  try {
    await site.start("worker");
    const load = site.startChild("payment-load.ts");
    const play = async (side: "on" | "off", seconds: number): Promise<PaidTurn> => {
      const isOn = side === "on";
      const setting = `UPDATE merchant_settings SET repeated_orders = '${isOn ? "REFUSE" : "WARN"}' RETURNING 1`;
      await askOne(databaseOf(site), setting);
      const before = await countGuarded(site);
      const card = isOn ? countedCard : kinds.approved;
      const { customers } = options;
      const paid = await payAndDeliver(site, load, { seconds, customers, doors: site.doors, card, ofStrangers: true });
      const after = await countGuarded(site);
      const expected = isOn ? paid.payments : 0;
      for (const [what, count] of Object.entries(after)) {
        if (count - before[what as keyof Guarded] !== expected)
          throw new Error(
            `${side}: of ${paid.payments} payments, ${count - before[what as keyof Guarded]} have ${what}`,
          );
      }
      return paid;
    };
    report("warming up");
    for (const side of ["on", "off"] as const) await play(side, options.warmUp);
    const pairs: GuardsPair[] = [];
    for (let pair = 0; pair < options.pairs; pair++) {
      report(`${pair} of ${options.pairs} pairs played`);
      const [first, second] = pair % 2 === 0 ? (["on", "off"] as const) : (["off", "on"] as const);
      const turns = { [first]: await play(first, options.seconds), [second]: await play(second, options.seconds) };
      pairs.push(turns as GuardsPair);
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

/** Returns the payments per second and the CPU time with the guards, beside those without. */
export function linesOfGuards(pairs: readonly GuardsPair[]): TableLine[] {
  const compare = (unit: string, figureOf: (turn: PaidTurn) => number) => {
    const ratio = intervalOf(pairs.map(({ on, off }) => figureOf(on) / figureOf(off)));
    const medianOf = (side: keyof GuardsPair) =>
      `${spreadOf(pairs.map((pair) => figureOf(pair[side]))).median.toFixed(1)}${unit}`;
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
      row: 13,
      what: "payments end to end with the guards of the checkout",
      ...rate.cells,
      goal: `≥ ${rateMin} ×`,
      isReached: rate.median >= rateMin,
    }),
    lineOf({ row: 13, what: "CPU of one payment with them", ...cpu.cells }),
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
