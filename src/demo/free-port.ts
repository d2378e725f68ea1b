/** Loopback ports for the private servers: chosen once, kept between starts, reported clearly when they are in use. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { CannotStart } from "./detached-server.ts";

// Linux gives ports from 32768 on to outgoing connections (ip(7), ip_local_port_range), and may do so between the choice of
// a port and the start of its server.
const portMin = 20_000;
const portMax = 32_767;
const tries = 20;

/** Returns a loopback port without a listener, which no outgoing connection takes. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < tries; tried++) {
    const port = await listenOnce(randomInt(portMin, portMax + 1)).catch(() => undefined);
    if (port !== undefined) return port;
  }
  return listenOnce(0);
}

/** Returns `port` if it is free. Throws CannotStart naming `owner` and the file that holds the choice otherwise. */
export async function requirePort(options: { port: number; owner: string; recordFile: string }): Promise<number> {
  const { port, owner, recordFile } = options;
  try {
    return await listenOnce(port);
  } catch (error) {
    throw new CannotStart(
      `port ${port} of ${owner} is in use by another program. Stop that program, or change "port" in ${recordFile}.`,
      { cause: error },
    );
  }
}

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1" }, () => {
      const address = server.address();
      const chosen = typeof address === "object" && address !== null ? address.port : port;
      server.close(() => resolve(chosen));
    });
  });
}
