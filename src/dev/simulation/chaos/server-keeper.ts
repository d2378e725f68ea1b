/** The run's own PostgreSQL and nats-server, with the ways to stop and restart them. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CannotStart, stopServer } from "../../../demo/detached-server.ts";
import { type PrivateNats, startPrivateNats } from "../../../demo/private-nats.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../../demo/private-postgres.ts";
import { markOf } from "../../../demo/process-mark.ts";
import type { Tally } from "./tally.ts";

type ServerOptions = {
  readonly stateFolder: string;
  readonly port: number;
  readonly tally: Tally;
  /** The name of PostgreSQL's data in the state folder. */
  readonly dataName?: string;
};

/** Ways to stop PostgreSQL: sessions end first, its processes quit immediately, or its first process is killed. */
const postgresSignals = { fast: "SIGINT", immediate: "SIGQUIT", killed: "SIGKILL" } as const;

/** A way to stop PostgreSQL, under PostgreSQL's own name. */
export type PostgresEnd = keyof typeof postgresSignals;

// Its other processes detect within a moment that the first one was killed; until then no other may start.
const startAgainMs = 200;
const startsMax = 100;

/** A server that can be restarted at any moment. One restart at a time. */
abstract class ServerKeeper<
  Server extends { readonly pid: number; stop(options?: { removeData?: boolean }): Promise<void> },
> {
  protected readonly options: ServerOptions;
  protected server!: Server;
  #restarting = Promise.resolve();
  #isDown = false;

  constructor(options: ServerOptions) {
    this.options = options;
  }

  get isUp(): boolean {
    return !this.#isDown;
  }

  async start(): Promise<Server> {
    this.server = await this.launch();
    return this.server;
  }

  /** Resolves when no restart is under way. */
  wake(): Promise<void> {
    return this.#restarting;
  }

  async end(): Promise<void> {
    await this.#restarting;
    await this.server?.stop();
  }

  async discard(): Promise<void> {
    await this.#restarting;
    await this.server?.stop({ removeData: true });
  }

  protected abstract launch(): Promise<Server>;

  protected goDown(signal: NodeJS.Signals, downMs: number, whileDown: () => Promise<unknown> = async () => {}): void {
    if (this.#isDown) return;
    this.#isDown = true;
    this.#restarting = this.#restart(signal, downMs, whileDown);
  }

  async #restart(signal: NodeJS.Signals, downMs: number, whileDown: () => Promise<unknown>): Promise<void> {
    const mark = markOf(this.server.pid);
    if (mark) await stopServer(mark, signal);
    await whileDown();
    await pause(downMs);
    for (let start = 1; ; start++) {
      try {
        await this.start();
        break;
      } catch (error) {
        if (!(error instanceof CannotStart) || start === startsMax) throw error;
        await pause(startAgainMs);
      }
    }
    this.#isDown = false;
  }
}

export class PostgresKeeper extends ServerKeeper<PrivatePostgres> {
  restart(end: PostgresEnd, downMs: number): void {
    if (!this.isUp) return;
    this.options.tally.add(`restart PostgreSQL, ${end}`);
    this.goDown(postgresSignals[end], downMs);
  }

  protected override launch(): Promise<PrivatePostgres> {
    const { stateFolder, port, dataName = "postgres" } = this.options;
    return startPrivatePostgres({ stateFolder, dataName, port });
  }
}

/** Stops nats-server and restarts it, with or without its store. */
export class NatsKeeper extends ServerKeeper<PrivateNats> {
  /** Sends SIGKILL, and optionally removes everything stored. */
  kill(options: { losesStore: boolean }, downMs: number): void {
    if (!this.isUp) return;
    const { stateFolder, tally } = this.options;
    tally.add(options.losesStore ? "restart NATS, store deleted" : "restart NATS");
    this.goDown("SIGKILL", downMs, async () => {
      if (options.losesStore) await rm(join(stateFolder, "nats", "jetstream"), { recursive: true, force: true });
    });
  }

  protected override launch(): Promise<PrivateNats> {
    const { stateFolder, port } = this.options;
    return startPrivateNats({ stateFolder, port });
  }
}
