/** `npm run bench -- dashboard`: times the dashboard's RPCs over a year of one merchant's payments. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import type { DashboardFigures } from "./dashboard-bench.ts";
import { describeMachine } from "./machine.ts";
import { positive } from "./options.ts";
import { writeTable } from "./table.ts";

type Options = {
  readonly payments: number;
  readonly held: number;
  readonly onlyMoney: boolean;
  readonly repeats: number;
  readonly json?: string;
};

// The limit for any list or chart over a million sessions.
const goalMs = 300;

/** Returns the command, for `npm run bench`. */
export function dashboardCommand(): Command {
  return new Command("dashboard")
    .description(
      "Measures the dashboard's RPCs over one merchant's payments of a year, from call to answer, one call at a time. " +
        "Exits with 1 when a goal is missed. Takes about five minutes, mostly to write the payments.",
    )
    .option("--payments <count>", "the number of the merchant's sessions", positive, 1_000_000)
    .option("--held <count>", "the number of its payments that are held, beside these", positive, 100_000)
    .option("--only-money", "only the lists about money: refunds, holds and the ledger", false)
    .option("--repeats <count>", "calls of each RPC", positive, 20)
    .option("--json <file>", "also write every figure to a file")
    .addHelpText("after", "\nExample:\n  npm run bench -- dashboard --json dashboard.json")
    .action(play);
}

async function play({ json, ...sizes }: Options): Promise<void> {
  const { measureDashboard } = await import("./dashboard-bench.ts");
  const figures = await measureDashboard({ ...sizes, report: (line) => console.error(line) });
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ goalMs, ...figures }, null, 2)}\n`);
  console.log(writeReport(figures, sizes));
  if ([...figures.rows, ...figures.money].some(({ p95Ms }) => p95Ms > goalMs)) process.exitCode = 1;
}

function writeReport({ rows, money, countedMs, postgres }: DashboardFigures, sizes: Omit<Options, "json">): string {
  const { payments, held, repeats } = sizes;
  const facts = Object.entries(describeMachine({ postgres })).map(([what, value]) => `${what} ${value}`);
  const table = (what: string, which: string, timed: typeof rows) =>
    writeTable([
      [what, which, "p50 ms", "p95 ms", "CPU ms", "goal"],
      ...timed.map(({ rpc, query, p50Ms, p95Ms, cpuMs }) => [
        ...[rpc, query, ...[p50Ms, p95Ms, cpuMs].map((ms) => ms.toFixed(0))],
        `≤ ${goalMs} ${p95Ms <= goalMs ? "✓" : "✗"}`,
      ]),
    ]);
  const ofRpcs = [
    table("RPC", "query", rows),
    `Before that, a worker counted the payments in ${(countedMs / 1_000).toFixed(0)} s.`,
    "",
  ];
  return [
    ...(rows.length === 0 ? [] : ofRpcs),
    table("list, by its function", "page", money),
    "",
    `Every captured payment was refunded on one day, and ${held} more payments are held. A late page begins after nine tenths.`,
    `${payments} payments of one merchant in a year; ${repeats} calls each, one at a time, after two to warm up. CPU is that of PostgreSQL and of the process that calls it, for one call.`,
    facts.join(" · "),
  ].join("\n");
}
