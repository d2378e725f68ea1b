/** A process's connections to PostgreSQL: every statement is an await at which the process can die. */
import { EventEmitter } from "node:events";
import type { Pool, QueryResult } from "pg";
import { idempotencyWaitMs, idleInTransactionMs } from "../../limits.ts";
import type { Acted, SimulatedProcess, Stage } from "./simulated-process.ts";
import { type Backend, type Query, textOf } from "./sql-backend.ts";
import type { SqlServer } from "./sql-server.ts";

type Parts = {
  readonly process: SimulatedProcess;
  readonly server: SqlServer;
  readonly stage: Stage;
  readonly epochMs: number;
};

/** The pool of a process; its open connections break when the process is killed. */
export class SimulatedPool {
  readonly #parts: Parts;
  readonly #open = new Set<SimulatedClient>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  asPool(): Pool {
    return this as unknown as Pool;
  }

  async connect(): Promise<SimulatedClient> {
    const client = new SimulatedClient(this.#parts, this.#parts.server.lend(), () => this.#open.delete(client));
    this.#open.add(client);
    return client;
  }

  async query(query: Query): Promise<QueryResult> {
    const client = await this.connect();
    try {
      return await client.query(query);
    } finally {
      client.release();
    }
  }

  /** The process is dead: the server rolls back its open transactions. */
  async abandon(): Promise<void> {
    for (const client of this.#open) await client.cut();
    this.#open.clear();
  }

  /** The process is stopped: the server ends its transactions after a bounded time. */
  stopFor(ms: number): void {
    if (ms <= idleInTransactionMs) return;
    for (const client of this.#open) {
      this.#parts.stage.timeline.after(idleInTransactionMs, () => client.cutIfIdleInTransaction());
    }
  }
}

class SimulatedClient extends EventEmitter {
  /** The number of writes per packet, which does not matter in a run. */
  readonly connection = { stream: { cork: () => {}, uncork: () => {} } };
  readonly #parts: Parts;
  readonly #onRelease: () => void;
  #backend: Backend | undefined;
  #statements = 0;
  #isWaiting = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts, backend: Backend, onRelease: () => void) {
    super();
    this.#parts = parts;
    this.#backend = backend;
    this.#onRelease = onRelease;
  }

  /** Runs statements in the order of the calls, as a connection that pipelines does. */
  query(query: Query): Promise<QueryResult> {
    const result = this.#last.then(() => this.#step(query));
    this.#last = result.catch(() => {});
    return result;
  }

  #step(query: Query): Promise<QueryResult> {
    this.#statements++;
    const name = typeof query === "string" ? query : (query.name ?? textOf(query));
    return this.#parts.process.step(name, () => this.#send(query));
  }

  async #send(query: Query): Promise<Acted<QueryResult>> {
    const { server, stage, epochMs } = this.#parts;
    if (this.#backend === undefined) return lost();
    if (this.#isCut("before")) return this.#lose();
    const clockMs = asksClock.test(textOf(query)) ? epochMs + stage.timeline.nowMs : undefined;
    const acted = await server.run(this.#backend, query, clockMs);
    if (acted.type === "waits") return this.#waitForLock(acted);
    return this.#isCut("after") ? this.#lose() : acted;
  }

  #waitForLock(acted: Extract<Acted<QueryResult>, { type: "waits" }>): Acted<QueryResult> {
    const { server, stage } = this.#parts;
    const backend = this.#backend!;
    const statement = this.#statements;
    this.#isWaiting = true;
    stage.timeline.after(idempotencyWaitMs, () => {
      if (this.#isWaiting && this.#statements === statement) return server.stopWaiting(backend);
    });
    const onEnd: typeof acted.onEnd = (report) =>
      acted.onEnd((ended) => {
        this.#isWaiting = false;
        report(ended);
      });
    return { type: "waits", onEnd };
  }

  #isCut(when: "before" | "after"): boolean {
    const { stage, process } = this.#parts;
    const isCut = stage.faults.strikes("cutConnection", stage.timeline.nowMs);
    if (isCut) process.note(() => `the connection breaks ${when} the server has run it`);
    return isCut;
  }

  async #lose(): Promise<Acted<QueryResult>> {
    await this.cut();
    return lost();
  }

  release(): void {
    this.#onRelease();
    if (this.#backend !== undefined) this.#parts.server.takeBack(this.#backend);
    this.#backend = undefined;
  }

  async cut(): Promise<void> {
    const backend = this.#backend;
    this.#backend = undefined;
    this.#isWaiting = false;
    if (backend !== undefined) await this.#parts.server.abandon(backend);
  }

  async cutIfIdleInTransaction(): Promise<void> {
    if (!this.#backend?.inTransaction || this.#isWaiting || this.#parts.process.isRunning) return;
    this.#parts.process.note(() => "the server ends its idle transaction");
    await this.cut();
  }
}

// Also matches writes that do not name the clock: a function, a default or a trigger may read it.
const asksClock = /^\s*(INSERT|UPDATE|WITH)\b|app\.clock|\b(app|partitions)\.\w+\(/i;

function lost(): Acted<QueryResult> {
  return { type: "error", error: Object.assign(new Error("the connection is lost"), { code: "ECONNRESET" }) };
}
