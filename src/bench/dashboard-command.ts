/** `npm run bench -- dashboard`: how long the dashboard's rpcs take over a year of one merchant's payments. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { type DashboardFigures, measureDashboard } from "./dashboard-bench.ts";
import { describeMachine } from "./machine.ts";
import { positive } from "./options.ts";
import { writeTable } from "./table.ts";

type Options = { readonly payments: number; readonly repeats: number; readonly json?: string };

// As promised for any list or chart over a million sessions.
const goalMs = 300;

/** The command, for `npm run bench`. */
export function dashboardCommand(): Command {
  return new Command("dashboard")
    .description(
      "How long the dashboard's rpcs take over a year of payments of one merchant, from the call to its answer, one call " +
        "at a time. Ends with 1 when a goal is missed. Takes about five minutes, most of them to write the payments.",
    )
    .option("--payments <count>", "sessions of the merchant", positive, 1_000_000)
    .option("--repeats <count>", "calls of each rpc", positive, 20)
    .option("--json <file>", "also write every figure to a file")
    .addHelpText("after", "\nExample:\n  npm run bench -- dashboard --json dashboard.json")
    .action(play);
}

async function play({ payments, repeats, json }: Options): Promise<void> {
  const figures = await measureDashboard({ payments, repeats, tell: (line) => console.error(line) });
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ goalMs, ...figures }, null, 2)}\n`);
  console.log(writeReport(figures, { payments, repeats }));
  if (figures.rows.some(({ p95Ms }) => p95Ms > goalMs)) process.exitCode = 1;
}

function writeReport({ rows, countedMs, postgres }: DashboardFigures, { payments, repeats }: Options): string {
  const head = ["rpc", "asked for", "p50 ms", "p95 ms", "goal"];
  const told = Object.entries(describeMachine({ postgres })).map(([what, value]) => `${what} ${value}`);
  return [
    writeTable([
      head,
      ...rows.map(({ rpc, asked, p50Ms, p95Ms }) => [
        ...[rpc, asked, p50Ms.toFixed(0), p95Ms.toFixed(0)],
        `≤ ${goalMs} ${p95Ms <= goalMs ? "✓" : "✗"}`,
      ]),
    ]),
    "",
    `${payments} payments of one merchant in a year; ${repeats} calls each, one at a time, after two to warm up.`,
    `A worker counted them beforehand in ${(countedMs / 1_000).toFixed(0)} s.`,
    told.join(" · "),
  ].join("\n");
}
