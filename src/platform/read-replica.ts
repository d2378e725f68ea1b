/**
 * Reads that may be some seconds old: lists, search, analytics. They go to a streaming replica while it answers and keeps
 * up, and to the database itself otherwise. Nothing that a payment decides by is read here.
 */
import { replicaLagMaxMs, replicaLookEveryMs } from "../limits/databases.ts";
import { type Database, isDatabaseDown, type Queryable, type Reads, type Statement, type Tx } from "./database.ts";
import type { Logger } from "./log.ts";
import { type Loop, runLoop } from "./loop.ts";

/** `unchecked`: not known yet to have come as far as we have seen the database itself. Only one `in_use` is asked. */
export type ReplicaState = "unchecked" | "in_use" | "behind" | "unreachable" | "no_replica";

/** Where the database was at a moment of ours, and what we had written there by then, if anything. */
type Mark = { readonly position: string; readonly atMs: number; readonly stamp: number | null };

/** What the replica answers: the newest of our marks that lies behind it, what was written by then, and what it has. */
type Reached = {
  readonly isReplica: boolean;
  readonly atMs: number | null;
  readonly writtenStamp: number | null;
  readonly stamp: number | null;
};

// So many looks back it is told how far a replica is behind; longer than that is told as that.
const marksMax = 720;

// No earlier than what is there already, whatever the clock does.
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

/** A database's replica, and what is known of it. Close it before the database. */
export class ReadReplica implements Reads {
  readonly #primary: Database;
  /** The replica alone, whatever its state. */
  readonly database: Database;
  readonly #log: Pick<Logger, "warn">;
  readonly #nowMs: () => number;
  readonly #marks: Mark[] = [];
  #state: ReplicaState = "unchecked";
  /** Whether it has shown what was written on the database since either of them was away. */
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

  /** How old what it answers was at the last look, to within the pause between two; undefined while nobody knows. */
  get lagMs(): number | undefined {
    return this.#lagMs;
  }

  query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#read((database) => database.query<Row>(statement, values));
  }

  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.#read((database) => database.transaction(work));
  }

  /** Looks after it from now on. */
  watch(log: Pick<Logger, "error">): void {
    const turn = () => this.checkOnce().then(() => false);
    this.#loop = runLoop({ name: "replica", intervalMs: replicaLookEveryMs, log, turn });
  }

  async close(): Promise<void> {
    await this.#loop?.close();
  }

  /** Compares it with the database itself. Throws where that one does not answer. */
  async checkOnce(): Promise<void> {
    try {
      await this.#mark();
    } catch (error) {
      // It may come back as another, or as it was before: what was known of the two is forgotten.
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
    // Positions are numbers that another server has too: whoever is past a mark of ours must have what was written before it.
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
    // Otherwise it has not come to where we began to look, and the next look will tell.
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

  #become(state: ReplicaState, because: string): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#log.warn(
      { kind: state, because },
      state === "in_use"
        ? "lists are read from the replica"
        : "lists are read from the database itself, not from its replica",
    );
  }
}

// 40001: what was read is removed by what is replayed. 42P01, 42703: a migration has not come there yet.
const replicaCodes = new Set(["40001", "42P01", "42703"]);
// Too long for one is too long for the other.
const statementTimedOut = "57014";

function isOfReplica(error: unknown): boolean {
  const code = String((error as { code?: unknown } | undefined)?.code);
  return code !== statementTimedOut && (replicaCodes.has(code) || isDatabaseDown(error));
}
