/** Measures how fast the database runs the statements of a creation alone: by pgbench, else by `pg`. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { idempotencyLifetimeMs, sessionLifetimeMs } from "../../limits.ts";
import { sha256 } from "../../platform/secrets.ts";
import { Child } from "../testing/child-process.ts";
import type { Contestant } from "./contestant.ts";
import type { BenchHarness } from "./harness.ts";
import type { Load } from "./load.ts";
import { insertSession, selectKey } from "./peers/statements.ts";

/** The number of clients equals the number of the server's callers. */
export type LimitOptions = { readonly harness: BenchHarness; readonly databaseUrl: string; readonly clients: number };

const run = promisify(execFile);
// The length of a sealed answer of the product.
const sealedCharacters = 1_100;
// pgbench's own counter restarts with each round; at this distance, no two rounds make the same id.
const roundStep = 10_000_000;

/** The parameters of the statements in a round, as pgbench writes them: ids in rising order, as UUIDv7 are. */
const insertValues = [
  "('00000000-0000-7000-8000-' || lpad(to_hex(:n::bigint * 64 + :client_id::bigint), 12, '0'))::uuid",
  ":merchant",
  "4900",
  "'EUR'",
  "'order-' || :n || '-' || :client_id",
  "'customer@example.com'",
  "1",
  String(sessionLifetimeMs),
  "'key-' || :n || '-' || :client_id",
  ":hash",
  ":sealed",
  String(idempotencyLifetimeMs),
];

/** Returns pgbench with prepared statements; or, without pgbench, node processes that run only `pg`. */
export async function databaseLimit(options: LimitOptions): Promise<Contestant & { close(): Promise<void> }> {
  const hasPgbench = await run("pgbench", ["--version"], { env: {} }).then(
    () => true,
    () => false,
  );
  return hasPgbench ? pgbenchContestant(options) : driverContestant(options);
}

async function pgbenchContestant({ harness, databaseUrl, clients }: LimitOptions) {
  const file = join(harness.folder, "create.sql");
  const statements = [filled(selectKey.text, [":key"]), filled(insertSession.text, insertValues)];
  await writeFile(file, `\\set n :n + 1\n${statements.join(";\n")};\n`);
  const url = new URL(databaseUrl);
  const hash = bytea("order");
  const values = {
    merchant: harness.merchantId,
    key: bytea(harness.secretKey),
    hash,
    sealed: "s".repeat(sealedCharacters),
  };
  const variables = Object.entries(values).flatMap(([name, value]) => ["-D", `${name}=${value}`]);
  const server = ["-h", url.hostname, "-p", url.port, "-U", url.username];
  const how = ["-n", "-M", "prepared", "-c", String(clients), "-f", file];
  let rounds = 0;
  return {
    name: "pgbench",
    async play(seconds: number) {
      const counter = ["-D", `n=${rounds++ * roundStep}`, "-T", String(Math.max(1, Math.round(seconds)))];
      const { stdout } = await run("pgbench", [...server, ...how, ...variables, ...counter, url.pathname.slice(1)], {
        env: { PGPASSWORD: url.password },
      });
      return {
        requestsPerSecond: Number(/^tps = ([\d.]+)/m.exec(stdout)![1]),
        failures: Number(/^number of failed transactions: (\d+)/m.exec(stdout)?.[1] ?? 0),
      };
    },
    close: async () => {},
  };
}

async function driverContestant({ harness, databaseUrl, clients }: LimitOptions) {
  const child = Child.start(join(import.meta.dirname, "statement-load.ts"));
  return {
    name: "pg alone",
    async play(seconds: number) {
      const { merchantId, secretKey } = harness;
      const order = { databaseUrl, merchantId, secretKey, callers: clients, seconds, sealedCharacters };
      const { requests, elapsedMs, failures, p50Ms, p99Ms } = await child.ask<Load>("load", order);
      return { requestsPerSecond: requests / (elapsedMs / 1_000), failures, p50Ms, p99Ms };
    },
    close: () => child.close(),
  };
}

function filled(text: string, values: readonly string[]): string {
  return text.replaceAll(/\$(\d+)/g, (_, number) => values[Number(number) - 1]!).trim();
}

function bytea(text: string): string {
  return `\\x${sha256(text).toString("hex")}`;
}
