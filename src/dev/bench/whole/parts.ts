/** The parts of the benchmark: the rows of each, its duration and load, and its lines. */
import type { DashboardOptions } from "../dashboard-bench.ts";
import type { EdgeBenchOptions } from "../edge-bench.ts";
import type { GrowthOptions } from "../growth-bench.ts";
import type { GuardsOptions } from "../guards-bench.ts";
import { natsVersion } from "../machine.ts";
import type { MonthsOptions } from "../months-bench.ts";
import type { PaymentBenchOptions } from "../payment-bench.ts";
import type { WebhookBenchOptions } from "../webhook-bench.ts";
import type { WidgetBenchOptions } from "../widget-bench.ts";
import type { TableLine } from "./table-line.ts";

/** The effort of a run: for figures, also with parts that take hours, or only to check that it runs. */
export type Effort = "figures" | "full" | "quick";

export type Amount = number | readonly number[];

/** An option of a command: its default, which is for figures, and its value for other efforts. */
type PartOption = {
  readonly means: string;
  readonly figures: Amount;
  readonly quick: Amount;
  readonly full?: Amount;
  /** The least that it may be; otherwise it is above 0. */
  readonly min?: 0;
};

type PartOrder = { readonly rows: readonly number[]; readonly report: (step: string) => void };

/** The result of a part; `servers` are the versions of the other servers, `figures` every round for programs. */
export type PartResult = {
  readonly lines: readonly TableLine[];
  readonly servers: Readonly<Record<string, string>>;
  readonly durability?: Readonly<Record<string, string>>;
  readonly notes?: readonly string[];
  readonly figures?: object;
};

/** Rows that are measured together, because they share a harness. */
export type Part<Options = Readonly<Record<string, Amount>>> = {
  readonly name: string;
  readonly rows: readonly number[];
  readonly description: string;
  readonly options: { readonly [Name in keyof Options]: PartOption };
  /** Set if its command ends with 1 when a goal is missed. */
  readonly mustReach?: true;
  play(options: Options, order: PartOrder): Promise<PartResult>;
  /** Puts processes under the load with Node's profilers, which write to the folder, instead of measuring. Returns what it found. */
  profile?(options: Options, folder: string, report: PartOrder["report"]): Promise<string>;
};

export function optionsFor({ options }: Part, effort: Effort): Readonly<Record<string, Amount>> {
  return Object.fromEntries(Object.entries(options).map(([name, one]) => [name, one[effort] ?? one.figures]));
}

const warmUp = (figures: number) => ({
  means: "seconds of warm-up of each before the first round",
  figures,
  quick: 0.3,
});
const customers = { means: "the number of concurrent customers", figures: 32, quick: 2 };
const paying = (figures: number) => ({
  means: "seconds that customers pay concurrently in a round",
  figures,
  quick: 0.5,
});
const quietSeconds = { means: "the quiet time before each, in seconds", figures: 60, quick: 0.1 };

const edge: Part<EdgeBenchOptions> = {
  name: "edge",
  rows: [1, 2, 3],
  description:
    "Measures how fast sessions are created over REST and gRPC with durable commits, beside Fastify and a bare grpc-js " +
    "server that do the same work, and beside the database alone. Takes about three minutes.",
  options: {
    rounds: { means: "rounds of each contestant", figures: 7, quick: 1 },
    seconds: { means: "seconds of a round", figures: 2.5, quick: 0.3 },
    warmUp: warmUp(10),
    callers: { means: "the number of concurrent callers", figures: 32, quick: 4 },
  },
  async play(options, { report }) {
    const { runEdgeBench } = await import("../edge-bench.ts");
    const { figuresOfEdge, linesOfEdge } = await import("../edge-report.ts");
    let played = 0;
    const turns = await runEdgeBench(options, () => report(`${++played} rounds played`));
    return {
      lines: linesOfEdge(turns),
      servers: { postgres: turns.postgres.version },
      durability: turns.postgres.durability,
      notes: [
        `Medians of ${options.rounds} rounds of ${options.seconds} s each, by turns, after ${options.warmUp} s of warm-up; ratios of requests/s, turn by turn, with minimum and maximum.`,
        `${options.callers} callers; CPU is that of the server process alone.`,
      ],
      figures: figuresOfEdge(turns),
    };
  },
  async profile(options, folder, report) {
    const { runEdgeBench } = await import("../edge-bench.ts");
    await runEdgeBench({ ...options, profilesIn: folder }, () => report("a round played"));
    return `The profiles are in ${folder}.`;
  },
};

const payments: Part<PaymentBenchOptions> = {
  name: "payments",
  rows: [4, 5, 6],
  description:
    "Measures payments through edge, vault and sandbox gateways that answer at once, and by turns those of a peer " +
    "written by hand: the duration of a payment, also after a quiet minute, what a failover adds, commits, round " +
    "trips, payments per second, CPU and memory. Takes about ten minutes.",
  options: {
    rounds: { means: "rounds of each figure", figures: 7, quick: 1 },
    samples: { means: "payments of each kind in a round, one at a time", figures: 60, quick: 3 },
    seconds: paying(8),
    warmUp: warmUp(20),
    customers,
    quietSamples: { means: "submissions of each side after a quiet time; 0 for none", figures: 5, quick: 1, min: 0 },
    quietSeconds,
  },
  async play(options, { report }) {
    const { runPaymentBench } = await import("../payment-bench.ts");
    const { linesOfPayments, notesOfPayments } = await import("../payment-report.ts");
    const result = await runPaymentBench(options, report);
    return {
      lines: linesOfPayments(options, result),
      servers: { postgres: result.postgres.version, nats: await natsVersion() },
      durability: result.postgres.durability,
      notes: notesOfPayments(options, result),
      figures: result,
    };
  },
  async profile(options, folder, report) {
    const { profilePayments } = await import("../payment-profile.ts");
    return profilePayments({ ...options, folder }, report);
  },
};

const webhooks: Part<WebhookBenchOptions> = {
  name: "webhooks",
  rows: [7, 8, 9],
  description:
    "Measures webhooks from the commit of an outcome: their latency, their rate beside bare POSTs and beside a dead " +
    "endpoint, and the rate of 1, 2 and 4 workers on 1 and 3 nats-servers. Takes about six minutes.",
  options: {
    rounds: { means: "rounds of each contestant", figures: 5, quick: 1 },
    events: { means: "webhooks of a round", figures: 3_000, quick: 40 },
    warmUp: warmUp(10),
    samples: { means: "outcomes that are measured one at a time", figures: 300, quick: 3 },
    seconds: { means: "seconds that outcomes are committed at half load", figures: 20, quick: 1 },
  },
  async play(options, { rows, report }) {
    const { runWebhookBench } = await import("../webhook-bench.ts");
    const { linesOfWebhooks } = await import("../webhook-report.ts");
    const { healthyMerchants } = await import("../webhook-contestants.ts");
    const result = await runWebhookBench(options, { rows, report });
    return {
      lines: linesOfWebhooks(result),
      servers: { postgres: result.postgres.version, nats: await natsVersion() },
      durability: result.postgres.durability,
      notes: [
        `Medians of ${options.rounds} rounds of ${options.events} webhooks that are due at once, with minimum and maximum, by turns, after ${options.warmUp} s of warm-up; ${healthyMerchants} healthy endpoints; every webhook arrived.`,
      ],
      figures: result,
    };
  },
};

const growth: Part<GrowthOptions> = {
  name: "growth",
  rows: [10],
  description: "Measures payments with ten thousand and a million sessions in the tables, by turns.",
  options: {
    sizes: {
      means: "the numbers of sessions, the first of which is the baseline",
      figures: [10_000, 1_000_000],
      full: [10_000, 1_000_000, 10_000_000],
      quick: [200, 1_000],
    },
    rounds: { means: "rounds of each", figures: 7, quick: 1 },
    samples: { means: "payments in a round, one at a time", figures: 100, quick: 3 },
  },
  async play(options, { report }) {
    const { measureGrowth } = await import("../growth-bench.ts");
    const { linesOfGrowth } = await import("./growth-lines.ts");
    const figures = await measureGrowth(options, report);
    return { lines: linesOfGrowth(figures), servers: { postgres: figures.postgres.version }, figures };
  },
};

const months: Part<MonthsOptions> = {
  name: "months",
  rows: [10],
  description:
    "Measures payments in installations whose tables have partitions of a few months and of years, by turns: " +
    "payments per second, CPU, and a submission after a quiet minute. Takes about eight minutes.",
  options: {
    months: { means: "the numbers of months, the first of which is the baseline", figures: [2, 24, 84], quick: [2, 4] },
    sessionsOfMonth: { means: "sessions in the tables for each month", figures: 10, quick: 10 },
    rounds: { means: "rounds of each", figures: 7, quick: 1 },
    seconds: paying(8),
    warmUp: warmUp(15),
    customers,
    quietSamples: { means: "submissions of each after a quiet time; 0 for none", figures: 3, quick: 1, min: 0 },
    quietSeconds,
  },
  async play(options, { report }) {
    const { measureMonths } = await import("../months-bench.ts");
    const { linesOfMonths } = await import("./growth-lines.ts");
    const aged = await measureMonths(options, report);
    return { lines: linesOfMonths(aged, options.quietSeconds), servers: {}, figures: aged };
  },
};

const start: Part<{ rounds: number }> = {
  name: "start",
  rows: [11],
  description: "Measures the time from npm start to the first payment, without state and with it.",
  options: { rounds: { means: "starts of each kind", figures: 3, quick: 1 } },
  async play(options, { report }) {
    const { measureStarts } = await import("../start-bench.ts");
    const { linesOfStarts } = await import("./start-lines.ts");
    const figures = await measureStarts(options, report);
    return { lines: linesOfStarts(figures), servers: {}, figures };
  },
};

const widget: Part<WidgetBenchOptions> = {
  name: "widget",
  rows: [12],
  description:
    "Measures the widget in Chromium against the whole service: its size, the time until it is visible, and its " +
    "behaviour in trouble. Ends with 1 when a budget is exceeded. Takes about five minutes.",
  options: {
    openings: { means: "how often the form is opened, under each of two conditions", figures: 20, quick: 1 },
    cycles: { means: "how often the form is mounted and unmounted", figures: 1_000, quick: 10 },
    payments: { means: "payments under each of three troubles; npm run test:long plays 200", figures: 10, quick: 1 },
  },
  mustReach: true,
  async play(options, { report }) {
    const { measureWidget } = await import("../widget-bench.ts");
    const { linesOfWidget, notesOfWidget } = await import("../widget-report.ts");
    let done = 0;
    const figures = await measureWidget(options, () => report(`${++done} steps done`));
    return { lines: linesOfWidget(figures), servers: {}, notes: notesOfWidget(options), figures };
  },
};

const guards: Part<GuardsOptions> = {
  name: "guards",
  rows: [13],
  description:
    "Measures payments whose merchant refuses repeated orders, whose cards and networks are counted and whose block " +
    "list is empty, and by turns payments of which nothing is counted and whose repeated orders only warn. Takes " +
    "about ten minutes.",
  options: {
    pairs: { means: "pairs of turns", figures: 20, quick: 1 },
    seconds: paying(12),
    warmUp: warmUp(20),
    customers,
  },
  async play(options, { report }) {
    const { guarded, linesOfPairs, measurePairs } = await import("../guards-bench.ts");
    const pairs = await measurePairs(guarded, options, report);
    return { lines: linesOfPairs(13, "the guards of the checkout", pairs), servers: {}, figures: pairs };
  },
};

const feed: Part<GuardsOptions> = {
  ...guards,
  name: "feed",
  rows: [17],
  description:
    "Measures payments with the indexes by which events are followed, and by turns payments without them. Takes about " +
    "ten minutes.",
  async play(options, { report }) {
    const { followed, linesOfPairs, measurePairs } = await import("../guards-bench.ts");
    const pairs = await measurePairs(followed, options, report);
    return { lines: linesOfPairs(17, "the indexes of the event stream", pairs), servers: {}, figures: pairs };
  },
};

const dashboard: Part<DashboardOptions> = {
  name: "dashboard",
  rows: [15],
  description:
    "Measures the dashboard's RPCs over one merchant's payments of a year, from call to answer, one call at a time. " +
    "Ends with 1 when a goal is missed. Takes about five minutes, mostly to write the payments.",
  options: {
    payments: { means: "the number of the merchant's sessions", figures: 1_000_000, quick: 500 },
    held: { means: "the number of its payments that are held, beside these", figures: 100_000, quick: 100 },
    longestPayout: { means: "the lines of the longest payout", figures: 100_000, quick: 100 },
    foreignLines: { means: "the statements' lines of payments that are not ours", figures: 300_000, quick: 100 },
    repeats: { means: "calls of each RPC", figures: 20, quick: 2 },
  },
  mustReach: true,
  async play(options, { report }) {
    const { linesOfDashboard, measureDashboard } = await import("../dashboard-bench.ts");
    const figures = await measureDashboard(options, report);
    const { payments, held, longestPayout, foreignLines, repeats } = options;
    return {
      lines: linesOfDashboard(figures),
      servers: { postgres: figures.postgres },
      notes: [
        `Before the RPCs, a worker counted the payments in ${(figures.countedMs / 1_000).toFixed(0)} s. For the lists of disputes and settlement, one captured payment in a hundred is disputed, and all but the newest week's are paid out, ${longestPayout} in one payout, beside ${foreignLines} lines of payments that are not ours. Before the other lists, every captured payment was refunded on one day, and ${held} more are held. A late page begins after nine tenths.`,
        `${payments} payments of one merchant in a year; ${repeats} calls each, one at a time, after two to warm up. CPU is that of PostgreSQL and of the process that calls it, for one call.`,
      ],
      figures,
    };
  },
};

/** All parts, in the order of the rows. Each loads its modules when it is played, so that help does not. */
export const parts = [
  edge,
  payments,
  webhooks,
  growth,
  months,
  start,
  widget,
  guards,
  dashboard,
  feed,
] as readonly Part[];
