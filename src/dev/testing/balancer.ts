/** A small TCP balancer: it probes each instance's readiness, and sends new connections only to ready ones. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export type Instance = {
  /** Answered with success while it wants connections. */
  readonly readyUrl: string;
  readonly ports: readonly number[];
};

// The interval of an eager balancer. A stopping instance keeps its shutdown grace for a multiple of it.
const lookEveryMs = 50;

/** Joins each new connection to a ready instance, in turn, and lets it live for as long as both ends do. */
export class Balancer {
  readonly #instances: readonly Instance[];
  readonly #ready = new Set<Instance>();
  readonly #doors: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #closing = new AbortController();
  readonly #looking: Promise<void>[];
  #turn = 0;
  /** Connections that found no ready instance, or an instance that reported ready and accepted none. */
  refused = 0;

  private constructor(instances: readonly Instance[]) {
    this.#instances = instances;
    this.#looking = instances.map((instance) => this.#look(instance));
  }

  /** Listens on `doors`; the first leads to the first port of each instance, and so on. */
  static async open(options: { instances: readonly Instance[]; doors: readonly number[] }): Promise<Balancer> {
    const balancer = new Balancer(options.instances);
    for (const [index, port] of options.doors.entries()) {
      const door = createServer((client) => balancer.#join(client, index)).listen(port, "127.0.0.1");
      balancer.#doors.push(door);
      await once(door, "listening");
    }
    return balancer;
  }

  /** Resolves when new connections go to this many instances. */
  async untilReady(count: number): Promise<void> {
    while (this.#ready.size !== count) await pause(lookEveryMs / 2);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#looking);
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#doors.map((door) => new Promise((done) => door.close(done))));
  }

  async #look(instance: Instance): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const answer = await fetch(instance.readyUrl, { signal, headers: { connection: "close" } }).catch(
        () => undefined,
      );
      await answer?.arrayBuffer().catch(() => {});
      if (answer?.ok) this.#ready.add(instance);
      else this.#ready.delete(instance);
      await pause(lookEveryMs, undefined, { signal }).catch(() => {});
    }
  }

  #join(client: Socket, door: number): void {
    const ready = this.#instances.filter((instance) => this.#ready.has(instance));
    const chosen = ready[this.#turn++ % Math.max(1, ready.length)];
    const port = chosen?.ports[door];
    if (port === undefined) {
      this.refused++;
      client.destroy();
      return;
    }
    // The instance sees the client's address, as behind balancers that pass it on.
    const server = connect({ host: "127.0.0.1", port, localAddress: client.remoteAddress! });
    server.once("error", () => {
      if (server.bytesRead === 0 && server.connecting) this.refused++;
    });
    this.#pass(client, server);
    this.#pass(server, client);
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#sockets.delete(from);
      to.end();
    });
  }
}
