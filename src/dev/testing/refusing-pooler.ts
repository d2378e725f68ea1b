/** A pooler that refuses one BEGIN and forwards all else, like one that finds no server. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

// Frames as they are on the wire (PostgreSQL 18, 54.7 "Message Formats"): a type, a length without the type, the
// content.
const frame = (type: string, content: string) => {
  const body = Buffer.from(content, "latin1");
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const refusal = frame("E", "SERROR\0VERROR\0C08006\0Mno server is available\0\0");
const readyAndIdle = frame("Z", "I");

/** Speaks the protocol as PostgreSQL does: an error in an extended query skips all up to Sync. */
export class RefusingPooler {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #server: Server;
  #reached: (() => void) | undefined;
  #answer = Promise.resolve();

  private constructor(target: { host: string; port: number }) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  static async open(target: { host: string; port: number }): Promise<RefusingPooler> {
    const pooler = new RefusingPooler(target);
    pooler.#server.listen(0, "127.0.0.1");
    await once(pooler.#server, "listening");
    return pooler;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Refuses the next BEGIN, after `answer` has resolved; resolves when that BEGIN has arrived. */
  refuseNext(answer: Promise<void> = Promise.resolve()): Promise<void> {
    this.#answer = answer;
    return new Promise((reached) => {
      this.#reached = reached;
    });
  }

  async close(): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket): void {
    const server = connect(this.#target);
    server.on("data", (bytes) => client.write(bytes));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.setNoDelay(true);
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
    const pass = this.#filter(client, server);
    let rest = Buffer.alloc(0);
    let isStarted = false;
    client.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (;;) {
        // The first message of a connection has no type.
        const lengthAt = isStarted ? 1 : 0;
        if (rest.length < lengthAt + 4) return;
        const end = lengthAt + rest.readInt32BE(lengthAt);
        if (rest.length < end) return;
        pass(rest.subarray(0, end), isStarted);
        rest = rest.subarray(end);
        isStarted = true;
      }
    });
  }

  #filter(client: Socket, server: Socket): (message: Buffer, isTyped: boolean) => void {
    let isSkipping = false;
    const refuse = (isSimple: boolean) => {
      this.#reached?.();
      this.#reached = undefined;
      isSkipping = !isSimple;
      void this.#answer.then(() => client.write(isSimple ? Buffer.concat([refusal, readyAndIdle]) : refusal));
    };
    return (message, isTyped) => {
      const type = isTyped ? String.fromCharCode(message[0]!) : "";
      if (isSkipping) {
        if (type !== "S") return;
        isSkipping = false;
        void this.#answer.then(() => client.write(readyAndIdle));
      } else if (this.#reached !== undefined && (type === "Q" || type === "P") && message.includes("BEGIN")) {
        refuse(type === "Q");
      } else server.write(message);
    };
  }
}
