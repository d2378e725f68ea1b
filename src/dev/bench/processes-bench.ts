/** Compares payments with one edge and worker to those with another edge or another worker on the same machine. */
import type { Child } from "../testing/child-process.ts";
import { payAndDeliver } from "./payment-bench.ts";
import type { Paid, PaymentOrder } from "./payment-load.ts";
import { PaymentSite, type SiteDoors } from "./payment-site.ts";

export type ProcessesOptions = {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly customers: number;
};

/** The processes of a turn: one of each role, or another one beside them. */
export const arrangements = ["one of each", "another edge", "another worker"] as const;
type Arrangement = (typeof arrangements)[number];

/** Payments a second of a turn, and the CPU time of one in all processes, in milliseconds. */
type ProcessesTurn = { readonly paymentsPerSecond: number; readonly cpuMs: number };
export type ProcessesRound = Readonly<Record<Arrangement, ProcessesTurn>>;

/** Plays the arrangements by turns. Throws when a payment did not succeed. */
export async function measureProcesses(
  options: ProcessesOptions,
  report: (step: string) => void,
): Promise<ProcessesRound[]> {
  report("starting servers and roles");
  const site = await PaymentSite.open();
  try {
    await site.start("worker");
    const loads = [site.startChild("payment-load.ts"), site.startChild("payment-load.ts")];
    await loads[1]!.ask("useAddressesFrom", 250);
    report("warming up");
    await playTurn({ site, loads, options: { ...options, seconds: options.warmUpSeconds } }, "one of each");
    const rounds: ProcessesRound[] = [];
    for (let round = 0; round < options.rounds; round++) {
      report(`${round} of ${options.rounds} rounds played`);
      const order = [...arrangements.slice(round % arrangements.length), ...arrangements];
      const turns: Partial<Record<Arrangement, ProcessesTurn>> = {};
      for (const arrangement of order.slice(0, arrangements.length)) {
        turns[arrangement] = await playTurn({ site, loads, options }, arrangement);
      }
      rounds.push(turns as ProcessesRound);
    }
    return rounds;
  } catch (error) {
    site.printLogs();
    throw error;
  } finally {
    await site.close();
  }
}

type Run = {
  readonly site: PaymentSite;
  readonly loads: readonly Child[];
  readonly options: ProcessesOptions;
};

async function playTurn({ site, loads, options }: Run, arrangement: Arrangement): Promise<ProcessesTurn> {
  const other = arrangement === "one of each" ? undefined : await site.startAnother(arrangement.slice(8) as "edge");
  try {
    const doors = [site.doors, { ...site.doors, ...other?.doors }];
    const { warmUpSeconds, customers } = options;
    const perSecond = (paid: Paid) => (paid.payments * 1_000) / paid.elapsedMs;
    const together = loadOf(loads, doors);
    // A process that has just started is slower at first, and so are those beside it.
    await payAndDeliver(site, together, { seconds: warmUpSeconds, customers, doors: site.doors });
    const paid = await payAndDeliver(site, together, { ...options, doors: site.doors });
    const cpuMs = Object.values(paid.cpuMs).reduce((sum, ms) => sum + ms, 0);
    return { paymentsPerSecond: perSecond(paid), cpuMs };
  } finally {
    await other?.close();
  }
}

/** Returns a load of which each process has its own doors and its share of the customers. */
function loadOf(loads: readonly Child[], doors: readonly SiteDoors[]): Pick<Child, "ask"> {
  type Order = PaymentOrder & { readonly atOnce: number };
  const ask = async (name: string, order: Order): Promise<Paid> => {
    const atOnce = order.atOnce / loads.length;
    const paid = await Promise.all(
      loads.map((load, index) => load.ask<Paid>(name, { ...order, atOnce, doors: doors[index] })),
    );
    return {
      payments: paid.reduce((sum, { payments }) => sum + payments, 0),
      failures: paid.reduce((sum, { failures }) => sum + failures, 0),
      elapsedMs: Math.max(...paid.map(({ elapsedMs }) => elapsedMs)),
    };
  };
  return { ask } as Pick<Child, "ask">;
}
