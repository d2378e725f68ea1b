/** A forwarder between two processes that a test can stop at a certain message, cut, or remove and restore. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The direction of bytes: `in` to the server behind the gate, `out` back to its client. */
export type Way = "in" | "out";

type Trap = { readonly way: Way; readonly text: string; readonly caught: () => void };

/** Forwards bytes as they arrive until a test changes that. */
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

  /** Listens on a loopback port and forwards to `target`. */
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
   * Resolves when bytes with this text have arrived. They and all that follow, on every connection in both directions,
   * are withheld until the gate is cut: their sender has sent them, and they are never received.
   */
  holdAt(way: Way, text: string): Promise<void> {
    return new Promise((caught) => {
      this.#trap = { way, text, caught };
    });
  }

  /** Ends every connection, discards withheld bytes, and accepts new connections. */
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
