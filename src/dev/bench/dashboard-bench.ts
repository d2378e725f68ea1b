/** Times the dashboard's RPCs over a merchant with very many payments, with the requests of each page. */
import { join } from "node:path";
import { Pool } from "pg";
import { createMerchant } from "../../accounts/merchants.ts";
import { generateOperatorToken, insertOperatorToken } from "../../accounts/operator-tokens.ts";
import { createDashboardClient, type DashboardClient } from "../../client/dashboard-client.ts";
import { freePort } from "../../demo/free-port.ts";
import { loadRecord } from "../../demo/server-record.ts";
import { Database } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { countSettledOnce } from "../../reporting/analytics/count-settled.ts";
import { countLedgerOnce } from "../../reporting/ledger-totals.ts";
import { Child, readUsage } from "../testing/child-process.ts";
import { serverCpuMs } from "./database-cpu.ts";
import { fillPayments, superuserUrlOf } from "./fill-payments.ts";
import { type BenchHarness, brand, startHarness } from "./harness.ts";
import { fillMoney, type MoneyCall, moneyCalls, totalCalls } from "./money-lists.ts";
import { fillSettlement, settlementCalls } from "./settlement-lists.ts";
import { lineOf, type TableLine } from "./whole/table-line.ts";

type DashboardRow = {
  readonly rpc: string;
  readonly query: string;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** The CPU time of a call in PostgreSQL and in the process that calls it, which other work on the machine changes less. */
  readonly cpuMs: number;
};

export type DashboardFigures = {
  readonly rows: readonly DashboardRow[];
  readonly money: readonly DashboardRow[];
  /** The time that a worker took beforehand to count all payments. */
  readonly countedMs: number;
  readonly postgres: string;
};

type Scope = { readonly merchantId: string; readonly environment: "ENVIRONMENT_TEST" };
type Call = readonly [rpc: string, query: string, call: (client: DashboardClient, scope: Scope) => Promise<unknown>];

const dayMs = 86_400_000;
const dayBefore = (days: number) => new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);

function analytics(
  query: string,
  days: number,
  more: { timeZone: string; pointLength?: "POINT_LENGTH_HOUR" | "POINT_LENGTH_DAY" },
): Call {
  const range = { firstDay: dayBefore(days - 1), lastDay: dayBefore(0), ...more };
  return ["GetAnalytics", query, (client, scope) => client.analytics.getAnalytics({ ...scope, ...range })];
}

// The requests of the pages: their first view, their widest, and searches that find almost nothing among very many
// rows.
const calls: readonly Call[] = [
  analytics("7 days, Berlin", 7, { timeZone: "Europe/Berlin" }),
  analytics("30 days by the hour, Kolkata", 30, { timeZone: "Asia/Kolkata", pointLength: "POINT_LENGTH_HOUR" }),
  analytics("a year by the day, New York", 365, { timeZone: "America/New_York", pointLength: "POINT_LENGTH_DAY" }),
  analytics("a year by the day, Kolkata", 365, { timeZone: "Asia/Kolkata", pointLength: "POINT_LENGTH_DAY" }),
  ["ListPayments", "the newest 50", ({ payments }, scope) => payments.listPayments({ ...scope, pageSize: 50 })],
  [
    "ListPayments",
    "the newest 50 that were declined",
    ({ payments }, scope) => payments.listPayments({ ...scope, pageSize: 50, filter: { status: "DECLINED" } }),
  ],
  [
    "ListPayments",
    "the newest 50 with a card that ends in 4242",
    ({ payments }, scope) => payments.listPayments({ ...scope, pageSize: 50, filter: { cardLast4: "4242" } }),
  ],
  ["CountPayments", "all", ({ payments }, scope) => payments.countPayments(scope)],
  [
    "CountPayments",
    "those that SANDBOX_B was asked for",
    ({ payments }, scope) => payments.countPayments({ ...scope, filter: { gateway: "SANDBOX_B" } }),
  ],
  ["SearchPayments", "an orderRef", ({ payments }, scope) => payments.searchPayments({ ...scope, text: "order-4711" })],
  ["GetHome", "today", ({ home }, scope) => home.getHome(scope)],
];

export type DashboardOptions = {
  readonly payments: number;
  readonly held: number;
  readonly longestPayout: number;
  readonly foreignLines: number;
  readonly repeats: number;
};

// The limit for any list or chart over a million sessions.
const goalMs = 300;

export function linesOfDashboard({ rows, money }: DashboardFigures): TableLine[] {
  return [...rows, ...money].map(({ rpc, query, p50Ms, p95Ms, cpuMs }) =>
    lineOf({
      row: 15,
      what: `${rpc}: ${query}`,
      measured: `p50 ${p50Ms.toFixed(0)} p95 ${p95Ms.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms CPU`,
      goal: `p95 ≤ ${goalMs} ms`,
      isReached: p95Ms <= goalMs,
    }),
  );
}

/** Writes the payments, counts them as a worker does, and makes every call `repeats` times after two to warm up. */
export async function measureDashboard(
  options: DashboardOptions,
  report: (line: string) => void,
): Promise<DashboardFigures> {
  const harness = await startHarness();
  let edge: Child | undefined;
  try {
    const databaseUrl = await harness.makeDatabase("dashboard", "environment");
    await fillPayments(superuserUrlOf(harness.ownerUrlOf("dashboard"), harness.folder), {
      merchantId: harness.merchantId,
      count: options.payments,
      onFilled: (count) => report(`${count} of ${options.payments} payments written`),
    });
    const countedMs = await countAll(databaseUrl);
    report("payments counted");
    const served = await serveRpcs(harness, databaseUrl);
    edge = served.edge;
    const { client } = served;
    const rows: DashboardRow[] = [];
    try {
      const { edge } = served;
      const spentMs = async () => databaseMs(harness) + (await edge.ask<{ cpuMs: number }>("usage")).cpuMs;
      const scope = { merchantId: encodeId("mer", harness.merchantId), environment: "ENVIRONMENT_TEST" } as const;
      for (const [rpc, query, call] of calls)
        rows.push({ rpc, query, ...(await timesOf(() => call(client, scope), options.repeats, spentMs)) });
    } finally {
      client.close();
    }
    report("RPCs timed");
    const money = await measureMoney(harness, databaseUrl, options);
    return { rows, money, countedMs, postgres: harness.postgres.version };
  } finally {
    await edge?.close();
    await harness.close();
  }
}

async function timesOf(
  call: () => Promise<unknown>,
  repeats: number,
  spentMs: () => Promise<number>,
): Promise<Omit<DashboardRow, "rpc" | "query">> {
  for (let turn = 0; turn < 2; turn++) await call();
  const times: number[] = [];
  const before = await spentMs();
  for (let turn = 0; turn < repeats; turn++) {
    const begun = performance.now();
    await call();
    times.push(performance.now() - begun);
  }
  const cpuMs = ((await spentMs()) - before) / repeats;
  times.sort((one, other) => one - other);
  const share = (part: number) => times[Math.ceil(part * times.length) - 1]!;
  return { p50Ms: share(0.5), p95Ms: share(0.95), cpuMs };
}

function databaseMs({ folder }: Pick<BenchHarness, "folder">): number {
  const ms = serverCpuMs(loadRecord(join(folder, "postgres.json"))!.server!.pid);
  if (ms === undefined) throw new Error("the CPU time of PostgreSQL cannot be read on this machine");
  return ms;
}

/** Disputes, pays out and refunds the captured payments, the latter on the day before yesterday, holds some more, and times the lists. */
async function measureMoney(
  harness: BenchHarness,
  databaseUrl: string,
  { held, longestPayout, foreignLines, repeats }: DashboardOptions,
): Promise<DashboardRow[]> {
  const { merchantId, folder, ownerUrlOf } = harness;
  const spentMs = async () => databaseMs(harness) + readUsage().cpuMs;
  const rows = { merchantId, smallMerchantId: systemRuntime.uuid(), day: dayBefore(2), held };
  const superuserUrl = superuserUrlOf(ownerUrlOf("dashboard"), folder);
  const settled = { merchantId, longestPayout, foreignLines };
  await fillSettlement(superuserUrl, settled);
  const pool = new Pool({ connectionString: databaseUrl, max: 1, pipeline: true });
  try {
    const database = new Database(pool);
    const timed: DashboardRow[] = [];
    const timeAll = async (all: readonly MoneyCall[]) => {
      for (const [rpc, query, call] of all) timed.push({ rpc, query, ...(await timesOf(call, repeats, spentMs)) });
    };
    await timeAll(await settlementCalls(database, settled));
    await fillMoney(superuserUrl, rows);
    await timeAll(await moneyCalls(database, rows));
    await timeAll(totalCalls(database, rows, "from the entries"));
    while (await countLedgerOnce(database));
    await timeAll(totalCalls(database, rows, "added up"));
    return timed;
  } finally {
    await pool.end();
  }
}

async function countAll(databaseUrl: string): Promise<number> {
  const pool = new Pool({ connectionString: databaseUrl, max: 1, pipeline: true });
  const begun = performance.now();
  while (await countSettledOnce(new Database(pool)));
  await pool.end();
  return performance.now() - begun;
}

/** Starts the edge, whose internal port has the same RPCs as the dashboard's page, and an operator's client for it. */
async function serveRpcs(
  harness: BenchHarness,
  databaseUrl: string,
): Promise<{ edge: Child; client: DashboardClient }> {
  const accountsUrl = await harness.makeDatabase("accounts", "accounts");
  const token = generateOperatorToken(systemRuntime, brand);
  const pool = new Pool({ connectionString: accountsUrl, max: 1, pipeline: true });
  const accounts = new Database(pool);
  await createMerchant(accounts, { id: harness.merchantId, name: "Bench" });
  await insertOperatorToken(accounts, { id: systemRuntime.uuid(), label: "bench", token });
  await pool.end();
  const [publicPort, grpcPort] = [await freePort(), await freePort()];
  const edge = Child.start(join(import.meta.dirname, "edge-process.ts"), {
    SWITCHYARD_TEST_DATABASE_URL: databaseUrl,
    SWITCHYARD_ACCOUNTS_DATABASE_URL: accountsUrl,
    SWITCHYARD_TEST_KEYS_FILE: harness.keysFile,
    SWITCHYARD_PUBLIC_PORT: String(publicPort),
    SWITCHYARD_GRPC_PORT: String(grpcPort),
    SWITCHYARD_API_ORIGIN: `http://127.0.0.1:${publicPort}`,
    SWITCHYARD_VAULT_ORIGIN: "http://127.0.0.1:1",
    SWITCHYARD_ERROR_DOCS_URL: "http://127.0.0.1/docs/errors",
    SWITCHYARD_LOG_LEVEL: "silent",
    // The calls use neither of them.
    SWITCHYARD_VAULT_GRPC_ADDRESS: "127.0.0.1:1",
    SWITCHYARD_TEST_NATS_SERVERS: "127.0.0.1:1",
    SWITCHYARD_TEST_NATS_USER: "none",
    SWITCHYARD_TEST_NATS_PASSWORD: "none",
  });
  await edge.ask("start");
  return { edge, client: createDashboardClient(`127.0.0.1:${grpcPort}`, token) };
}
