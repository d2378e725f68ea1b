/** The parts that the rows of the design are measured in: which rows each has, how hard it is played, and its lines. */
import { runEdgeBench } from "../edge-bench.ts";
import { linesOfEdge, reportEdge } from "../edge-report.ts";
import { measureGrowth } from "../growth-bench.ts";
import { natsVersion } from "../machine.ts";
import { runPaymentBench } from "../payment-bench.ts";
import { linesOfPayments, reportPayments } from "../payment-report.ts";
import { measureStarts } from "../start-bench.ts";
import { runWebhookBench, type WebhookPart } from "../webhook-bench.ts";
import { measureWidget } from "../widget-command.ts";
import { linesOfWidget, rowsOf } from "../widget-report.ts";
import { linesOfGrowth } from "./growth-lines.ts";
import { linesOfStarts } from "./start-lines.ts";
import type { TableLine } from "./table-line.ts";
import { linesOfWebhooks } from "./webhook-lines.ts";

/** How hard everything is played: for figures, with everything that takes hours too, or only to see that it runs. */
export type Effort = "figures" | "full" | "quick";

/** What a part is asked for. */
export type PartOrder = { readonly rows: readonly number[]; readonly effort: Effort };

/** What became of it; `servers` are versions of what ran beside us. */
export type PartResult = { readonly lines: readonly TableLine[]; readonly servers: Readonly<Record<string, string>> };

/** Rows that are measured together, because they share what they run on. */
export type Part = {
  readonly name: string;
  readonly rows: readonly number[];
  play(order: PartOrder, tell: (step: string) => void): Promise<PartResult>;
};

/** All of them, in the order of the rows. */
export const parts: readonly Part[] = [
  { name: "edge", rows: [1, 2, 3], play: playEdge },
  { name: "payments", rows: [4, 5, 6], play: playPayments },
  { name: "webhooks", rows: [7, 8, 9], play: playWebhooks },
  { name: "growth", rows: [10], play: playGrowth },
  { name: "start", rows: [11], play: playStarts },
  { name: "widget", rows: [12], play: playWidget },
];

async function playEdge({ effort }: PartOrder, tell: (step: string) => void): Promise<PartResult> {
  const options =
    effort === "quick"
      ? { rounds: 1, seconds: 0.3, warmUpSeconds: 0.1, callers: 4 }
      : { rounds: 7, seconds: 2.5, warmUpSeconds: 10, callers: 32 };
  let played = 0;
  const turns = await runEdgeBench(options, () => tell(`${++played} rounds played`));
  return { lines: linesOfEdge(reportEdge(options, turns)), servers: { postgres: turns.postgres.version } };
}

async function playPayments({ effort }: PartOrder, tell: (step: string) => void): Promise<PartResult> {
  const options =
    effort === "quick"
      ? { rounds: 1, samples: 3, seconds: 0.5, customers: 2 }
      : { rounds: 5, samples: 60, seconds: 8, customers: 32 };
  const nats = await natsVersion();
  const result = await runPaymentBench(options, tell);
  return {
    lines: linesOfPayments(reportPayments(options, result, nats)),
    servers: { postgres: result.postgres.version, nats },
  };
}

const webhookPartOf: Readonly<Record<number, WebhookPart>> = { 7: "latency", 8: "throughput", 9: "scaling" };

async function playWebhooks({ rows, effort }: PartOrder, tell: (step: string) => void): Promise<PartResult> {
  const options =
    effort === "quick"
      ? { rounds: 1, events: 40, warmUpSeconds: 0.1, samples: 3, seconds: 1 }
      : { rounds: 5, events: 3_000, warmUpSeconds: 10, samples: 300, seconds: 20 };
  const chosen = rows.flatMap((row) => webhookPartOf[row] ?? []);
  const result = await runWebhookBench({ ...options, parts: chosen }, tell);
  return { lines: linesOfWebhooks(result), servers: { postgres: result.postgres.version, nats: await natsVersion() } };
}

async function playGrowth({ effort }: PartOrder, tell: (step: string) => void): Promise<PartResult> {
  const figures = await measureGrowth(
    {
      figures: { sizes: [10_000, 1_000_000], rounds: 7, samples: 100 },
      full: { sizes: [10_000, 1_000_000, 10_000_000], rounds: 7, samples: 100 },
      quick: { sizes: [200, 1_000], rounds: 1, samples: 3 },
    }[effort],
    tell,
  );
  return { lines: linesOfGrowth(figures), servers: { postgres: figures.postgres.version } };
}

async function playStarts({ effort }: PartOrder, tell: (step: string) => void): Promise<PartResult> {
  return { lines: linesOfStarts(await measureStarts({ rounds: effort === "quick" ? 1 : 3 }, tell)), servers: {} };
}

async function playWidget({ effort }: PartOrder, tell: (step: string) => void): Promise<PartResult> {
  const options =
    effort === "quick"
      ? { openings: 1, cycles: 10, payments: 1, rivals: false }
      : { openings: 20, cycles: 1_000, payments: 10, rivals: false };
  let done = 0;
  const figures = await measureWidget(options, () => tell(`${++done} steps done`));
  return { lines: linesOfWidget(rowsOf(figures)), servers: {} };
}
