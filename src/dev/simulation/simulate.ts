/** Plays many seeds on several processes, each with its own database on one private PostgreSQL. */
import { type ChildProcess, fork } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { migrate } from "../../migrations/migrate.ts";
import { usableCores } from "./one-core.ts";
import type { RunResult } from "./run.ts";
import type { SchemaRemoval } from "./schema-removals.ts";
import type { Beginning, Order, Report } from "./seed-runner.ts";
import { runOn, simulationTemplate } from "./simulation-template.ts";

/** A PostgreSQL for simulations only; `stop` removes all of its data. */
export type SimulationServer = { readonly url: string; stop(): Promise<void> };

// A root's folder of state, as for the demo: PostgreSQL's own files are copied there once, not for each run.
const stateFolderOf = (root: string) => join(root, ".switchyard");

/** Starts a PostgreSQL for simulations only. Stop it at the end. */
export async function startSimulationServer(root: string): Promise<SimulationServer> {
  const server = { stateFolder: stateFolderOf(root), dataName: `simulation-${process.pid}` };
  const postgres = await startPrivatePostgres({ ...server, forTests: true });
  await makeTemplate(postgres.ownerUrl);
  const { ownerUrl, socketFolder } = postgres;
  const search = socketFolder === undefined ? "" : String(new URLSearchParams({ host: socketFolder }));
  return {
    url: Object.assign(new URL(ownerUrl), { search }).href,
    async stop() {
      await postgres.stop({ removeData: true });
      await rm(join(server.stateFolder, `${server.dataName}.log`), { force: true });
    },
  };
}

// A sequence is visible to every transaction at once; no table is. Unlogged, it gives a transaction that sets it no id. Without
// FROM the function becomes a part of the plan that calls it.
const simulatedClock = `
  CREATE UNLOGGED SEQUENCE app.simulated_clock;
  SELECT setval('app.simulated_clock', 1);
  CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT timestamptz ''epoch'' + pg_sequence_last_value(''app.simulated_clock''::regclass) * interval ''1 ms'''`;

// The times of the runs are years apart, so all rows are in the set `rest`.
const dropMonths = `DO $$ BEGIN EXECUTE (
  SELECT string_agg(format('DROP TABLE partitions.%I CASCADE', p.parent || s.suffix), '; ')
  FROM app.partition_sets s JOIN app.partitioned p USING (kind)); END $$`;

// Indexes for lists, analytics and loops that the simulation does not play: each change of a row wrote them too.
const dropUnread = `DO $$ BEGIN EXECUTE (
  SELECT string_agg('DROP INDEX ' || indexrelid::regclass, '; ') FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE indrelid IN ('payment_session'::regclass, 'attempt'::regclass, 'outbox_event'::regclass) AND NOT indisunique
    AND relname NOT IN ('payment_session_to_recover', 'payment_session_to_expire', 'payment_session_of_order',
      'payment_session_of_approved_card', 'payment_session_hold_ends', 'attempt_by_id', 'attempt_changed', 'attempt_being_captured')); END $$`;

// The simulation plays as the owner, in whose functions the guards would fire too. As another role's they stand alone, as in service.
const ownedBy = (role: string) => `
  GRANT ${role} TO CURRENT_USER;
  GRANT CREATE ON SCHEMA app, partitions TO ${role};
  GRANT SELECT ON app.simulated_clock TO ${role};
  GRANT INSERT, UPDATE, DELETE ON payment_session, attempt, authentication, refund, partitions.payment_session_rest, partitions.attempt_rest,
    partitions.authentication_rest, partitions.refund_rest, dispute, dispute_movement, dispute_response, partitions.dispute_rest,
    partitions.dispute_movement_rest, partitions.dispute_response_rest TO ${role};
  GRANT INSERT, UPDATE, DELETE ON stored_payment, partitions.stored_payment_rest, payment_method, card_erasure, agreement, renewal, renewal_try,
    card_state, card_decline, recovery_link TO ${role};
  DO $$ BEGIN EXECUTE (
    SELECT string_agg(format('ALTER FUNCTION %s OWNER TO ${role}', p.oid::regprocedure), '; ')
    FROM pg_proc p JOIN app.payment_functions f ON p.proname IN (f.name, f.name || '_rest') WHERE p.prosecdef); END $$`;

/** Migrates the product's own schema once, with another source for its clock: a copy takes a tenth of the time. */
async function makeTemplate(serverUrl: string): Promise<void> {
  const ownerUrl = Object.assign(new URL(serverUrl), { pathname: simulationTemplate }).href;
  const runtimeRole = "simulation_runtime";
  await runOn(serverUrl, `CREATE DATABASE ${simulationTemplate}`, `CREATE ROLE ${runtimeRole}`);
  await migrate({ ownerUrl, kind: "environment", runtimeRole });
  await runOn(ownerUrl, simulatedClock, dropMonths, dropUnread, ownedBy(runtimeRole));
}

/** The seeds to play, the code to play them on, and the number of processes. */
export type SimulationOptions = {
  readonly serverUrl: string;
  /** The folder of the code to simulate: this one's root, or a copy of it with a rule removed. */
  readonly root: string;
  /** The removals from the schema of each database. */
  readonly withoutInSchema?: readonly SchemaRemoval[];
  readonly from: number;
  readonly seeds: number;
  readonly processes: number;
  /** No new seed begins after this many violations. */
  readonly violationsMax: number;
  readonly signal: AbortSignal;
  /** Returns true for a violation that counts. */
  readonly onResult: (result: RunResult) => boolean;
};

/** Resolves when every seed is played, enough violations are found, or the signal fires. */
export async function simulate(options: SimulationOptions): Promise<void> {
  const end = options.from + options.seeds;
  let next = options.from;
  let violations = 0;
  const isOver = () => options.signal.aborted || violations >= options.violationsMax || next === end;
  const runOne = async () => {
    const runner = await Runner.start(options);
    const playSeeds = async (seedsMax = Number.POSITIVE_INFINITY) => {
      for (let played = 0; played < seedsMax && !isOver(); played++) {
        if (options.onResult(await runner.play({ seed: next++, keepHistory: false }))) violations++;
      }
    };
    try {
      await playSeeds(seedsAlone);
      await Promise.all(Array.from({ length: concurrently }, () => playSeeds()));
    } finally {
      await runner.close();
    }
  };
  await Promise.all(Array.from({ length: options.processes }, runOne));
}

export async function replay(
  options: Pick<SimulationOptions, "serverUrl" | "root" | "withoutInSchema"> & { seed: number },
): Promise<RunResult> {
  const runner = await Runner.start(options);
  try {
    return await runner.play({ seed: options.seed, keepHistory: true });
  } finally {
    await runner.close();
  }
}

// A tenth of the time went into collecting garbage of a smaller young generation.
const execArgv = ["--max-semi-space-size=32"];

// The statements of one seed run while the answers of others are processed: a third less CPU time in Node.js than one
// seed at a time. Each has its own database, whose connections plan every statement anew: 75 seeds of one process take
// 16 % less alone.
const concurrently = 4;
const seedsAlone = 80;

const runnersOn = new Map(usableCores().map((core) => [core, 0]));

/** Takes the core with the fewest runners; one of them by chance, for another command may be playing. */
function takeCore(): number | undefined {
  const fewest = Math.min(...runnersOn.values());
  const free = [...runnersOn].filter(([, runners]) => runners === fewest).map(([core]) => core);
  if (free.length === 0) return undefined;
  const core = free[randomInt(free.length)]!;
  runnersOn.set(core, fewest + 1);
  return core;
}

class Runner {
  readonly #child: ChildProcess;
  readonly #core: number | undefined;

  private constructor(child: ChildProcess, core: number | undefined) {
    this.#child = child;
    this.#core = core;
  }

  static async start({
    serverUrl,
    root,
    withoutInSchema = [],
  }: Pick<SimulationOptions, "serverUrl" | "root" | "withoutInSchema">): Promise<Runner> {
    // Ctrl-C reaches only us: a seed that has begun is played to its end. A runner ends when we are gone.
    const env = { NODE_COMPILE_CACHE: join(stateFolderOf(root), "compile-cache") };
    const core = takeCore();
    const beginning: Beginning = { serverUrl, withoutInSchema, core };
    const runnerFile = join(root, "src/dev/simulation/seed-runner.ts");
    const runner = new Runner(fork(runnerFile, [JSON.stringify(beginning)], { detached: true, env, execArgv }), core);
    await runner.#until(({ type }) => type === "ready");
    return runner;
  }

  async play(order: Order): Promise<RunResult> {
    let played: RunResult | undefined;
    const finished = this.#until((report) => {
      if (report.type === "result" && report.result.seed === order.seed) played = report.result;
      return played !== undefined;
    });
    this.#child.send(order);
    await finished;
    return played!;
  }

  async close(): Promise<void> {
    if (this.#core !== undefined) runnersOn.set(this.#core, runnersOn.get(this.#core)! - 1);
    if (this.#child.exitCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, "exit");
  }

  #until(isLast: (report: Report) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error("a process of the simulation died"));
      const onMessage = (report: Report) => {
        if (report.type !== "failed" && !isLast(report)) return;
        this.#child.off("exit", onExit).off("message", onMessage);
        if (report.type === "failed") reject(new Error(report.message));
        else resolve();
      };
      this.#child.on("exit", onExit).on("message", onMessage);
    });
  }
}
