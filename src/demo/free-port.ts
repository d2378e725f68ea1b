/** Loopback ports for the private servers: chosen once, kept between starts, refused clearly when somebody has them. */
import { createServer } from "node:net";
import { CannotStart } from "./detached-server.ts";

/** A loopback port that nobody listens on now. */
export function freePort(): Promise<number> {
  return listenOnce(0);
}

/** Returns `port` when it can be had. Throws CannotStart naming `owner` and the file that holds the choice otherwise. */
export async function requirePort(options: { port: number; owner: string; recordFile: string }): Promise<number> {
  const { port, owner, recordFile } = options;
  try {
    return await listenOnce(port);
  } catch (error) {
    throw new CannotStart(
      `port ${port} of ${owner} is taken by another program. Stop that program, or change "port" in ${recordFile}.`,
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
