/**
 * Forwards between a process and PostgreSQL and counts the traffic, in a separate process. Slows both down a little.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { answerParent } from "../testing/child-process.ts";

/** Counts since the last `begin`. A turn is everything sent before the next answer: one round trip. */
export type Passed = { readonly roundTrips: number; readonly commits: number };

// A simple query of exactly this text, as the frame is on the wire (PostgreSQL 18, 54.7 "Message Formats": type,
// length, text, zero).
const commitFrame = Buffer.from("Q\0\0\0\x0bCOMMIT\0", "latin1");

let roundTrips = 0;
let commits = 0;

function join(client: Socket, target: { host: string; port: number }): void {
  const server = connect(target);
  let isAnswered = true;
  client.setNoDelay(true);
  server.setNoDelay(true);
  client.on("data", (bytes: Buffer) => {
    if (isAnswered) roundTrips += 1;
    isAnswered = false;
    for (let at = bytes.indexOf(commitFrame); at >= 0; at = bytes.indexOf(commitFrame, at + 1)) commits += 1;
    server.write(bytes);
  });
  server.on("data", (bytes: Buffer) => {
    isAnswered = true;
    client.write(bytes);
  });
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on("error", () => {});
    one.on("close", () => other.destroy());
  }
}

answerParent({
  listen: (target: { host: string; port: number }) =>
    new Promise((resolve) => {
      const gate = createServer((client) => join(client, target));
      gate.listen(0, "127.0.0.1", () => resolve((gate.address() as AddressInfo).port));
    }),
  begin: () => {
    roundTrips = 0;
    commits = 0;
    return null;
  },
  passed: (): Passed => ({ roundTrips, commits }),
});
