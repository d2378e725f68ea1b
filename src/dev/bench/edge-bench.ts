/** Rows 1 to 3: creates sessions over REST and gRPC beside peers, and measures the database's limit. */
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseKeyFile } from "../../config/server-keys.ts";
import { verifyClientSecret } from "../../core/client-secret.ts";
import { freePort } from "../../demo/free-port.ts";
import { requestLimitBounds } from "../../limits.ts";
import { decodeId } from "../../platform/ids.ts";
import { verifyFramePolicy, verifySessionGrant } from "../../platform/service-token.ts";
import type { VerificationKey } from "../../platform/signed-claims.ts";
import { Child } from "../testing/child-process.ts";
import { type Contestant, serverUnderLoad } from "./contestant.ts";
import { databaseLimit } from "./database-limit.ts";
import { type BenchHarness, startHarness } from "./harness.ts";
import { order } from "./load.ts";
import { profilingOptions } from "./profiling-options.ts";
import { playRounds, type Turn } from "./rounds.ts";

export type EdgeBenchOptions = {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
  /** Connections of REST, calls at once of gRPC, clients of pgbench. */
  readonly callers: number;
  /** Node's profiles of every server are written here, and the figures mean nothing. */
  readonly profilesIn?: string;
};

/** The turns of both protocols. The database's limit is among those of REST, under `limitName`. */
export type EdgeBenchTurns = {
  readonly rest: readonly Turn[];
  readonly grpc: readonly Turn[];
  readonly limitName: string;
  readonly postgres: BenchHarness["postgres"];
};

export const ours = "Switchyard";
export const restPeer = "Fastify + pg";
export const grpcPeer = "grpc-js + pg";

const vaultOrigin = "http://127.0.0.1:1";

/** Plays everything. Throws on a wrong answer: its speed means nothing. */
export async function runEdgeBench(options: EdgeBenchOptions, onPlayed: () => void): Promise<EdgeBenchTurns> {
  const harness = await startHarness();
  const children: Child[] = [];
  try {
    const start: Start = (file, variables) => {
      const isProfiled = options.profilesIn !== undefined && !file.endsWith("-load.ts");
      const nodeOptions = isProfiled ? profilingOptions(options.profilesIn, basename(file, ".ts")) : [];
      const child = Child.start(join(import.meta.dirname, file), variables, nodeOptions);
      children.push(child);
      return child;
    };
    const { edge, restPort, grpcPort } = await startEdge(harness, start);
    const restLoad = start("rest-load.ts");
    const grpcLoad = start("grpc-load.ts");
    const contestant = (name: string, server: Child, generator: Child, port: number): Contestant => {
      const order = { address: `127.0.0.1:${port}`, secretKey: harness.secretKey, callers: options.callers };
      return serverUnderLoad({ name, server, generator, order });
    };
    const fastify = await startPeer(harness, start("peers/fastify-peer.ts"), "rest_peer");
    const grpcJs = await startPeer(harness, start("peers/grpc-peer.ts"), "grpc_peer");
    const limit = await databaseLimit({
      harness,
      databaseUrl: await harness.makePeerDatabase("limit"),
      clients: options.callers,
    });
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
      for (const turn of [...turns.rest, ...turns.grpc]) await requireAnswers(turn, harness);
      return { ...turns, limitName: limit.name, postgres: harness.postgres };
    } finally {
      await limit.close();
    }
  } finally {
    await Promise.all(children.map((child) => child.close()));
    await harness.close();
  }
}

async function requireAnswers(turn: Turn, harness: BenchHarness): Promise<void> {
  for (const [name, { failures, answer }] of Object.entries(turn)) {
    if (failures > 0) throw new Error(`${name} did not answer ${failures} calls correctly`);
    if (answer !== undefined) await requireAnswer(name, answer, { keysFile: harness.keysFile, vaultOrigin });
  }
}

/** Starts a file of this folder as a process, with these environment variables. */
type Start = (file: string, variables?: Readonly<Record<string, string>>) => Child;

async function startEdge(harness: BenchHarness, start: Start) {
  const [restPort, grpcPort] = [await freePort(), await freePort()];
  const databaseUrl = await harness.makeDatabase("edge", "environment");
  await harness.openTo(databaseUrl);
  const edge = start("edge-process.ts", {
    SWITCHYARD_TEST_DATABASE_URL: databaseUrl,
    SWITCHYARD_ACCOUNTS_DATABASE_URL: await harness.makeDatabase("accounts", "accounts"),
    SWITCHYARD_TEST_KEYS_FILE: harness.keysFile,
    SWITCHYARD_PUBLIC_PORT: String(restPort),
    SWITCHYARD_GRPC_PORT: String(grpcPort),
    SWITCHYARD_API_ORIGIN: `http://127.0.0.1:${restPort}`,
    SWITCHYARD_VAULT_ORIGIN: vaultOrigin,
    SWITCHYARD_ERROR_DOCS_URL: "http://127.0.0.1/docs/errors",
    // It would report each second that there is no NATS, which a creation does not need.
    SWITCHYARD_LOG_LEVEL: "silent",
    // A single merchant sends everything. Its requests count as any merchant's do, against the highest limit.
    SWITCHYARD_RATE_LIMIT_PER_SECOND: String(requestLimitBounds.perSecond.max),
    SWITCHYARD_RATE_LIMIT_BURST: String(requestLimitBounds.burst.max),
    // A creation uses neither of them.
    SWITCHYARD_VAULT_GRPC_ADDRESS: "127.0.0.1:1",
    SWITCHYARD_TEST_NATS_SERVERS: "127.0.0.1:1",
    SWITCHYARD_TEST_NATS_USER: "none",
    SWITCHYARD_TEST_NATS_PASSWORD: "none",
  });
  await edge.ask("start");
  return { edge, restPort, grpcPort };
}

async function startPeer(harness: BenchHarness, server: Child, databaseName: string) {
  const databaseUrl = await harness.makePeerDatabase(databaseName);
  const port = await freePort();
  await server.ask("start", { databaseUrl, keysFile: harness.keysFile, vaultOrigin, port });
  return { server, port };
}

type Installation = { readonly keysFile: string; readonly vaultOrigin: string };

/** Throws unless the answer names a session, and its secret, grant and policy are valid. */
async function requireAnswer(name: string, text: string, installation: Installation): Promise<void> {
  const require = (holds: boolean, what: string) => {
    if (!holds) throw new Error(`${name} answered with ${what} that is not right: ${text}`);
  };
  const answer = JSON.parse(text);
  const keyText = readFileSync(installation.keysFile, "utf8");
  const { clientSecret, signing } = parseKeyFile(keyText, "test");
  const verification: VerificationKey[] = [
    { kid: signing.kid, environment: "test", publicKey: createPublicKey(signing.privateKey) },
  ];
  require(decodeId("ps", answer.sessionId) !== undefined, "a session id");
  require(verifyClientSecret(clientSecret, answer.clientSecret) ===
    decodeId("ps", answer.sessionId), "a client secret");
  require(answer.status === "CREATED", "a status");
  require(Date.parse(answer.expiresAt) > Date.now(), "an expiry");
  require(Number(answer.amountMinor) === order.amountMinor && answer.currency === order.currency, "an amount");
  require(answer.orderRef.length > 0, "an order reference");
  const grant = verifySessionGrant(verification, answer.vault.sdkAuthorization);
  require(grant?.session === answer.sessionId && grant?.profile === answer.vault.profileId, "a grant");
  require(verifyFramePolicy(verification, answer.vault.framePolicy) !== undefined, "a frame policy");
  require(answer.vault.mode === "self_hosted" &&
    answer.vault.sdkUrl === `${installation.vaultOrigin}/sdk.js`, "a vault");
}
