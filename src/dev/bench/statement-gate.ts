/** Forwards between processes and PostgreSQL and counts the traffic of each, in a separate process. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { answerParent } from "../testing/child-process.ts";

/**
 * Counts since the last `begin`. A turn is everything sent before the next answer: one round trip. A commit is a COMMIT,
 * or a statement outside a transaction that changes rows, also by a function. BEGIN and COMMIT are statements too.
 */
export type Passed = { readonly roundTrips: number; readonly commits: number; readonly statements: number };

type Counts = { roundTrips: number; commits: number; statements: number };

// The types of frames and their fields: PostgreSQL 18, 54.7 "Message Formats".
const frameTypes = { query: 0x51, parse: 0x50, bind: 0x42 };
const changes = /\b(INSERT\s+INTO|DELETE\s+FROM|UPDATE\s+[\w."]+(\s+(AS\s+)?\w+)?\s+SET)\b/i;
// A call of a function is a commit, but of one that only reads, or of one with which an idle loop looks for work.
const commits =
  /\b(app|partitions)\.(?!(clock|audit|first_id_at|latency_step|settled_before|require_one|order_payer|is_\w+|take_over_next|take_due_\w+)\()\w+\(/;

const nothing = (): Counts => ({ roundTrips: 0, commits: 0, statements: 0 });
const countsByName = new Map<string, Counts>();

class FrameReader {
  readonly #counts: Counts;
  #rest: Buffer = Buffer.alloc(0);
  #hasStarted = false;
  #isInTransaction = false;
  readonly #texts = new Map<string, string>();

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      // The first frame of a connection has no type.
      const typeBytes = this.#hasStarted ? 1 : 0;
      if (this.#rest.length < typeBytes + 4) return;
      const end = typeBytes + this.#rest.readInt32BE(typeBytes);
      if (this.#rest.length < end) return;
      if (this.#hasStarted) this.#readFrame(this.#rest[0]!, this.#rest.subarray(5, end));
      this.#hasStarted = true;
      this.#rest = this.#rest.subarray(end);
    }
  }

  #readFrame(type: number, body: Buffer): void {
    const [first = "", second = ""] = body.toString("latin1").split("\0", 2);
    if (type === frameTypes.query) this.#run(first);
    if (type === frameTypes.parse) this.#texts.set(first, second);
    if (type === frameTypes.bind) this.#run(this.#texts.get(second) ?? "");
  }

  #run(text: string): void {
    this.#counts.statements += 1;
    if (/^\s*BEGIN/i.test(text)) this.#isInTransaction = true;
    else if (/^\s*ROLLBACK/i.test(text)) this.#isInTransaction = false;
    else if (/^\s*COMMIT/i.test(text)) {
      this.#isInTransaction = false;
      this.#counts.commits += 1;
    } else if (!this.#isInTransaction && (changes.test(text) || commits.test(text))) this.#counts.commits += 1;
  }
}

function join(client: Socket, target: { host: string; port: number }, counts: Counts): void {
  const server = connect(target);
  const reader = new FrameReader(counts);
  let isAnswered = true;
  client.setNoDelay(true);
  server.setNoDelay(true);
  client.on("data", (bytes: Buffer) => {
    if (isAnswered) counts.roundTrips += 1;
    isAnswered = false;
    reader.read(bytes);
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
  /** Opens a separate door for each process, by the name under which it is counted. */
  listen: ({ name, ...target }: { name: string; host: string; port: number }) =>
    new Promise((resolve) => {
      const counts = nothing();
      countsByName.set(name, counts);
      const gate = createServer((client) => join(client, target, counts));
      gate.listen(0, "127.0.0.1", () => resolve((gate.address() as AddressInfo).port));
    }),
  begin: () => {
    for (const counts of countsByName.values()) Object.assign(counts, nothing());
    return null;
  },
  passed: (): Readonly<Record<string, Passed>> => Object.fromEntries(countsByName),
});
