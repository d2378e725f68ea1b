/** Walks a merchant's rows of one table, newest first, at a cost that grows with neither the table nor the filter. */
import { type Queryable, unnamed } from "../platform/database.ts";

/** Rows that one call checks against a filter, newest first: 100 ms of reading, not a million rows. */
export const rowsWalked = 10_000;

/** The filters that every list of money has; each is undefined for any. */
export type MoneyFilter = {
  /** Minor units, both inclusive. */
  readonly amountFrom?: number | undefined;
  readonly amountTo?: number | undefined;
  readonly currency?: string | undefined;
  /** Inclusive. */
  readonly createdAfter?: Date | undefined;
  /** Exclusive. */
  readonly createdBefore?: Date | undefined;
};

/** A value to filter by, or undefined for any, and its condition with the name of its parameter. */
export type Condition = readonly [value: unknown, sql: (parameter: string) => string];

export class Parameters {
  readonly values: unknown[] = [];

  /** Adds a parameter. Returns its name, such as `$3` for the third. */
  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  all(conditions: readonly Condition[]): string {
    const asked = conditions.filter(([value]) => value !== undefined).map(([value, sql]) => sql(this.add(value)));
    return asked.length === 0 ? "true" : asked.join(" AND ");
  }
}

/** Returns the conditions of the filters that every list has, on the row `row` of any table of money. */
export function moneyConditions(row: string, filter: MoneyFilter): Condition[] {
  return [
    [filter.amountFrom, (wanted) => `${row}.amount_minor >= ${wanted}::bigint`],
    [filter.amountTo, (wanted) => `${row}.amount_minor <= ${wanted}::bigint`],
    [filter.currency, (wanted) => `${row}.currency = ${wanted}`],
    [filter.createdAfter, (wanted) => `${row}.created_at >= ${wanted}::timestamptz`],
    [filter.createdBefore, (wanted) => `${row}.created_at < ${wanted}::timestamptz`],
  ];
}

/** A list as SQL. `row` names its row, such as `s`, in every part. */
export type Walk = {
  readonly table: string;
  readonly row: string;
  /** Newest first. */
  readonly order: string;
  /** The place of a row in this order, as text. */
  readonly position: string;
  /** Returns the conditions that an index follows. */
  readonly within: (parameters: Parameters) => string;
  /** Returns the condition that each row is checked for. */
  readonly matches: (parameters: Parameters) => string;
};

/** A page of a list. It may hold fewer rows than requested although the list continues. */
export type WalkedPage<Row> = {
  readonly rows: readonly Row[];
  /** The position of the last row that was checked; undefined at the end of the list. */
  readonly lastPosition?: string | undefined;
  /** Creation time of that row, where the search stopped before the page was full. */
  readonly searchedBackTo?: Date | undefined;
};

export async function walkPage<Row extends object>(
  queryable: Queryable,
  columns: string,
  { walk, count }: { readonly walk: Walk; readonly count: number },
): Promise<WalkedPage<Row>> {
  const parameters = new Parameters();
  const text = `
    SELECT ${columns}, ${walk.position} AS "walkedTo" ${walked(walk, parameters)}
    ORDER BY ${walk.order} LIMIT ${parameters.add(count + 1)}`;
  const found = await queryable.query<Row & { walkedTo: string }>({ name: unnamed, text }, parameters.values);
  const rows = found.slice(0, count).map(({ walkedTo, ...row }) => row as unknown as Row);
  if (found.length > count) return { rows, lastPosition: found[count - 1]?.walkedTo };
  const [end] = await endOfWalk(queryable, walk, 1);
  return end === undefined ? { rows } : { rows, lastPosition: end.position, searchedBackTo: end.createdAt };
}

/** Returns the rows of a walk that match, as `FROM … WHERE …`. */
export function walked(walk: Walk, parameters: Parameters): string {
  return `FROM (${walkSql(walk, parameters)} LIMIT ${rowsWalked}) ${walk.row} WHERE ${walk.matches(parameters)}`;
}

/** Returns the last row that a walk checks, and up to `count - 1` after it. */
export function endOfWalk(queryable: Queryable, walk: Walk, count: number) {
  const parameters = new Parameters();
  const text = `
    SELECT ${walk.position} AS position, ${walk.row}.created_at AS "createdAt"
    FROM (${walkSql(walk, parameters)} OFFSET ${rowsWalked - 1} LIMIT ${count}) ${walk.row}`;
  return queryable.query<{ position: string; createdAt: Date }>({ name: unnamed, text }, parameters.values);
}

function walkSql({ table, row, within, order }: Walk, parameters: Parameters): string {
  return `SELECT ${row}.* FROM ${table} ${row} WHERE ${within(parameters)} ORDER BY ${order}`;
}
