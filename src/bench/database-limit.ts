/** How fast the database takes the statements of a creation when nothing else is done: by pgbench, or else by `pg`. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { idempotencyLifetimeMs, sessionLifetimeMs } from "../limits.ts";
import { sha256 } from "../platform/secrets.ts";
import { Child } from "../testing/child-process.ts";
import type { BenchBed } from "./bed.ts";
import type { Contestant } from "./contestant.ts";
import type { Load } from "./load.ts";
import { insertSession, selectKey } from "./peers/statements.ts";

/** The same number of clients as callers of the server. */
export type LimitOptions = { readonly bed: BenchBed; readonly databaseUrl: string; readonly clients: number };

const run = promisify(execFile);
// What a sealed answer of the product's has.
const sealedCharacters = 1_100;
// pgbench's own counter starts anew with each round; so far apart, no two rounds make the same id.
const roundStep = 10_000_000;

/** What the statements are given in a round, as pgbench writes it: ids in rising order, as UUIDv7 are. */
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

/** pgbench, its statements prepared; or, where there is no pgbench, node processes that do nothing but `pg`. */
export async function databaseLimit(options: LimitOptions): Promise<Contestant & { close(): Promise<void> }> {
  const hasPgbench = await run("pgbench", ["--version"], { env: {} }).then(
    () => true,
    () => false,
  );
  return hasPgbench ? pgbenchContestant(options) : driverContestant(options);
}

async function pgbenchContestant({ bed, databaseUrl, clients }: LimitOptions) {
  const file = join(bed.folder, "create.sql");
  const statements = [filled(selectKey.text, [":key"]), filled(insertSession.text, insertValues)];
  await writeFile(file, `\\set n :n + 1\n${statements.join(";\n")};\n`);
  const url = new URL(databaseUrl);
  const hash = bytea("order");
  const values = { merchant: bed.merchantId, key: bytea(bed.secretKey), hash, sealed: "s".repeat(sealedCharacters) };
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

async function driverContestant({ bed, databaseUrl, clients }: LimitOptions) {
  const child = Child.start(join(import.meta.dirname, "statement-load.ts"));
  return {
    name: "pg alone",
    async play(seconds: number) {
      const { merchantId, secretKey } = bed;
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
