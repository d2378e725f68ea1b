/**
 * The names of an environment's partitions. A statement over a whole table locks and prepares each of its partitions,
 * even if its plan reads only one (PostgreSQL 18, `AcquireExecutorLocks`), so a statement about the rows of one id
 * names their partition.
 */

import type { Queryable, Statement } from "./statement.ts";

/** The partitions of the ids of one month, one in each table. Their names end with the suffix. */
type PartitionSet = { readonly suffix: string; readonly fromMs: number; readonly untilMs: number };

// Younger months only, which are never dropped while a process still knows them.
const selectSets: Statement = {
  name: "select_partition_sets",
  text: `
    SELECT s.suffix, extract(epoch FROM s.from_at)::float8 * 1000 AS "fromMs", extract(epoch FROM s.until_at)::float8 * 1000 AS "untilMs",
      ARRAY(SELECT p.parent FROM app.partitioned p WHERE p.kind = s.kind) AS tables,
      ARRAY(SELECT name FROM app.payment_functions) AS functions
    FROM app.partition_sets s WHERE s.kind = 'payments' AND s.until_at > app.clock() - interval '3 months'`,
};

// A month that is not known yet is looked for in the background. Until it is found, the whole table serves.
const lookAgainMs = 60_000;

/** Knows which partitions there are. An id of no known month stays with the whole tables, which are always right. */
export class PartitionNames {
  readonly #source: Queryable;
  readonly #nowMs: () => number;
  readonly #named = new Map<string, Statement>();
  #sets: readonly PartitionSet[] = [];
  #tables = /(?!)/g;
  #functions = /(?!)/g;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(source: Queryable, nowMs: () => number = () => performance.now()) {
    this.#source = source;
    this.#nowMs = nowMs;
  }

  /** Loads the names. Never rejects: without them, statements use the whole tables. */
  async load(): Promise<void> {
    this.#lookedAtMs = this.#nowMs();
    try {
      type Found = PartitionSet & { tables: string[]; functions: string[] };
      const sets = await this.#source.query<Found>(selectSets, []);
      this.#tables = new RegExp(`\\b(FROM|JOIN|UPDATE|INTO) (${sets[0]?.tables.join("|") ?? "(?!)"})\\b`, "g");
      this.#functions = new RegExp(`\\bapp[.](${sets[0]?.functions.join("|") ?? "(?!)"})\\(`, "g");
      this.#sets = sets;
    } catch {
      // A later statement looks again.
    }
  }

  /** Returns the statement with the names of the partitions in which its `partitionKey` lies. */
  resolve(statement: Statement, values: readonly unknown[]): Statement {
    return statement.partitionKey === undefined
      ? statement
      : this.nameOf(statement, values[statement.partitionKey - 1]);
  }

  nameOf(statement: Statement, ids: unknown): Statement {
    const suffix = this.#suffixOf(ids);
    if (suffix === undefined) return statement;
    const name = `${statement.name}${suffix}`;
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const text = statement.text.replaceAll(this.#tables, `$1 partitions.$2${suffix}`);
    const named = { name, text: text.replaceAll(this.#functions, `partitions.$1${suffix}(`) };
    this.#named.set(name, named);
    return named;
  }

  /** Returns the suffix of the set in which all of these ids are; undefined if there is no such set. */
  #suffixOf(key: unknown): string | undefined {
    const [first, ...others] = (Array.isArray(key) ? key : [key]) as string[];
    if (first === undefined) return undefined;
    const firstMs = timeOf(first);
    const set = this.#sets.find(({ fromMs, untilMs }) => fromMs <= firstMs && firstMs < untilMs);
    if (set === undefined && this.#nowMs() - this.#lookedAtMs > lookAgainMs) void this.load();
    const isOfAll = set !== undefined && others.every((id) => set.fromMs <= timeOf(id) && timeOf(id) < set.untilMs);
    return isOfAll ? set.suffix : undefined;
  }
}

/** Returns the time in an id: its first 48 bits, in milliseconds (RFC 9562, 5.7). */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
