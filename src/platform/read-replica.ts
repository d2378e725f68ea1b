/**
 * Reads that may be some seconds old: lists, search, analytics. They go to a streaming replica while it answers and
 * keeps up, and to the database itself otherwise. No payment decision reads here.
 */
import { type Database, isDatabaseDown, type Queryable, type Reads, type Statement, type Tx } from "./database.ts";
import type { Logger } from "./log.ts";
import { type Loop, runLoop } from "./loop.ts";

// Interval at which a read replica is compared with its database: one statement on each.
const replicaLookEveryMs = 5_000;
// Largest lag of a read replica: an older list misleads a person who looks for a recent payment.
const replicaLagMaxMs = 30_000;

/**
 * `unchecked`: not known yet to have reached the position that we have seen on the database itself. Only an `in_use`
 * replica is queried.
 */
export type ReplicaState = "unchecked" | "in_use" | "behind" | "unreachable" | "no_replica";

/** The database's position at a time of ours, and the stamp that we had written there by then, if any. */
type Mark = { readonly position: string; readonly atMs: number; readonly stamp: number | null };

/** The replica's answer: the newest of our marks that it has replayed, and both stamps. */
type Reached = {
  readonly isReplica: boolean;
  readonly atMs: number | null;
  readonly writtenStamp: number | null;
  readonly stamp: number | null;
};

// Number of checks for which the lag of a replica is known; a longer lag is reported as this one.
const marksMax = 720;

// Never earlier than the existing stamp, whatever the clock does.
const writeStamp: Statement = {
  name: "write_replica_mark",
  text: `UPDATE replica_mark SET marked_at = greatest(marked_at, clock_timestamp())
         RETURNING extract(epoch FROM marked_at)::float8 AS stamp`,
};
const selectPosition: Statement = {
  name: "select_wal_position",
  text: "SELECT pg_current_wal_lsn()::text AS position",
};
const selectReached: Statement = {
  name: "select_replayed_mark",
  text: `SELECT pg_is_in_recovery() AS "isReplica", max(m.at_ms) AS "atMs", max(m.stamp) AS "writtenStamp",
           (SELECT extract(epoch FROM marked_at)::float8 FROM replica_mark) AS stamp
         FROM unnest($1::pg_lsn[], $2::float8[], $3::float8[]) AS m(position, at_ms, stamp) WHERE m.position <= pg_last_wal_replay_lsn()`,
};

/** A database's replica and its state. Close it before the database. */
export class ReadReplica implements Reads {
  readonly #primary: Database;
  readonly database: Database;
  readonly #log: Pick<Logger, "warn">;
  readonly #nowMs: () => number;
  readonly #marks: Mark[] = [];
  #state: ReplicaState = "unchecked";
  /** True once it has shown a stamp written on the database since either of them was away. */
  #isProven = false;
  #lagMs: number | undefined;
  #loop: Loop | undefined;

  constructor(parts: {
    primary: Database;
    replica: Database;
    log: Pick<Logger, "warn">;
    nowMs: () => number;
  }) {
    this.#primary = parts.primary;
    this.database = parts.replica;
    this.#log = parts.log;
    this.#nowMs = parts.nowMs;
  }

  get state(): ReplicaState {
    return this.#state;
  }

  /** Age of its answers at the last check, to within the pause between two; undefined while unknown. */
  get lagMs(): number | undefined {
    return this.#lagMs;
  }

  query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#read((database) => database.query<Row>(statement, values));
  }

  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.#read((database) => database.transaction(work));
  }

  /** Checks it regularly from now on. */
  watch(log: Pick<Logger, "error">): void {
    const turn = () => this.checkOnce().then(() => false);
    this.#loop = runLoop({ name: "replica", intervalMs: replicaLookEveryMs, log, turn });
  }

  async close(): Promise<void> {
    await this.#loop?.close();
  }

  /** Compares it with the database itself. Throws if the database does not answer. */
  async checkOnce(): Promise<void> {
    try {
      await this.#mark();
    } catch (error) {
      // The database may come back as another one, or in an earlier state: everything known of the two is dropped.
      this.#marks.length = 0;
      this.#isProven = false;
      throw error;
    }
    this.#marks.splice(0, this.#marks.length - marksMax);
    try {
      this.#judge(await this.#reached(this.database));
    } catch (error) {
      this.#leave(error);
    }
  }

  async #mark(): Promise<void> {
    const written = this.#isProven ? [] : await this.#primary.query<{ stamp: number }>(writeStamp, []);
    const [row] = await this.#primary.query<{ position: string }>(selectPosition, []);
    this.#marks.push({ position: row!.position, atMs: this.#nowMs(), stamp: written[0]?.stamp ?? null });
  }

  async #reached(replica: Queryable): Promise<Reached> {
    const of = (part: keyof Mark) => this.#marks.map((mark) => mark[part]);
    const [row] = await replica.query<Reached>(selectReached, [of("position"), of("atMs"), of("stamp")]);
    return row!;
  }

  #judge({ isReplica, atMs, writtenStamp, stamp }: Reached): void {
    // Another server has the same positions too: a replica past one of our marks must have the stamp written before it.
    if (isReplica && writtenStamp !== null) this.#isProven = stamp !== null && stamp >= writtenStamp;
    if (isReplica && writtenStamp !== null && !this.#isProven) {
      this.#lagMs = undefined;
      this.#become("no_replica", "it follows another database, or this one as it was before a restore");
      return;
    }
    this.#lagMs = isReplica ? this.#nowMs() - (atMs ?? this.#marks[0]!.atMs) : undefined;
    if (this.#lagMs === undefined)
      this.#become("no_replica", "the read address leads to a server that follows no other");
    else if (this.#lagMs > replicaLagMaxMs) this.#become("behind", `it is ${Math.round(this.#lagMs / 1_000)} s behind`);
    // Otherwise the replica has not reached our first mark, and the next check will decide.
    else if (atMs !== null && this.#isProven) this.#become("in_use", "it answers and keeps up");
  }

  async #read<Result>(ask: (database: Database) => Promise<Result>): Promise<Result> {
    if (this.#state !== "in_use") return ask(this.#primary);
    try {
      return await ask(this.database);
    } catch (error) {
      if (!isOfReplica(error)) throw error;
      if (isDatabaseDown(error)) this.#leave(error);
      return ask(this.#primary);
    }
  }

  #leave(error: unknown): void {
    this.#lagMs = undefined;
    this.#isProven = false;
    this.#become("unreachable", error instanceof Error ? error.message : String(error));
  }

  #become(state: ReplicaState, reason: string): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#log.warn(
      { kind: state, reason },
      state === "in_use"
        ? "lists are read from the replica"
        : "lists are read from the database itself, not from its replica",
    );
  }
}

// 40001: rows that were read are removed by replay. 42P01, 42703: a migration has not reached the replica yet.
const replicaCodes = new Set(["40001", "42P01", "42703"]);
// A query too long for one is too long for the other.
const statementTimedOut = "57014";

function isOfReplica(error: unknown): boolean {
  const code = String((error as { code?: unknown } | undefined)?.code);
  return code !== statementTimedOut && (replicaCodes.has(code) || isDatabaseDown(error));
}
