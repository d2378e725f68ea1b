/** An HTTP/2 client that writes frames as bytes, and so can break every rule (RFC 9113 4.1). */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** The types of frames that the tests send and look for (RFC 9113, section 6). */
export const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, continuation: 9 } as const;

export function http2Frame(
  type: keyof typeof frameTypes,
  options: { flags?: number; stream?: number; payload?: Uint8Array } = {},
): Buffer {
  const { flags = 0, stream = 0, payload = new Uint8Array() } = options;
  const frame = Buffer.alloc(9 + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = frameTypes[type];
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
  frame.set(payload, 9);
  return frame;
}

/** A connection that has sent its preface and reads incoming data, unless it is paused. */
export class FrameClient {
  readonly socket: Socket;
  readonly cut: Promise<void>;
  readonly #received: Buffer[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    this.cut = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => this.#received.push(chunk));
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(http2Frame("settings"));
  }

  /** Resolves when the server has sent its first frame, its SETTINGS. */
  static async connect(port: number): Promise<FrameClient> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    const client = new FrameClient(socket);
    await once(socket, "data");
    return client;
  }

  /** Writes the same bytes repeatedly until it is cut off; returns how often. Gives up at `bytesMax`. */
  async flood(bytes: Uint8Array, bytesMax: number): Promise<number> {
    let sent = 0;
    while (sent < bytesMax && !this.socket.destroyed && this.socket.writable) {
      const isRoom = this.socket.write(bytes);
      sent++;
      if (!isRoom) await Promise.race([once(this.socket, "drain").catch(() => {}), this.cut]);
    }
    return sent;
  }

  /** The error code of the server's GOAWAY, or undefined. */
  goawayCode(): number | undefined {
    const bytes = Buffer.concat(this.#received);
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
      if (bytes[at + 3] === frameTypes.goaway && at + 17 <= bytes.length) return bytes.readUInt32BE(at + 13);
    }
    return undefined;
  }
}
