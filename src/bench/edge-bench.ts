/** Benches 1 to 3: creating a session over REST and over gRPC, beside peers that do the same work, and the database's limit. */
import { join } from "node:path";
import { freePort } from "../demo/free-port.ts";
import { requestLimitBounds } from "../limits.ts";
import { Child } from "../testing/child-process.ts";
import { type BenchBed, startBed } from "./bed.ts";
import { requireAnswer } from "./check-answer.ts";
import { type Contestant, serverUnderLoad } from "./contestant.ts";
import { databaseLimit } from "./database-limit.ts";
import { playRounds, type Turn } from "./rounds.ts";

/** How long and how hard. */
export type EdgeBenchOptions = {
  /** Rounds of each contestant that count. */
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** Connections of REST, calls at once of gRPC, clients of pgbench. */
  readonly callers: number;
};

/** The turns of both protocols. The database's limit is among those of REST, under `limitName`. */
export type EdgeBenchTurns = {
  readonly rest: readonly Turn[];
  readonly grpc: readonly Turn[];
  readonly limitName: string;
  readonly postgres: BenchBed["postgres"];
};

/** How we are called in the turns. */
export const ours = "Switchyard";
/** How the peer of REST is called. */
export const restPeer = "Fastify + pg";
/** How the peer of gRPC is called. */
export const grpcPeer = "grpc-js + pg";

const vaultOrigin = "http://127.0.0.1:1";

/** How many rounds are played in all, warm-ups included. */
export function roundsInAll({ rounds }: Pick<EdgeBenchOptions, "rounds">): number {
  return (rounds + 1) * 5;
}

/** Plays everything. Throws when a call was not answered as it should be: a wrong answer has no speed. */
export async function runEdgeBench(options: EdgeBenchOptions, onPlayed: () => void): Promise<EdgeBenchTurns> {
  const bed = await startBed();
  const children: Child[] = [];
  try {
    const start: Start = (file, variables) => {
      const child = Child.start(join(import.meta.dirname, file), variables);
      children.push(child);
      return child;
    };
    const { edge, restPort, grpcPort } = await startEdge(bed, start);
    const restLoad = start("rest-load.ts");
    const grpcLoad = start("grpc-load.ts");
    const contestant = (name: string, server: Child, generator: Child, port: number): Contestant => {
      const order = { address: `127.0.0.1:${port}`, secretKey: bed.secretKey, callers: options.callers };
      return serverUnderLoad({ name, server, generator, order });
    };
    const fastify = await startPeer(bed, start("peers/fastify-peer.ts"), "rest_peer");
    const grpcJs = await startPeer(bed, start("peers/grpc-peer.ts"), "grpc_peer");
    const limit = await databaseLimit({ bed, databaseUrl: await openDatabase(bed, "limit"), clients: options.callers });
    try {
      const rest = [
        contestant(ours, edge, restLoad, restPort),
        contestant(restPeer, fastify.server, restLoad, fastify.port),
        limit,
      ];
      const grpc = [
        contestant(ours, edge, grpcLoad, grpcPort),
        contestant(grpcPeer, grpcJs.server, grpcLoad, grpcJs.port),
      ];
      const turns = {
        rest: await playRounds(rest, { ...options, onPlayed }),
        grpc: await playRounds(grpc, { ...options, onPlayed }),
      };
      for (const turn of [...turns.rest, ...turns.grpc]) await requireAnswers(turn, bed);
      return { ...turns, limitName: limit.name, postgres: bed.postgres };
    } finally {
      await limit.close();
    }
  } finally {
    await Promise.all(children.map((child) => child.close()));
    await bed.close();
  }
}

async function requireAnswers(turn: Turn, bed: BenchBed): Promise<void> {
  for (const [name, { failures, answer }] of Object.entries(turn)) {
    if (failures > 0) throw new Error(`${name} did not answer ${failures} calls as it should`);
    if (answer !== undefined) await requireAnswer(name, answer, { keysFile: bed.keysFile, vaultOrigin });
  }
}

async function openDatabase(bed: BenchBed, name: string): Promise<string> {
  const url = await bed.makeDatabase(name, "environment");
  await bed.openTo(url);
  return url;
}

/** Starts a file of this folder as a process, with these environment variables. */
export type Start = (file: string, variables?: Readonly<Record<string, string>>) => Child;

/** The edge on a database of its own. */
export async function startEdge(bed: BenchBed, start: Start) {
  const [restPort, grpcPort] = [await freePort(), await freePort()];
  const edge = start("edge-process.ts", {
    SWITCHYARD_TEST_DATABASE_URL: await openDatabase(bed, "edge"),
    SWITCHYARD_ACCOUNTS_DATABASE_URL: await bed.makeDatabase("accounts", "accounts"),
    SWITCHYARD_TEST_KEYS_FILE: bed.keysFile,
    SWITCHYARD_PUBLIC_PORT: String(restPort),
    SWITCHYARD_GRPC_PORT: String(grpcPort),
    SWITCHYARD_API_ORIGIN: `http://127.0.0.1:${restPort}`,
    SWITCHYARD_VAULT_ORIGIN: vaultOrigin,
    SWITCHYARD_ERROR_DOCS_URL: "http://127.0.0.1/docs/errors",
    // One merchant sends everything. Its requests are counted as any merchant's are, against the highest limit.
    SWITCHYARD_RATE_LIMIT_PER_SECOND: String(requestLimitBounds.perSecond.most),
    SWITCHYARD_RATE_LIMIT_BURST: String(requestLimitBounds.burst.most),
    // A creation asks neither of them.
    SWITCHYARD_VAULT_GRPC_ADDRESS: "127.0.0.1:1",
    SWITCHYARD_TEST_NATS_SERVERS: "127.0.0.1:1",
    SWITCHYARD_TEST_NATS_USER: "none",
    SWITCHYARD_TEST_NATS_PASSWORD: "none",
  });
  await edge.ask("start");
  return { edge, restPort, grpcPort };
}

/** A peer on a database of its own. */
export async function startPeer(bed: BenchBed, server: Child, databaseName: string) {
  const databaseUrl = await openDatabase(bed, databaseName);
  const port = await freePort();
  await server.ask("start", { databaseUrl, keysFile: bed.keysFile, vaultOrigin, port });
  return { server, port };
}
