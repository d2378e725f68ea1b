/**
 * Real PostgreSQL, one statement at a time: the simulation decides when each is sent, so that a seed repeats. A
 * statement that has to wait for another transaction's lock is set aside until that transaction ends.
 */
import type { Client, Pool, QueryResult } from "pg";
import type { Acted } from "./simulated-process.ts";
import { type Answer, Backend, type Query, textOf } from "./sql-backend.ts";

/**
 * A statement that waits for a lock; without an `answer` it was withdrawn, to be sent again behind the one that waits.
 */
type Waiter = {
  readonly backend: Backend;
  readonly query: Query;
  answer: Promise<Answer> | undefined;
  report: (answer: Answer) => Promise<void>;
};

// Three processes, each with a submission, a recovery and a notification in progress, and some to spare.
const backendsMax = 16;

// Most statements are answered by then, also between those of other seeds, and need no query for blockers. A blocked one never
// is, so the choice is the same whatever the time.
const soonMs = 10;

const isWrite =
  /^\s*(INSERT|UPDATE|DELETE|WITH)\b|\b(FROM|LATERAL) (app|partitions)[.]\w+\(|\bapp[.](hurry|repeat)_orphan\(/i;

/** A server with a few connections, which the simulated ones use in turn. */
export class SqlServer {
  /** The query that reads the rows after each statement with committed changes, in the same round trip if possible. */
  watching: Query | undefined;
  /** Called after each statement with committed changes, with the answer of the watching query. */
  onChange: (observed: QueryResult) => Promise<void> = async () => {};
  readonly #url: string;
  readonly #core: number | undefined;
  readonly #observer: Client;
  readonly #all: Backend[] = [];
  readonly #idle = new Set<Backend>();
  /** Set once rows are changed past every trigger. */
  #replica: Promise<Backend> | undefined;
  #waiters: Waiter[] = [];
  #clockMs = Number.NaN;

  private constructor(url: string, core: number | undefined, observer: Client) {
    this.#url = url;
    this.#core = core;
    this.#observer = observer;
  }

  /**
   * Connects as the owner, to a database whose `app.clock()` reads `app.simulated_clock`. Binds the server's processes to
   * `core`, if it is given.
   */
  static async connect(url: string, core?: number): Promise<SqlServer> {
    const observer = new Backend(url, core);
    await observer.ready;
    return new SqlServer(url, core, observer.client);
  }

  async close(): Promise<void> {
    const replica = await this.#replica;
    const backends = replica ? [...this.#all, replica] : this.#all;
    await Promise.all([this.#observer, ...backends.map(({ client }) => client)].map((client) => client.end()));
  }

  /** Reads rows for the simulation itself, besides all processes. */
  observe(query: Query): Promise<QueryResult> {
    return this.#observer.query(query as string);
  }

  /**
   * Changes rows past every trigger, as the server's own restore does. It has a separate connection: one that begins or
   * ends this plans all of its statements again.
   */
  async asReplica(query: Query): Promise<QueryResult> {
    this.#replica ??= this.#connectReplica();
    return (await this.#replica).client.query(query as string);
  }

  async #connectReplica(): Promise<Backend> {
    const backend = new Backend(this.#url, this.#core);
    await backend.ready;
    await backend.client.query("SET session_replication_role = replica");
    return backend;
  }

  /** Returns a pool of the connection for the simulation itself: its users continue alone. */
  asPool(): Pool {
    const client = Object.assign(this.#observer, { release: () => {} });
    return { query: (query: Query) => this.observe(query), connect: async () => client } as never;
  }

  async setClock(epochMs: number): Promise<void> {
    for (const query of this.#clockChange(epochMs)) await this.#observer.query(query);
  }

  /** Returns the statement that sets the clock, if it shows another time; it has to be sent next. */
  #clockChange(epochMs: number | undefined): { name: string; text: string; values: unknown[] }[] {
    if (epochMs === undefined || epochMs === this.#clockMs) return [];
    this.#clockMs = epochMs;
    // The statement returns no row, which would cost as much as the change.
    const text = "SELECT WHERE setval('app.simulated_clock', $1) IS NULL";
    return [{ name: "set_clock", text, values: [epochMs] }];
  }

  /**
   * Lends a connection at once: opening one is no await of the code under test. The oldest one that is idle, for each has to
   * plan every statement, and few are needed at once.
   */
  lend(): Backend {
    const backend = this.#all.find((one) => this.#idle.has(one)) ?? this.#open();
    this.#idle.delete(backend);
    return backend;
  }

  #open(): Backend {
    if (this.#all.length === backendsMax) throw new Error(`a run has at most ${backendsMax} connections open`);
    const backend = new Backend(this.#url, this.#core);
    this.#all.push(backend);
    return backend;
  }

  takeBack(backend: Backend): void {
    this.#idle.add(backend);
  }

  /** Sends one statement; its error is part of the answer. It is run at `clockMs`, if that is given. */
  async run(backend: Backend, query: Query, clockMs?: number): Promise<Acted<QueryResult>> {
    await backend.ready;
    const sent = this.#answerToNothing(backend, query) ?? (await this.#send(backend, query, clockMs));
    if ("type" in sent) {
      await this.#note(backend, query, sent);
      return sent;
    }
    const waiter: Waiter = { backend, query, answer: sent.waiting, report: async () => {} };
    this.#waiters.push(waiter);
    return {
      type: "waits",
      onEnd: (report) => {
        waiter.report = async (late) => {
          await this.#note(backend, query, late);
          report(late);
        };
      },
    };
  }

  /** Answers a BEGIN, which is sent with the next statement, and the end of a transaction without statements. */
  #answerToNothing(backend: Backend, query: Query): Answer | undefined {
    const command = textOf(query);
    const isEnd = backend.beginsLater && (command === "COMMIT" || command === "ROLLBACK");
    if (command !== "BEGIN" && !isEnd) return undefined;
    backend.beginsLater = command === "BEGIN";
    return { type: "value", value: { command, rowCount: null, oid: 0, fields: [], rows: [] } };
  }

  /**
   * If two statements wait for one row, either may continue first. Therefore only one waits in the server, and the
   * others are withdrawn until it is their turn.
   */
  async #send(
    backend: Backend,
    query: Query,
    clockMs?: number,
  ): Promise<Answer | { waiting: Promise<Answer> | undefined }> {
    const isAlone = !this.#waiters.some((waiter) => waiter.answer !== undefined && waiter.backend !== backend);
    const mayBeTakenBack = !isAlone && backend.inTransaction && !backend.hasFailed && typeof query !== "string";
    // A failed transaction runs nothing, not even the statement that sets the clock.
    if (backend.hasFailed && clockMs !== undefined) await this.setClock(clockMs);
    const before: Query[] = [...(backend.beginsLater ? ["BEGIN"] : []), ...this.#clockChange(clockMs)];
    backend.beginsLater = false;
    if (mayBeTakenBack) await backend.send("SAVEPOINT before_waiting", { before: before.splice(0) });
    const watching = this.#mayWatch(backend, query) ? this.watching : undefined;
    const answer = backend.send(query, { before, watching });
    const answered = await this.#answerUnlessBlocked(backend, answer);
    if (answered !== undefined) return answered;
    if (isAlone) return { waiting: answer };
    await this.#cancel(backend, answer);
    if (mayBeTakenBack) await backend.client.query("ROLLBACK TO before_waiting");
    return { waiting: undefined };
  }

  /**
   * True if the rows may be read right behind the statement: it may commit changes, and nothing waits that continues
   * then. A single statement must not wait itself, or the query behind it would be in the way of its cancellation.
   */
  #mayWatch(backend: Backend, query: Query): boolean {
    if (this.#waiters.length > 0) return false;
    if (backend.inTransaction) return backend.hasWritten && textOf(query) === "COMMIT";
    return isWrite.test(textOf(query)) && !this.#isOtherInTransaction(backend);
  }

  #isOtherInTransaction(backend: Backend): boolean {
    return this.#all.some((other) => other !== backend && other.inTransaction);
  }

  async #sendAgain(waiter: Waiter): Promise<Answer | undefined> {
    const sent = await this.#send(waiter.backend, waiter.query);
    if ("type" in sent) return sent;
    waiter.answer = sent.waiting;
    return undefined;
  }

  /** Stops the statement of a client that is gone, and rolls back, as the server does. */
  async abandon(backend: Backend): Promise<void> {
    const waiter = this.#waiters.find((waiting) => waiting.backend === backend);
    if (waiter !== undefined) await this.#stop(waiter);
    if (backend.inTransaction) await this.run(backend, "ROLLBACK");
    this.takeBack(backend);
  }

  /** Stops a statement that still waits for a lock, as `lock_timeout` does. */
  async stopWaiting(backend: Backend): Promise<void> {
    const waiter = this.#waiters.find((waiting) => waiting.backend === backend);
    if (waiter === undefined) return;
    await this.#stop(waiter);
    await waiter.report({ type: "error", error: Object.assign(new Error("lock timeout"), { code: "55P03" }) });
  }

  async #stop(waiter: Waiter): Promise<void> {
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
    if (waiter.answer !== undefined) await this.#cancel(waiter.backend, waiter.answer);
  }

  async #cancel({ processId }: Backend, answer: Promise<Answer>): Promise<void> {
    await this.#observer.query("SELECT pg_cancel_backend($1)", [processId]);
    await answer;
  }

  async #note(backend: Backend, query: Query, answer: Answer): Promise<void> {
    const text = textOf(query);
    const wrote = answer.type === "value" && (answer.value.rowCount ?? 0) > 0 && isWrite.test(text);
    if (text === "BEGIN") backend.inTransaction = true;
    else if (text === "COMMIT" || text === "ROLLBACK") {
      const committed = backend.hasWritten && text === "COMMIT" && answer.type === "value";
      backend.inTransaction = false;
      backend.hasWritten = false;
      backend.hasFailed = false;
      // Statements that waited continue at once, so the rows are read once they have finished.
      const served = await this.#serveWaiters();
      if (committed) await this.#changed(answer);
      for (const { waiter, answer } of served) await waiter.report(answer);
    } else if (backend.inTransaction) {
      backend.hasWritten ||= wrote;
      backend.hasFailed ||= answer.type === "error";
    } else if (wrote) await this.#changed(answer);
  }

  async #changed(answer: Answer): Promise<void> {
    const observed = answer.type === "value" ? answer.observed : undefined;
    if (this.watching !== undefined) await this.onChange(observed ?? (await this.observe(this.watching)));
  }

  async #serveWaiters(): Promise<{ waiter: Waiter; answer: Answer }[]> {
    const served: { waiter: Waiter; answer: Answer }[] = [];
    for (const waiter of [...this.#waiters]) {
      if (!this.#waiters.includes(waiter)) continue;
      const { backend, answer: waiting } = waiter;
      const answer = waiting ? await this.#answerUnlessBlocked(backend, waiting) : await this.#sendAgain(waiter);
      if (answer === undefined) continue;
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
      served.push({ waiter, answer });
    }
    return served;
  }

  /**
   * Returns the answer, or undefined while another transaction of the run has to end first. The choice does not depend
   * on time.
   */
  async #answerUnlessBlocked(backend: Backend, answer: Promise<Answer>): Promise<Answer | undefined> {
    if (!this.#isOtherInTransaction(backend)) return answer;
    const early = await Promise.race([answer, soon()]);
    if (early !== undefined) return early;
    for (;;) {
      const blockers = this.#blockers(backend);
      const first = await Promise.race([answer, blockers]);
      await blockers;
      if (!Array.isArray(first)) return first;
      // In a deadlock the server itself ends one statement.
      if (first.length > 0) return (await this.#isInCircle(backend)) ? answer : undefined;
    }
  }

  async #blockers(backend: Backend): Promise<number[]> {
    const query = { name: "blockers", text: "SELECT pg_blocking_pids($1) AS pids", values: [backend.processId] };
    const { rows } = await this.#observer.query(query);
    const ours = new Set(this.#all.map(({ processId }) => processId));
    return (rows[0].pids as number[]).filter((processId) => ours.has(processId));
  }

  async #isInCircle(backend: Backend): Promise<boolean> {
    const seen = new Set<number>();
    let next: number[] = await this.#blockers(backend);
    while (next.length > 0) {
      if (next.includes(backend.processId)) return true;
      const blocking = this.#all.filter(({ processId }) => next.includes(processId) && !seen.has(processId));
      for (const { processId } of blocking) seen.add(processId);
      next = [];
      for (const other of blocking) next.push(...(await this.#blockers(other)));
    }
    return false;
  }
}

function soon(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, soonMs));
}
