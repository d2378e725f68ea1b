/**
 * A PostgreSQL database as the payment path uses it: prepared statements and short transactions on a `pg` pool whose
 * connections pipeline. Statements that are sent before one of them is awaited share a round trip. They run in the
 * order in which they were sent, and in a transaction no statement runs after a failed one.
 */
import type { Duplex } from "node:stream";
import driver, {
  type CustomTypesConfig,
  type Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  types,
} from "pg";
import { Batches, type Call } from "./batches.ts";
import { PartitionNames } from "./partition-names.ts";
import type { Queryable, Statement } from "./statement.ts";

export type { Queryable, Statement };

// bigint: our amounts and counters stay far below 2^53 (limits.ts), and the domain uses numbers.
const bigintOid = 20;

/** The driver's own parsers of every type but bigint, whatever the ORM that shares the pool has set on it. */
const readings: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === bigintOid ? parseSafeInteger : types.getTypeParser(oid, format as "text")) as typeof types.getTypeParser,
};

function parseSafeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error("a bigint column holds more than a number can");
  return value;
}

// The function with which the driver itself writes values (node_modules/pg/lib/index.js, 2026); its types omit it.
const { prepareValue } = (driver as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils;

/** The texts of the named statements of a database, by name; undefined if it keeps no names. */
type Texts = Map<string, string> | undefined;

// Throws here, before anything is sent, for what the driver would refuse between two statements: a value that it cannot
// write, and another text under a name.
function queryOf({ name, text }: Statement, values: readonly unknown[], texts: Texts) {
  const keepsName = texts !== undefined && name !== unnamed;
  if (keepsName) {
    const known = texts.get(name);
    if (known === undefined) texts.set(name, text);
    else if (known !== text) throw new Error(`the name of a statement must be unique: ${name}`);
  }
  return { ...(keepsName && { name }), text, values: values.map((value) => prepareValue(value)), types: readings };
}

/** The name of a statement that is planned anew each time, because its values decide which index serves it. */
export const unnamed = "";

// Databases plan for any values (src/migrations/environment/partitions.sql), once for each name. Done for every call it would look at every partition.
const planEachTime = { text: "SET LOCAL plan_cache_mode = force_custom_plan" };

/** The source of reads for lists and analytics: the database itself, or its replica. Nothing is changed through it. */
export type Reads = Queryable & Pick<Database, "transaction">;

/** A statement that was sent without waiting: its rows have arrived at the latest when the transaction is durable. */
export type Sent<Row extends object> = { readonly rows: Promise<Row[]> };

/**
 * An open transaction. Only `Database.transaction` creates one, so a function that takes a `Tx` cannot run outside it.
 * No network call may happen while one is open.
 */
export class Tx implements Queryable {
  readonly #client: PoolClient;
  readonly #texts: Texts;
  readonly #partitions: PartitionNames | undefined;
  readonly #begin: Promise<unknown>;
  readonly #sent: Promise<unknown>[] = [];
  readonly #hints: (() => void)[] = [];
  #hasEnded = false;
  #failure: unknown;

  /** Begins a transaction on a connection. */
  constructor(client: PoolClient, texts: Texts, partitions: PartitionNames | undefined) {
    this.#client = client;
    this.#texts = texts;
    this.#partitions = partitions;
    this.#begin = client.query("BEGIN");
    this.#begin.catch(() => {});
    if (texts !== undefined) return;
    const planned = this.#run(planEachTime);
    planned.catch(() => {});
    this.#sent.push(planned);
  }

  async query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      if (this.#hasEnded) throw new Error("the transaction of this statement has ended");
      const named = this.#partitions?.resolve(statement, values) ?? statement;
      const { rows } = await this.#run(queryOf(named, values, this.#texts));
      return rows;
    } catch (error) {
      this.#failure ??= error;
      throw error;
    }
  }

  /** Waits until BEGIN has succeeded, so that nothing runs without it. */
  async #run(query: QueryConfig | "COMMIT" | "ROLLBACK"): Promise<QueryResult> {
    await this.#begin;
    writeTogether(this.#client);
    return this.#client.query(query as QueryConfig);
  }

  /** Sends a statement in one round trip with the next, also with the commit; if it fails, so does the transaction. */
  send<Row extends object>(statement: Statement, values: readonly unknown[]): Sent<Row> {
    const rows = this.query<Row>(statement, values);
    rows.catch(() => {});
    this.#sent.push(rows);
    return { rows };
  }

  /** Runs `hint` once the transaction is durable; never after a rollback. A hint must not throw. */
  afterCommit(hint: () => void): void {
    this.#hints.push(hint);
  }

  /** Commits, in one round trip with the last statements sent, and runs the hints. For `Database`. */
  async commit(): Promise<void> {
    this.#hasEnded = true;
    // The work may have caught the error; the transaction is incomplete all the same.
    if (this.#failure !== undefined) throw this.#failure;
    // After a failed statement a commit rolls back.
    const [{ command }] = await Promise.all([this.#run("COMMIT"), this.#begin, ...this.#sent]);
    if (this.#failure !== undefined) throw this.#failure;
    if (command !== "COMMIT") throw new Error(`PostgreSQL answered COMMIT with ${command}`);
    for (const hint of this.#hints) hint();
  }

  /** Undoes everything, including statements still on their way. For `Database`. */
  async rollback(): Promise<void> {
    this.#hasEnded = true;
    await this.#run("ROLLBACK");
  }

  /** Returns the first failure if `error` only says that an earlier statement failed. For `Database`. */
  causeOf(error: unknown): unknown {
    return (error as { code?: unknown } | undefined)?.code === inFailedTransaction ? (this.#failure ?? error) : error;
  }
}

/** Sends everything written until the running code next waits as a single write. */
function writeTogether(client: PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

// The error of every statement behind a failed one.
const inFailedTransaction = "25P02";
// A primary that has become a standby refuses every change for as long as a connection to it lasts.
const isReadOnly = (error: unknown) => (error as { code?: unknown } | undefined)?.code === "25006";
// Both mean that nothing of the transaction happened and that the same work may succeed now.
const repeatable = new Set(["40P01", "40001"]);
// A deadlock's loser has already waited a second (deadlock_timeout); a third loss in a row is a bug that must surface.
const transactionTries = 3;

/** Commits a transaction whose work is done, while holding whatever must be held until it is durable. */
export type Committing = (commit: () => Promise<void>) => Promise<void>;

/** A database, or a wrapper of one, in which changes are made. */
export type Transacting = Queryable & { transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> };

// Far above what a call of a function takes, far below what a customer notices.
const defaultPatienceMs = 50;

/** A pool of connections to one database under one role; created with `pipeline: true`. */
export class Database implements Queryable {
  readonly pool: Pool;
  /** True if the pool leads to a pooler in transaction mode, where each transaction may get another session of the server. */
  readonly isPooled: boolean;
  /** Number of transactions that were run again since the process began. */
  repeats = 0;
  readonly #texts: Texts;
  readonly #patienceMs: number;
  readonly #batches = new Map<string, Batches>();
  #partitions: PartitionNames | undefined;

  constructor(
    pool: Pool,
    {
      isPooled = false,
      patienceMs = defaultPatienceMs,
    }: { readonly isPooled?: boolean; readonly patienceMs?: number } = {},
  ) {
    this.pool = pool;
    this.#patienceMs = patienceMs;
    this.isPooled = isPooled;
    this.#texts = isPooled ? undefined : new Map();
  }

  /**
   * Lets statements with a `partitionKey` name their partition from now on. `source` knows the partitions; this database
   * by default. Resolves once they are known, or cannot be read at the moment.
   */
  async namePartitions(source: Queryable = this): Promise<void> {
    this.#partitions = new PartitionNames(source);
    await this.#partitions.load();
  }

  /**
   * Returns the statement with the names of the partitions of this id: always the same object for the same partitions.
   * The statement itself, if there are none or they are not known.
   */
  inPartitionOf(id: string, statement: Statement): Statement {
    return this.#partitions?.nameOf(statement, id) ?? statement;
  }

  #resolve(statement: Statement, values: readonly unknown[]): Statement {
    return this.#partitions?.resolve(statement, values) ?? statement;
  }

  /**
   * Runs one statement in its own transaction: durable when it returns. Calls of one function that wait for another
   * call of it share a statement.
   */
  async query<Row extends object>(statement: Statement | Call, values: readonly unknown[]): Promise<Row[]> {
    return "together" in statement ? this.#batchesOf(statement).run(values) : this.#queryAlone(statement, values);
  }

  #batchesOf(call: Call): Batches {
    const known = this.#batches.get(call.name);
    if (known !== undefined) return known;
    const queryable: Queryable = { query: (statement, values) => this.#queryAlone(statement, values) };
    const batches = new Batches(call, { queryable, isRefusal, patienceMs: this.#patienceMs });
    this.#batches.set(call.name, batches);
    return batches;
  }

  async #queryAlone<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    if (this.#texts === undefined || statement.name === unnamed) return this.#queryPlanned<Row>(statement, values);
    return (await this.pool.query<Row>(queryOf(this.#resolve(statement, values), values, this.#texts))).rows;
  }

  /**
   * Runs a statement without a name in the same way, still in one round trip: alone, it changes all or nothing also where
   * BEGIN is refused.
   */
  async #queryPlanned<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const query = queryOf(this.#resolve(statement, values), values, undefined);
    const client = await this.pool.connect();
    writeTogether(client);
    const sent = ["BEGIN", planEachTime, query, "COMMIT"].map((one) => client.query<Row>(one as QueryConfig));
    const [, planned, answered, committed] = await Promise.allSettled(sent);
    const failures = [planned, answered, committed].flatMap((one) => (one?.status === "rejected" ? [one.reason] : []));
    const [failure] = failures as Error[];
    client.release(failure && (isReadOnly(failure) || isDatabaseDown(failure)) ? failure : undefined);
    if (failure !== undefined) throw failure;
    return (answered as PromiseFulfilledResult<QueryResult<Row>>).value.rows;
  }

  /**
   * Sends the statements that `ask` issues before it waits in one round trip. Each statement is separate, and sees the
   * changes committed before it runs. `ask` must not take another connection, since it holds one.
   */
  async together<Result>(ask: (queryable: Queryable) => Promise<Result>): Promise<Result> {
    if (this.#texts === undefined)
      return this.transaction((tx) => ask({ query: (statement, values) => tx.query(statement, values) }));
    const client = await this.pool.connect();
    try {
      writeTogether(client);
      return await ask({
        query: async <Row extends object>(statement: Statement, values: readonly unknown[]) =>
          (await client.query<Row>(queryOf(this.#resolve(statement, values), values, this.#texts))).rows,
      });
    } finally {
      client.release();
    }
  }

  /**
   * Runs `work` in one READ COMMITTED transaction: durable when it returns, undone when it throws. A deadlock or
   * serialization failure runs `work` again from its beginning, at most three times in all. `committing` either calls
   * its commit argument once, or throws: then the transaction is undone.
   */
  async transaction<Result>(work: (tx: Tx) => Promise<Result>, committing?: Committing): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transactionOnce(work, committing);
      } catch (error) {
        if (tries === transactionTries || !repeatable.has(String((error as { code?: unknown }).code))) throw error;
        this.repeats++;
      }
    }
  }

  async #transactionOnce<Result>(
    work: (tx: Tx) => Promise<Result>,
    committing: Committing = (commit) => commit(),
  ): Promise<Result> {
    const client = await this.pool.connect();
    const tx = new Tx(client, this.#texts, this.#partitions);
    let broken: Error | undefined;
    try {
      const result = await work(tx);
      await committing(() => tx.commit());
      return result;
    } catch (error) {
      const cause = tx.causeOf(error);
      if (isReadOnly(cause)) broken = cause as Error;
      await tx.rollback().catch((failure: Error) => {
        broken = failure;
      });
      throw cause;
    } finally {
      // A connection that could not even roll back is closed, not reused; so is one to a server that is no longer the
      // primary.
      client.release(broken);
    }
  }
}

// Network errors, and PostgreSQL's classes 08 (connection), 53 (resources), 57 (operator intervention). 25P03: the
// process was suspended within a transaction for so long that the server ended it. 25006: the server has become a
// standby.
const downCodes =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08\w{3}|53\w{3}|57\w{3}|25P03|25006)$/;
// The driver's own errors carry no code (node_modules/pg/lib/client.js and pg-pool/index.js, 2026).
const downMessages =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/;

/**
 * Reports whether an error means that the database cannot answer at the moment, so that the same request may succeed
 * later.
 */
export function isDatabaseDown(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return typeof code === "string" ? downCodes.test(code) : downMessages.test(String(message));
}

/** Reports whether the server has answered that it refuses a statement, and not that it or a pooler has failed (58, XX). */
function isRefusal(error: unknown): boolean {
  return (
    !isDatabaseDown(error) && /^(?!58|XX)[0-9A-Z]{5}$/.test(String((error as { code?: unknown } | undefined)?.code))
  );
}
