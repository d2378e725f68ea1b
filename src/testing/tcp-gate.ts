/** A forwarder between two processes that a test can stop at a certain message, cut, or take away and bring back. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Which way bytes go: `in` to the server behind the gate, `out` back to its client. */
export type Way = "in" | "out";

type Trap = { readonly way: Way; readonly text: string; readonly caught: () => void };

/** Passes bytes on as they come until it is told otherwise. */
export class TcpGate {
  readonly #server: Server;
  #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  #trap: Trap | undefined;
  #isShut = false;

  private constructor(target: { host: string; port: number }) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  /** Listens on a loopback port of its own for what is meant for `target`. */
  static async open(target: { host: string; port: number }): Promise<TcpGate> {
    const gate = new TcpGate(target);
    gate.#server.listen(0, "127.0.0.1");
    await once(gate.#server, "listening");
    return gate;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Resolves when bytes with this text have come. They and all that follow, on every connection and both ways, are kept
   * back until somebody cuts the gate: whoever sent them has sent them, and nobody ever gets them.
   */
  holdAt(way: Way, text: string): Promise<void> {
    return new Promise((caught) => {
      this.#trap = { way, text, caught };
    });
  }

  /** Ends every connection, forgets what was kept back, and lets new ones through. */
  cut(): void {
    this.#trap = undefined;
    this.#isShut = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends every connection; new ones go to another server. */
  leadTo(target: { host: string; port: number }): void {
    this.#target = target;
    this.cut();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket): void {
    const server = connect(this.#target);
    this.#pass(client, server, "in");
    this.#pass(server, client, "out");
  }

  #pass(from: Socket, to: Socket, way: Way): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on("data", (bytes) => {
      if (!this.#stops(way, bytes)) to.write(bytes);
    });
    from.on("error", () => {});
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }

  #stops(way: Way, bytes: Buffer): boolean {
    if (this.#trap?.way === way && bytes.includes(this.#trap.text)) {
      this.#isShut = true;
      this.#trap.caught();
      this.#trap = undefined;
    }
    return this.#isShut;
  }
}
