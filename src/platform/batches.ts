/** Calls of one function of the database that wait while others of it run: they go together in one statement and one commit. */
import type { Queryable, Statement } from "./statement.ts";

/**
 * A statement that calls one function of the database. `together` calls it for each row of its arrays. If `locks` is
 * true, the function locks rows, and the last parameter is the lock timeout.
 */
export type Call = Statement & { readonly together: Statement; readonly locks?: boolean };

const callsMax = 32;
// Deadlock and serialization failure: nothing happened, and the same call may succeed now.
const repeatable = new Set(["40P01", "40001"]);

/**
 * Returns a statement that calls a function, and the same for many calls. `types` are those of its arguments, the first one the id
 * of the row that it locks. `columns` are read from its row `r`.
 */
export function callOf(name: string, types: readonly string[], columns: string, schema = "app"): Call {
  const call = (values: readonly string[]) => `${schema}.${name}(${values.join(", ")}) r`;
  const given = types.map((_, index) => `given.v${index + 1}`);
  return {
    name,
    partitionKey: 1,
    locks: true,
    text: `SELECT ${columns} FROM ${call(types.map((type, index) => `$${index + 1}::${type}`))}`,
    together: {
      name: `${name}_together`,
      partitionKey: 1,
      text: `SELECT given.nth, ${columns} ${fromEach(types)} CROSS JOIN LATERAL ${call(given)}
        WHERE (SELECT set_config('lock_timeout', $${types.length + 1}, true)) IS NOT NULL`,
    },
  };
}

/** Returns a query, and the same for the values of many. `types` are those of its parameters. */
export function readOf(query: Statement, types: readonly string[]): Call {
  const lateral = query.text.replaceAll(/\$(\d+)/g, "given.v$1");
  const text = `SELECT given.nth, r.* ${fromEach(types)} CROSS JOIN LATERAL (${lateral}) r`;
  return { ...query, together: { ...query, name: `${query.name}_together`, text } };
}

function fromEach(types: readonly string[]): string {
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`);
  const names = types.map((_, index) => `v${index + 1}`);
  return `FROM unnest(${arrays.join(", ")}) WITH ORDINALITY AS given (${names.join(", ")}, nth)`;
}

type Waiting = {
  readonly values: readonly unknown[];
  readonly resolve: (rows: object[]) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Runs calls of one function. No call waits for others to come: a call that comes alone runs alone. The locks of others
 * hold up no further call: after `patienceMs` the next ones go, and a statement of several waits no longer than that
 * for each lock.
 */
export class Batches {
  readonly #call: Call;
  readonly #queryable: Queryable;
  readonly #isRefusal: (error: unknown) => boolean;
  readonly #patienceMs: number;
  #waiting: Waiting[] = [];
  #isRunning = false;

  /**
   * `isRefusal` reports whether the server has undone the statement: only then is each of its calls run again. A
   * patience of 0 has no end.
   */
  constructor(
    call: Call,
    {
      queryable,
      isRefusal,
      patienceMs,
    }: { queryable: Queryable; isRefusal: (error: unknown) => boolean; patienceMs: number },
  ) {
    this.#call = call;
    this.#queryable = queryable;
    this.#isRefusal = isRefusal;
    this.#patienceMs = patienceMs;
  }

  run<Row extends object>(values: readonly unknown[]): Promise<Row[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    this.#waiting.push({ values, resolve: resolve as Waiting["resolve"], reject });
    if (!this.#isRunning) void this.#runAll();
    return promise;
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const calls = this.#waiting.splice(0, callsMax);
      await this.#inPatience(calls.length === 1 ? this.#alone(calls[0]!) : this.#together(calls));
    }
    this.#isRunning = false;
  }

  async #inPatience(run: Promise<void>): Promise<void> {
    if (this.#patienceMs === 0) return run;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#patienceMs);
    await Promise.race([run, promise]);
    clearTimeout(timer);
  }

  async #alone({ values, resolve, reject }: Waiting): Promise<void> {
    const run = () => this.#queryable.query(this.#call, values);
    const again = (error: unknown) => {
      if (!repeatable.has(String((error as { code?: unknown }).code))) throw error;
      return run();
    };
    await run().catch(again).then(resolve, reject);
  }

  async #together(calls: readonly Waiting[]): Promise<void> {
    // Always uses the order of their ids, so that two statements lock the same rows in the same order.
    const ordered = calls.toSorted((one, other) => (String(one.values[0]) < String(other.values[0]) ? -1 : 1));
    const columns: unknown[] = ordered[0]!.values.map((_, index) => ordered.map(({ values }) => values[index]));
    if (this.#call.locks) columns.push(String(this.#patienceMs));
    try {
      const rows = await this.#queryable.query<{ nth: number }>(this.#call.together, columns);
      const byCall = Map.groupBy(rows, ({ nth }) => nth);
      for (const [index, { resolve }] of ordered.entries())
        resolve((byCall.get(index + 1) ?? []).map(({ nth, ...row }) => row));
    } catch (error) {
      // A call that is refused, or waits too long for a lock, undoes the whole batch. The next batch does not wait for
      // the repeats.
      if (this.#isRefusal(error)) for (const each of ordered) void this.#alone(each);
      else for (const { reject } of ordered) reject(error);
    }
  }
}
