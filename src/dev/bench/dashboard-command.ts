/** `npm run bench -- dashboard`: times the dashboard's RPCs over a year of one merchant's payments. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import type { DashboardFigures } from "./dashboard-bench.ts";
import { describeMachine } from "./machine.ts";
import { positive } from "./options.ts";
import { writeTable } from "./table.ts";

type Options = { readonly payments: number; readonly repeats: number; readonly json?: string };

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
    .option("--repeats <count>", "calls of each RPC", positive, 20)
    .option("--json <file>", "also write every figure to a file")
    .addHelpText("after", "\nExample:\n  npm run bench -- dashboard --json dashboard.json")
    .action(play);
}

async function play({ payments, repeats, json }: Options): Promise<void> {
  const { measureDashboard } = await import("./dashboard-bench.ts");
  const figures = await measureDashboard({ payments, repeats, report: (line) => console.error(line) });
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ goalMs, ...figures }, null, 2)}\n`);
  console.log(writeReport(figures, { payments, repeats }));
  if (figures.rows.some(({ p95Ms }) => p95Ms > goalMs)) process.exitCode = 1;
}

function writeReport({ rows, countedMs, postgres }: DashboardFigures, { payments, repeats }: Options): string {
  const head = ["RPC", "query", "p50 ms", "p95 ms", "goal"];
  const facts = Object.entries(describeMachine({ postgres })).map(([what, value]) => `${what} ${value}`);
  return [
    writeTable([
      head,
      ...rows.map(({ rpc, query, p50Ms, p95Ms }) => [
        ...[rpc, query, p50Ms.toFixed(0), p95Ms.toFixed(0)],
        `≤ ${goalMs} ${p95Ms <= goalMs ? "✓" : "✗"}`,
      ]),
    ]),
    "",
    `${payments} payments of one merchant in a year; ${repeats} calls each, one at a time, after two to warm up.`,
    `Before that, a worker counted the payments in ${(countedMs / 1_000).toFixed(0)} s.`,
    facts.join(" · "),
  ].join("\n");
}
