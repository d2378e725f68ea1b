/** Row 11: the time from `npm start` to the first payment, with an empty state folder and with a used one. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { readDemoFile } from "../../demo/demo-file.ts";
import { addressesFrom } from "../../demo/ports.ts";
import { removePostgresHome } from "../../demo/postgres-home.ts";
import { discardServer } from "../../demo/server-record.ts";
import { Child } from "../testing/child-process.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { kinds } from "./payment-bench.ts";
import type { PaymentOrder } from "./payment-load.ts";

/** Milliseconds from the command to the outcome of the first payment, round by round. */
export type Starts = { readonly empty: readonly number[]; readonly used: readonly number[] };

const checkout = join(import.meta.dirname, "../../..");
// The last line but one of the output of a start (demo/progress.ts).
const isRunning = /^Ctrl-C stops everything/;
// Far beyond any start; bounds a start that hangs.
const startTimeoutMs = 120_000;

/** Starts twice in each round, with its state removed in between. Throws when a start or its payment fails. */
export async function measureStarts({ rounds }: { rounds: number }, report: (step: string) => void): Promise<Starts> {
  const empty: number[] = [];
  const used: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const state = await mkdtemp(join(tmpdir(), "switchyard-start-"));
    try {
      empty.push(await timeStart(state));
      used.push(await timeStart(state));
      report(
        `${round + 1} of ${rounds} rounds: ${empty[round]!.toFixed(0)} ms, with state ${used[round]!.toFixed(0)} ms`,
      );
    } finally {
      // A start that was stopped before it ran has left them.
      for (const server of ["postgres", "nats"]) await discardServer(join(state, `${server}.json`), "SIGINT");
      await removePostgresHome(state);
      await rm(state, { recursive: true, force: true });
    }
  }
  return { empty, used };
}

async function timeStart(state: string): Promise<number> {
  const port = await freePortRange(Object.keys(addressesFrom(0).ports).length);
  const customer = Child.start(join(import.meta.dirname, "payment-load.ts"));
  const startedAt = performance.now();
  const npm = spawn("npm", ["start", "--", "--state", state, "--port", String(port)], {
    cwd: checkout,
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    await saysThatItRuns(npm);
    const { restBase, vaultOrigin, merchants } = readDemoFile(state)!;
    const doors = { apiOrigin: new URL(restBase).origin, vaultOrigin, secretKey: merchants[0]!.test.secretKey };
    const order: PaymentOrder = { doors, card: kinds.approved, status: "SUCCEEDED" };
    const status = await customer.ask<string>("payOnce", order);
    if (status !== order.status) throw new Error(`the first payment ended as ${status}`);
    return performance.now() - startedAt;
  } finally {
    await customer.close();
    await stop(npm, state);
  }
}

/** Resolves when the demo runs; rejects with its output when it ends instead. */
async function saysThatItRuns(npm: ChildProcess): Promise<void> {
  const said: string[] = [];
  const running = new Promise<void>((resolve) => {
    for (const stream of [npm.stdout!, npm.stderr!]) {
      createInterface(stream).on("line", (line) => {
        said.push(line);
        if (isRunning.test(line)) resolve();
      });
    }
  });
  const signal = AbortSignal.timeout(startTimeoutMs);
  const ended = once(npm, "exit", { signal }).then(() => {
    throw new Error(`npm start ended before it ran:\n${said.slice(-20).join("\n")}`);
  });
  await Promise.race([running, ended]).catch((error: Error) => {
    throw signal.aborted ? new Error(`npm start did not run after ${startTimeoutMs / 1_000} s`) : error;
  });
  // After the race, its outcome no longer matters.
  ended.catch(() => {});
}

/** Stops the demo alone, as Ctrl-C would: npm ends after it. */
async function stop(npm: ChildProcess, state: string): Promise<void> {
  if (npm.exitCode !== null || npm.signalCode !== null) return;
  const ended = once(npm, "exit");
  const pid = readDemoFile(state)?.pids.demo;
  if (pid === undefined) npm.kill("SIGTERM");
  else process.kill(pid, "SIGTERM");
  await ended;
}
