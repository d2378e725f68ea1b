/** A connection of the simulation's server, and the statements that share one round trip on it. */
import type { Duplex } from "node:stream";
import { Client, type QueryConfig, type QueryResult } from "pg";
import { bindToCore } from "./one-core.ts";

export type Query = string | { readonly text: string; readonly name?: string; readonly values?: unknown[] };

/** The end of a statement. `observed` is what the watching query, sent with it, read right after it. */
export type Answer =
  | { readonly type: "value"; readonly value: QueryResult; readonly observed?: QueryResult | undefined }
  | { readonly type: "error"; readonly error: unknown };

/** A connection of the server, lent to a simulated process for a transaction or a statement. */
export class Backend {
  readonly client: Client;
  /** Settles once the server has accepted the connection; nothing may be sent before. */
  readonly ready: Promise<void>;
  inTransaction = false;
  /**
   * True after a BEGIN that is sent only with the next statement: at READ COMMITTED a BEGIN alone reads nothing and
   * locks nothing.
   */
  beginsLater = false;
  hasWritten = false;
  /** True after a statement of its transaction failed: the server refuses later ones without waiting. */
  hasFailed = false;

  /** Begins to connect; statements are sent without waiting for the answers of earlier ones. */
  constructor(url: string, core: number | undefined) {
    this.client = new Client({ connectionString: url, options: settings, pipeline: true });
    this.ready = this.#connect(core);
    this.ready.catch(() => {});
  }

  async #connect(core: number | undefined): Promise<void> {
    await this.client.connect();
    if (core !== undefined) await bindToCore(core, this.processId);
  }

  /** The server's id of its process, known once it is connected. */
  get processId(): number {
    return (this.client as unknown as { processID: number }).processID;
  }

  /**
   * Sends a statement in one write with those that go `before` it and with the query that reads the rows after it. The
   * latter is run also if the statement fails, and its answer is then discarded.
   */
  async send(query: Query, { before, watching }: { before: readonly Query[]; watching?: Query | undefined }) {
    const { stream } = (this.client as unknown as { connection: { stream: Duplex } }).connection;
    stream.cork();
    for (const one of before) this.#query(one);
    const sent = this.#query(query);
    const observed = watching ? this.#query(watching) : undefined;
    stream.uncork();
    return this.#answerOf(sent, observed);
  }

  #query(query: Query): Promise<QueryResult> {
    const result = this.client.query(configOf(query));
    // Discarded where an earlier one failed.
    result.catch(() => {});
    return result;
  }

  async #answerOf(sent: Promise<QueryResult>, observing: Promise<QueryResult> | undefined): Promise<Answer> {
    try {
      const value = await sent;
      return { type: "value", value, observed: await observing };
    } catch (error) {
      // The server reports an error before it releases the statement's locks; once it accepts the next one it has.
      await this.client.query("");
      return { type: "error", error };
    }
  }
}

export function textOf(query: Query): string {
  return typeof query === "string" ? query : query.text;
}

function configOf(query: Query): QueryConfig {
  return typeof query === "string" ? { name: query, text: query } : (query as QueryConfig);
}

// The simulation itself ends every wait.
const settings = "-c synchronous_commit=off -c lock_timeout=0 -c statement_timeout=0";
