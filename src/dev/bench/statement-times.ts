/** Measures the time of each statement by PostgreSQL's own statistics (pg_stat_statements). */
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { withClient } from "../testing/with-client.ts";
import { superuserUrlOf } from "./fill-payments.ts";
import { writeTable } from "./table.ts";

type Times = { readonly query: string; readonly calls: number; readonly ms: number; readonly planMs: number };

const settings = {
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track_planning": "on",
  // Counts statements of functions and triggers separately, too.
  "pg_stat_statements.track": "all",
};
const linesMax = 30;
const characters = 110;

/** Starts a private PostgreSQL with statistics, in place of `startPrivatePostgres`. */
export async function startCountingPostgres(options: { stateFolder: string; dataName: "postgres" }) {
  const first = await startPrivatePostgres(options);
  await withClient(superuserUrlOf(first.ownerUrl, options.stateFolder), async (client) => {
    for (const [name, value] of Object.entries(settings)) await client.query(`ALTER SYSTEM SET ${name} = '${value}'`);
  });
  await first.stop();
  const server = await startPrivatePostgres(options);
  const url = superuserUrlOf(server.ownerUrl, options.stateFolder);
  await withClient(url, (client) => client.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements"));
  return server;
}

export async function beginStatementTimes(superuserUrl: string): Promise<void> {
  await withClient(superuserUrl, (client) => client.query("SELECT pg_stat_statements_reset()"));
}

/** Lists the statements by time since the reset, with the number of runs for one payment. */
export async function writeStatementTimes(superuserUrl: string, { payments }: { payments: number }): Promise<string> {
  const times = await withClient(superuserUrl, async (client) => {
    const { rows } = await client.query<Times>(
      `SELECT query, calls::float8, total_exec_time AS ms, total_plan_time AS "planMs" FROM pg_stat_statements
       WHERE toplevel ORDER BY total_exec_time + total_plan_time DESC`,
    );
    return rows;
  });
  const sum = (figure: (one: Times) => number) => times.reduce((all, one) => all + figure(one), 0) / payments;
  const each = (figure: number) => (figure / payments).toFixed(2);
  return [
    `statements of one payment: ${sum(({ calls }) => calls).toFixed(1)}, ${sum(({ ms }) => ms).toFixed(2)} ms, planning ${sum(({ planMs }) => planMs).toFixed(2)} ms`,
    writeTable([
      ["statement, triggers included", "ms", "planning", "calls"],
      ...times
        .slice(0, linesMax)
        .map(({ query, ms, planMs, calls }) => [oneLine(query), each(ms), each(planMs), each(calls)]),
    ]),
  ].join("\n");
}

function oneLine(query: string): string {
  const text = query.replaceAll(/\s+/g, " ").trim();
  return text.length <= characters ? text : `${text.slice(0, characters - 1)}…`;
}
