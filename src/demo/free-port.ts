/** Loopback ports for the private servers: chosen once, kept between starts, reported clearly when they are in use. */
import { createServer } from "node:net";
import { CannotStart } from "./detached-server.ts";

/** Returns a loopback port without a listener. */
export function freePort(): Promise<number> {
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
