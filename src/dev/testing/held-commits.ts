/** Holds transactions that change certain rows at their commit, by a real lock in PostgreSQL. */
import { randomInt } from "node:crypto";
import { escapeLiteral, type Pool, type PoolClient } from "pg";

// A class of PostgreSQL's two-number advisory locks that the product does not use.
const lockClass = 4242;

/** The changes to hold: those of a table's rows for which the SQL condition on `NEW` is true. */
export type HeldChange = { readonly table: string; readonly change: "INSERT" | "UPDATE"; readonly when: string };

/**
 * Transactions held at their commit: everything is written and nothing of it is durable; other work of the
 * transaction's process waits behind it.
 */
export class HeldCommits {
  readonly #asOwner: Pool;
  readonly #holder: PoolClient;
  readonly #lock: number;

  private constructor(asOwner: Pool, holder: PoolClient, lock: number) {
    this.#asOwner = asOwner;
    this.#holder = holder;
    this.#lock = lock;
  }

  /** Holds the creation of sessions with this order reference from now on. */
  static start(asOwner: Pool, orderRef: string): Promise<HeldCommits> {
    const when = `NEW.order_ref = ${escapeLiteral(orderRef)}`;
    return HeldCommits.startAt(asOwner, { table: "payment_session", change: "INSERT", when });
  }

  /** Holds such changes from now on. Takes one connection of the tables' owner. */
  static async startAt(asOwner: Pool, { table, change, when }: HeldChange): Promise<HeldCommits> {
    const lock = randomInt(2 ** 31);
    const holder = await asOwner.connect();
    await holder.query(`SELECT pg_advisory_lock(${lockClass}, ${lock})`);
    // A deferred trigger runs when the transaction commits. Nothing but the statement time-out ends its wait.
    await holder.query(`
      CREATE FUNCTION app.hold_${lock}() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$ BEGIN
        PERFORM pg_advisory_xact_lock(${lockClass}, ${lock}); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER hold_${lock} AFTER ${change} ON ${table} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION app.hold_${lock}()`);
    return new HeldCommits(asOwner, holder, lock);
  }

  /** Resolves with the server processes that wait at their commit, once there are this many. */
  async held(count = 1): Promise<number[]> {
    for (;;) {
      const { rows } = await this.#asOwner.query<{ pid: number }>(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = $1 AND objid = $2 AND NOT granted",
        [lockClass, this.#lock],
      );
      if (rows.length >= count) return rows.map(({ pid }) => pid);
      await this.#asOwner.query("SELECT pg_sleep(0.01)");
    }
  }

  /** Resolves once this many statements wait for a row that another transaction has just written. */
  async queued(count = 1): Promise<void> {
    const waiting = `
      SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'transactionid' AND NOT l.granted AND a.datname = current_database()`;
    while ((await this.#asOwner.query(waiting)).rows.length < count) await this.#asOwner.query("SELECT pg_sleep(0.01)");
  }

  /** Ends the connections of held transactions, as a server that crashes does. */
  async abort(asRuntime: Pool): Promise<void> {
    for (const pid of await this.held()) await asRuntime.query("SELECT pg_terminate_backend($1, 5000)", [pid]);
  }

  /** Commits the held transactions, and holds no others. */
  async release(): Promise<void> {
    await this.#holder.query(`SELECT pg_advisory_unlock(${lockClass}, ${this.#lock})`);
    // The trigger is not dropped: that would lock one partition after another, against the order in which others hold
    // them.
    await this.#holder.query(`CREATE OR REPLACE FUNCTION app.hold_${this.#lock}() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RETURN NULL; END $$`);
    this.#holder.release();
  }
}
