/** Clients that hold connections: idle, sending a byte at a time, or reading nothing. */
import type { Socket } from "node:net";
import { answersIn, closeOf, connectTo, type RawExchange } from "./raw-exchange.ts";

/** A connection that is held, and the bytes received until the server closed it. */
export type HeldConnection = {
  readonly socket: Socket;
  readonly ended: Promise<RawExchange & { readonly lastedMs: number }>;
};

// Fast enough that no timeout of silence ends it, slow enough that hundreds cost nothing.
const dripEveryMs = 250;

/** Sends `start`, then a byte of `drip` repeatedly while the connection is open. */
export async function hold(port: number, start: string, drip = ""): Promise<HeldConnection> {
  // The server's own time begins after this, whichever side learns of the connection first.
  const begin = performance.now();
  const socket = await connectTo(port);
  let received = "";
  socket.on("data", (chunk: string) => {
    received += chunk;
  });
  const timer = drip === "" ? undefined : setInterval(() => socket.writable && socket.write(drip), dripEveryMs);
  const ended = closeOf(socket).then(() => {
    clearInterval(timer);
    return { ...answersIn(received), lastedMs: performance.now() - begin };
  });
  if (start !== "") socket.write(start);
  return { socket, ended };
}

export function holdMany(count: number, port: number, start: string, drip = ""): Promise<HeldConnection[]> {
  return Promise.all(Array.from({ length: count }, () => hold(port, start, drip)));
}
