/** The run's own PostgreSQL and nats-server, and the ways in which they go down and come back. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CannotStart, stopServer } from "../../demo/detached-server.ts";
import { type PrivateNats, startPrivateNats } from "../../demo/private-nats.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../demo/private-postgres.ts";
import { markOf } from "../../demo/process-mark.ts";
import type { Tally } from "./tally.ts";

type Place = {
  readonly stateFolder: string;
  readonly port: number;
  readonly tally: Tally;
  /** What PostgreSQL's data is called in the state folder. */
  readonly dataName?: string;
};

/** PostgreSQL's ways to go down: sessions are ended first, its processes quit at once, or its first process is killed. */
const postgresSignals = { fast: "SIGINT", immediate: "SIGQUIT", killed: "SIGKILL" } as const;

/** A way to stop PostgreSQL, by its own names. */
export type PostgresEnd = keyof typeof postgresSignals;

// Its other processes notice within a moment that the first one was killed; until then no other may start.
const startAgainMs = 200;
const startTriesMax = 100;

/** A server that can be restarted in the middle of everything. One restart at a time. */
abstract class ServerKeeper<
  Server extends { readonly pid: number; stop(options?: { removeData?: boolean }): Promise<void> },
> {
  protected readonly place: Place;
  protected server!: Server;
  #restarting = Promise.resolve();
  #isDown = false;

  constructor(place: Place) {
    this.place = place;
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

  /** Ends it, and nothing of its data stays. */
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
    for (let tried = 1; ; tried++) {
      try {
        await this.start();
        break;
      } catch (error) {
        if (!(error instanceof CannotStart) || tried === startTriesMax) throw error;
        await pause(startAgainMs);
      }
    }
    this.#isDown = false;
  }
}

/** Takes PostgreSQL down and brings it back on the same data. */
export class PostgresKeeper extends ServerKeeper<PrivatePostgres> {
  restart(end: PostgresEnd, downMs: number): void {
    if (!this.isUp) return;
    this.place.tally.add(`restart PostgreSQL, ${end}`);
    this.goDown(postgresSignals[end], downMs);
  }

  protected override launch(): Promise<PrivatePostgres> {
    const { stateFolder, port, dataName = "postgres" } = this.place;
    return startPrivatePostgres({ stateFolder, dataName, port });
  }
}

/** Takes nats-server down and brings it back, with its store or without. */
export class NatsKeeper extends ServerKeeper<PrivateNats> {
  /** SIGKILL, perhaps with everything lost that it kept. */
  kill(options: { losesStore: boolean }, downMs: number): void {
    if (!this.isUp) return;
    const { stateFolder, tally } = this.place;
    tally.add(options.losesStore ? "restart NATS, store deleted" : "restart NATS");
    this.goDown("SIGKILL", downMs, async () => {
      if (options.losesStore) await rm(join(stateFolder, "nats", "jetstream"), { recursive: true, force: true });
    });
  }

  protected override launch(): Promise<PrivateNats> {
    const { stateFolder, port } = this.place;
    return startPrivateNats({ stateFolder, port });
  }
}
