/**
 * Several statements that a `pg` connection sends as one extended query: one Sync after all of them. PostgreSQL, and
 * every pooler that speaks its protocol, skips everything between an error and the next Sync. So if BEGIN is the first,
 * nothing behind it runs without it (PostgreSQL 18, 54.2.3 "Extended Query", 54.2.4 "Pipelining").
 */
import { type Connection, Query, type QueryConfig, type QueryResult } from "pg";

// The members of the driver's `Query` (node_modules/pg/lib/query.js, 2026); its types name only the constructor.
type DriverConnection = Connection & { sync(): void; submittedNamedStatements: Record<string, string> };
type Callback = (error: Error | null, result?: QueryResult) => void;
interface DriverQuery {
  callback: Callback;
  name: string | undefined;
  text: string;
  values: unknown[] | undefined;
  types: QueryConfig["types"];
  queryMode: "extended";
  submit(connection: DriverConnection): Error | null;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: DriverConnection): void;
  handleEmptyQuery(connection: DriverConnection): void;
  handleError(error: Error, connection: DriverConnection): void;
  handleReadyForQuery(connection: DriverConnection): void;
}
const BaseQuery = Query as unknown as new (config: QueryConfig, callback?: Callback) => DriverQuery;

export class SyncMember extends BaseQuery {
  readonly result: Promise<QueryResult>;
  /** True once the statement was answered, or will not be. */
  isSettled = false;

  constructor(config: QueryConfig) {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
    super(config, (error, result) => {
      this.isSettled = true;
      if (error) reject(error);
      else resolve(result!);
    });
    this.queryMode = "extended";
    this.result = promise;
    promise.catch(() => {});
  }

  get config(): QueryConfig {
    const { name, text, values, types } = this;
    return { ...(name && { name }), text, ...(values && { values }), ...(types && { types }) };
  }

  end(error?: Error): void {
    if (this.isSettled) return;
    const connection = undefined as never;
    if (error === undefined) this.handleReadyForQuery(connection);
    else this.handleError(error, connection);
  }
}

/** A single query to the driver, with the name and text of the member that the server is answering. */
export class OneSync extends BaseQuery {
  readonly members: readonly SyncMember[];
  #answered = 0;
  #refusal: Error | undefined;

  constructor(members: readonly SyncMember[]) {
    // Without a callback an error would be an event without a listener.
    super({ text: "" }, () => {});
    this.members = members;
    this.#show();
  }

  override submit(connection: DriverConnection): null {
    const withoutSync: DriverConnection = Object.create(connection, { sync: { value: () => {} } });
    for (const member of this.members) {
      const refusal = member.submit(withoutSync);
      // A member whose values cannot be written has failed by now. Nothing after a failed or refused member is sent.
      if (refusal === null && !member.isSettled) continue;
      this.#refusal = refusal ?? new Error("a statement before this one could not be sent");
      // Not a statement of SQL: it fails the transaction at the server too, where a COMMIT may follow.
      connection.parse({ name: "", text: "refused by the driver", types: [] }, false);
      break;
    }
    connection.sync();
    return null;
  }

  override handleRowDescription(message: unknown): void {
    this.#current?.handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    this.#current?.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: DriverConnection): void {
    this.#current?.handleCommandComplete(message, connection);
    this.#advance();
  }

  override handleEmptyQuery(): void {
    this.#advance();
  }

  /**
   * Fails the remaining members: the server skips everything after the one that failed, and so does a lost connection.
   */
  override handleError(cause: Error, connection: DriverConnection): void {
    const error = this.#refusal ?? cause;
    for (const member of this.members.slice(this.#answered)) {
      if (member.name !== undefined) delete connection.submittedNamedStatements[member.name];
      member.end(error);
    }
    super.handleError(error, connection);
  }

  override handleReadyForQuery(connection: DriverConnection): void {
    if (this.#refusal === undefined) super.handleReadyForQuery(connection);
    else this.handleError(this.#refusal, connection);
  }

  get #current(): SyncMember | undefined {
    return this.members[this.#answered];
  }

  #advance(): void {
    this.#current?.end();
    this.#answered++;
    this.#show();
  }

  #show(): void {
    this.name = this.#current?.name;
    this.text = this.#current?.text ?? "";
  }
}
