/** A statement of PostgreSQL, and what runs it. */

/**
 * A statement prepared once per connection under its name. With an empty name, and with every name behind a pooler, it
 * is planned anew for its values each time.
 */
export type Statement = {
  readonly name: string;
  readonly text: string;
  /**
   * The position among the values, from 1, of the id (or the ids) whose partition holds every partitioned row of the
   * statement. `Database.namePartitions` then lets it name that partition.
   */
  readonly partitionKey?: number;
};

/** Anything that runs statements: the pool itself (each on its own), or a transaction. */
export type Queryable = {
  query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
};
