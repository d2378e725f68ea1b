/**
 * One PostgreSQL database as the payment path uses it: prepared statements and short transactions on a `pg` pool whose
 * connections pipeline. Statements that are sent before one of them is awaited share a round trip; they run in the
 * order in which they were sent, and in a transaction none runs behind one that failed.
 */
import type { Duplex } from "node:stream";
import { type CustomTypesConfig, type Pool, type PoolClient, types } from "pg";

// bigint: our amounts and counters stay far below 2^53 (limits.ts), and a number is what the domain counts with.
const bigintOid = 20;

/** The driver's own readings of every type but bigint, whatever the ORM that shares the pool has set on it. */
const readings: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === bigintOid ? parseSafeInteger : types.getTypeParser(oid, format as "text")) as typeof types.getTypeParser,
};

function parseSafeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error("a bigint column holds more than a number can");
  return value;
}

/**
 * A statement prepared once per connection under its name. An empty name, and every name where a pooler stands between,
 * means that it is planned each time anew, for its values.
 */
export type Statement = { readonly name: string; readonly text: string };

function queryOf({ name, text }: Statement, values: readonly unknown[], keepsNames: boolean) {
  return { ...(keepsNames && { name }), text, values: [...values], types: readings };
}

/** The name of a statement that is planned for its values each time, because which index serves it depends on them. */
export const unnamed = "";

/** Anything that runs statements: the pool itself (each on its own), or a transaction. */
export type Queryable = {
  query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
};

// Databases plan for any values (migration 018), once for each name. Done for every call it would look at every partition.
const beginPlanning = "BEGIN; SET LOCAL plan_cache_mode = force_custom_plan";

/** What lists and analytics are read by: the database itself, or its replica. Nothing is changed through it. */
export type Reads = Queryable & Pick<Database, "transaction">;

/** A statement that was sent and not waited for: its rows are there when the transaction is durable, at the latest. */
export type Sent<Row extends object> = { readonly rows: Promise<Row[]> };

/**
 * An open transaction. Only `Database.transaction` makes one, so a function that takes a `Tx` cannot run outside it.
 * No network call may happen while one is open.
 */
export class Tx implements Queryable {
  readonly #client: PoolClient;
  readonly #keepsNames: boolean;
  readonly #begun: Promise<unknown>;
  readonly #sent: Promise<unknown>[] = [];
  readonly #hints: (() => void)[] = [];
  #failure: unknown;

  /** Begins on a connection that is nobody else's; what `query` and `send` are given first shares BEGIN's round trip. */
  constructor(client: PoolClient, keepsNames: boolean) {
    this.#client = client;
    this.#keepsNames = keepsNames;
    writeTogether(client);
    this.#begun = client.query(keepsNames ? "BEGIN" : beginPlanning);
    this.#begun.catch(() => {});
  }

  async query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      writeTogether(this.#client);
      const running = this.#client.query<Row>(queryOf(statement, values, this.#keepsNames));
      // Should BEGIN fail, which it does with its connection, nothing is sent behind what went out with it.
      const [, { rows }] = await Promise.all([this.#begun, running]);
      return rows;
    } catch (error) {
      this.#failure ??= error;
      throw error;
    }
  }

  /** Sends a statement in one round trip with what comes next, the commit too; where it fails, so does the transaction. */
  send<Row extends object>(statement: Statement, values: readonly unknown[]): Sent<Row> {
    const rows = this.query<Row>(statement, values);
    rows.catch(() => {});
    this.#sent.push(rows);
    return { rows };
  }

  /** Runs `hint` once the transaction is durable; never when it rolls back. A hint must not throw. */
  afterCommit(hint: () => void): void {
    this.#hints.push(hint);
  }

  /** For `Database`: commits, in one round trip with what was sent last, and runs the hints. */
  async commit(): Promise<void> {
    writeTogether(this.#client);
    // Behind a statement that failed, a commit rolls back.
    await Promise.all([this.#begun, ...this.#sent, this.#client.query("COMMIT")]);
    for (const hint of this.#hints) hint();
  }

  /** For `Database`: what went wrong, where `error` says no more than that something before it did. */
  causeOf(error: unknown): unknown {
    return (error as { code?: unknown } | undefined)?.code === inFailedTransaction ? (this.#failure ?? error) : error;
  }
}

/** What is sent until the running code waits for something goes out as one write. */
function writeTogether(client: PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

// What every statement is answered that comes behind one that failed.
const inFailedTransaction = "25P02";
// A primary that has become a standby refuses every change for as long as a connection to it lasts.
const isReadOnly = (error: unknown) => (error as { code?: unknown } | undefined)?.code === "25006";
// Both mean that nothing of the transaction happened and that the same work may succeed now.
const repeatable = new Set(["40P01", "40001"]);
// A deadlock's loser waited a second already (deadlock_timeout); a third loss in a row is a bug to be seen.
const transactionTries = 3;

/** A pool of connections to one database under one role; made with `pipeline: true`. */
export class Database implements Queryable {
  readonly pool: Pool;
  /** Gives connections that stay with one session of the server; undefined where there is no way past a pooler. */
  readonly sessions: Pool | undefined;
  /** How often a transaction was run again since the process began. */
  repeats = 0;
  readonly #keepsNames: boolean;

  /** `pooler`: the pool leads to one in transaction mode, where each transaction may meet another session of the server. */
  constructor(pool: Pool, pooler?: { readonly keepsNames?: boolean; readonly sessions: Pool | undefined }) {
    this.pool = pool;
    this.sessions = pooler === undefined ? pool : pooler.sessions;
    this.#keepsNames = pooler === undefined || pooler.keepsNames === true;
  }

  /** Runs one statement in a transaction of its own: durable when it returns. */
  async query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    if (!this.#keepsNames || statement.name === unnamed) return this.#queryPlanned<Row>(statement, values);
    return (await this.pool.query<Row>(queryOf(statement, values, true))).rows;
  }

  /** The same for a statement without a name, in one round trip all the same. */
  async #queryPlanned<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.pool.connect();
    const tx = new Tx(client, false);
    const [rows, ended] = await Promise.allSettled([tx.query<Row>(statement, values), tx.commit()]);
    const failure = rows.status === "rejected" ? rows.reason : undefined;
    // Behind a statement that failed, a commit has rolled back.
    client.release(ended.status === "rejected" || isReadOnly(failure));
    if (rows.status === "rejected") throw failure;
    if (ended.status === "rejected") throw ended.reason;
    return rows.value;
  }

  /**
   * Runs what `ask` sends before it waits in one round trip. Each statement is its own, and sees what is committed when its
   * turn comes. `ask` may take no other connection, for it holds one.
   */
  async together<Result>(ask: (queryable: Queryable) => Promise<Result>): Promise<Result> {
    if (!this.#keepsNames)
      return this.transaction((tx) => ask({ query: (statement, values) => tx.query(statement, values) }));
    const client = await this.pool.connect();
    try {
      writeTogether(client);
      return await ask({
        query: async <Row extends object>(statement: Statement, values: readonly unknown[]) =>
          (await client.query<Row>(queryOf(statement, values, true))).rows,
      });
    } finally {
      client.release();
    }
  }

  /**
   * Runs `work` in one READ COMMITTED transaction: durable when it returns, undone when it throws.
   * A deadlock or serialization failure runs `work` again from its beginning, at most three times in all.
   */
  async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transactionOnce(work);
      } catch (error) {
        if (tries === transactionTries || !repeatable.has(String((error as { code?: unknown }).code))) throw error;
        this.repeats++;
      }
    }
  }

  async #transactionOnce<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const client = await this.pool.connect();
    const tx = new Tx(client, this.#keepsNames);
    let broken: Error | undefined;
    try {
      const result = await work(tx);
      await tx.commit();
      return result;
    } catch (error) {
      const cause = tx.causeOf(error);
      if (isReadOnly(cause)) broken = cause as Error;
      await client.query("ROLLBACK").catch((failure: Error) => {
        broken = failure;
      });
      throw cause;
    } finally {
      // A connection that could not even roll back is closed, not reused; so is one to a server that leads no more.
      client.release(broken);
    }
  }
}

// The network's errors, and PostgreSQL's classes 08 (connection), 53 (resources), 57 (operator intervention). 25P03: the
// process stood still in mid-transaction for so long that the server ended it. 25006: the server is a standby by now.
const downCodes =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08\w{3}|53\w{3}|57\w{3}|25P03|25006)$/;
// The driver's own errors carry no code (node_modules/pg/lib/client.js and pg-pool/index.js, 2026).
const downMessages =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/;

/** Whether an error says that the database cannot answer at the moment, so that the same request may succeed later. */
export function isDatabaseDown(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return typeof code === "string" ? downCodes.test(code) : downMessages.test(String(message));
}
