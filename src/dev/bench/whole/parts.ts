/** The parts of the whole benchmark: the rows of each, its duration and load, and its lines. */
import { natsVersion } from "../machine.ts";
import type { MonthsOptions } from "../months-bench.ts";
import type { WebhookPart } from "../webhook-bench.ts";
import type { TableLine } from "./table-line.ts";

/** The effort of a run: for figures, also with parts that take hours, or only to check that it runs. */
export type Effort = "figures" | "full" | "quick";

export type PartOrder = { readonly rows: readonly number[]; readonly effort: Effort };

/** The result of a part; `servers` are the versions of the other servers. */
export type PartResult = { readonly lines: readonly TableLine[]; readonly servers: Readonly<Record<string, string>> };

/** Rows that are measured together, because they share a harness. */
export type Part = {
  readonly name: string;
  readonly rows: readonly number[];
  play(order: PartOrder, report: (step: string) => void): Promise<PartResult>;
};

/** All parts, in the order of the rows. Each loads its modules when it is played, so that help does not. */
export const parts: readonly Part[] = [
  { name: "edge", rows: [1, 2, 3], play: playEdge },
  { name: "payments", rows: [4, 5, 6], play: playPayments },
  { name: "webhooks", rows: [7, 8, 9], play: playWebhooks },
  { name: "growth", rows: [10], play: playGrowth },
  { name: "start", rows: [11], play: playStarts },
  { name: "widget", rows: [12], play: playWidget },
];

async function playEdge({ effort }: PartOrder, report: (step: string) => void): Promise<PartResult> {
  const { runEdgeBench } = await import("../edge-bench.ts");
  const { linesOfEdge, reportEdge } = await import("../edge-report.ts");
  const options =
    effort === "quick"
      ? { rounds: 1, seconds: 0.3, warmUpSeconds: 0.1, callers: 4 }
      : { rounds: 7, seconds: 2.5, warmUpSeconds: 10, callers: 32 };
  let played = 0;
  const turns = await runEdgeBench(options, () => report(`${++played} rounds played`));
  return { lines: linesOfEdge(reportEdge(options, turns)), servers: { postgres: turns.postgres.version } };
}

async function playPayments({ effort }: PartOrder, report: (step: string) => void): Promise<PartResult> {
  const { runPaymentBench } = await import("../payment-bench.ts");
  const { linesOfPayments, reportPayments } = await import("../payment-report.ts");
  const options =
    effort === "quick"
      ? { rounds: 1, samples: 3, seconds: 0.5, warmUpSeconds: 0.5, customers: 2, quietSamples: 1, quietSeconds: 1 }
      : { rounds: 7, samples: 60, seconds: 8, warmUpSeconds: 20, customers: 32, quietSamples: 5, quietSeconds: 60 };
  const nats = await natsVersion();
  const result = await runPaymentBench(options, report);
  return {
    lines: linesOfPayments(reportPayments(options, result, nats)),
    servers: { postgres: result.postgres.version, nats },
  };
}

const webhookPartOf: Readonly<Record<number, WebhookPart>> = { 7: "latency", 8: "throughput", 9: "scaling" };

async function playWebhooks({ rows, effort }: PartOrder, report: (step: string) => void): Promise<PartResult> {
  const { runWebhookBench } = await import("../webhook-bench.ts");
  const { linesOfWebhooks } = await import("../webhook-report.ts");
  const options =
    effort === "quick"
      ? { rounds: 1, events: 40, warmUpSeconds: 0.1, samples: 3, seconds: 1 }
      : { rounds: 5, events: 3_000, warmUpSeconds: 10, samples: 300, seconds: 20 };
  const chosen = rows.flatMap((row) => webhookPartOf[row] ?? []);
  const result = await runWebhookBench({ ...options, parts: chosen }, report);
  return { lines: linesOfWebhooks(result), servers: { postgres: result.postgres.version, nats: await natsVersion() } };
}

async function playGrowth({ effort }: PartOrder, report: (step: string) => void): Promise<PartResult> {
  const { measureGrowth } = await import("../growth-bench.ts");
  const { measureMonths } = await import("../months-bench.ts");
  const { linesOfGrowth, linesOfMonths } = await import("./growth-lines.ts");
  const figures = await measureGrowth(
    {
      figures: { sizes: [10_000, 1_000_000], rounds: 7, samples: 100 },
      full: { sizes: [10_000, 1_000_000, 10_000_000], rounds: 7, samples: 100 },
      quick: { sizes: [200, 1_000], rounds: 1, samples: 3 },
    }[effort],
    report,
  );
  const months = monthsOptions(effort);
  const lines = [...linesOfGrowth(figures), ...linesOfMonths(await measureMonths(months, report), months.quietSeconds)];
  return { lines, servers: { postgres: figures.postgres.version } };
}

function monthsOptions(effort: Effort): MonthsOptions {
  return effort === "quick"
    ? {
        months: [2, 4],
        sessionsOfMonth: 10,
        rounds: 1,
        seconds: 0.5,
        warmUpSeconds: 0.5,
        customers: 2,
        quietSamples: 1,
        quietSeconds: 1,
      }
    : {
        months: [2, 24, 84],
        sessionsOfMonth: 10,
        rounds: 7,
        seconds: 8,
        warmUpSeconds: 15,
        customers: 32,
        quietSamples: 3,
        quietSeconds: 60,
      };
}

async function playStarts({ effort }: PartOrder, report: (step: string) => void): Promise<PartResult> {
  const { measureStarts } = await import("../start-bench.ts");
  const { linesOfStarts } = await import("./start-lines.ts");
  return { lines: linesOfStarts(await measureStarts({ rounds: effort === "quick" ? 1 : 3 }, report)), servers: {} };
}

async function playWidget({ effort }: PartOrder, report: (step: string) => void): Promise<PartResult> {
  const { measureWidget } = await import("../widget-bench.ts");
  const { linesOfWidget, rowsOf } = await import("../widget-report.ts");
  const options =
    effort === "quick"
      ? { openings: 1, cycles: 10, payments: 1, rivals: false }
      : { openings: 20, cycles: 1_000, payments: 10, rivals: false };
  let done = 0;
  const figures = await measureWidget(options, () => report(`${++done} steps done`));
  return { lines: linesOfWidget(rowsOf(figures)), servers: {} };
}
