/**
 * The core of one simulated process: the product's own, with simulated time, randomness, database connections and
 * gateways.
 */
import { selfHostedForwarding } from "../../card-vault/own/vault-rpc.ts";
import { type Core, defaultTiming } from "../../core/core.ts";
import { returnTokenOf } from "../../core/customer-actions.ts";
import { CircuitBreaker } from "../../core/execute/circuit-breaker.ts";
import { GatewaySlots } from "../../core/execute/gateway-slots.ts";
import { describeForEvent } from "../../edge/session-messages.ts";
import type { AuthenticationProvider } from "../../gateways/authentication-provider.ts";
import { createBinder } from "../../gateways/connections.ts";
import type { Connector } from "../../gateways/connector.ts";
import { Database, type Queryable } from "../../platform/database.ts";
import { createHold } from "../../platform/hold.ts";
import { createLogger } from "../../platform/log.ts";
import type { Runtime } from "../../platform/runtime.ts";
import { type KeyRing, Secret } from "../../platform/secrets.ts";
import { untraced } from "../../platform/telemetry.ts";
import type { SimulatedPool } from "./simulated-pool.ts";
import type { SimulatedProcess, Stage } from "./simulated-process.ts";
import { fingerprintOf } from "./testers.ts";

export const sealing: KeyRing = { current: "k", keys: { k: Buffer.alloc(32, 7) } };

export type LoggedError = { readonly msg: string; readonly err?: { readonly message: string; readonly code?: string } };

export function createSimulatedCore(parts: {
  process: SimulatedProcess;
  pool: SimulatedPool;
  stage: Stage;
  runtime: Runtime;
  connectors: ReadonlyMap<string, Connector>;
  providers?: ReadonlyMap<string, AuthenticationProvider>;
  /** Answers with the set `rest` for every id, so that a run's statements are those of an installation. */
  partitions: Queryable;
  onError: (line: LoggedError) => void;
}): Core {
  const { process, stage, runtime } = parts;
  const database = new Database(parts.pool.asPool(), { patienceMs: 0 }); // Its clock is virtual: a lock is waited for until its holder ends.
  void database.namePartitions(parts.partitions).then(() => requireNames(database));
  const connectorOf = (gateway: string) => parts.connectors.get(gateway);
  const providerOf = (name: string) => parts.providers?.get(name);
  return {
    database,
    hold: createHold(0),
    runtime,
    log: createLogger({ name: "simulation", level: "error", write: (line) => parts.onError(JSON.parse(line)) }),
    tracing: untraced,
    clientSecretKeys: { letter: "t", current: 1, keys: new Map([[1, Buffer.alloc(32, 1)]]) },
    sealing,
    pageTokenKey: [new Secret("page")],
    vault: {
      origin: "https://vault.example",
      forwarding: selfHostedForwarding,
      opensSessionByCall: false,
      carriesMerchantKey: true,
      openSession: async () => ({ mode: "self_hosted" }),
      checkToken: async ({ token }) => ({ state: "unused", ...fingerprintOf(token) }),
      forget: () => {},
      stored: {
        keep: async () => "lost",
        open: async ({ sessionId }) => ({ token: new Secret(`stored ${sessionId}`), expiresAt: runtime.now() }),
        erase: async () => {},
      },
    },
    connectorOf,
    bind: createBinder({ database, ring: sealing, connectorOf }),
    providerOf,
    bindProvider: createBinder({ database, ring: sealing, connectorOf: providerOf }),
    returnUrlOf: (returning) => returnTokenOf({ sealing }, returning),
    outbox: { runtime, environmentName: "test", publish: () => {} },
    describeSession: describeForEvent,
    circuitBreaker: new CircuitBreaker(),
    creations: new Map(),
    known: new Map(),
    timing: defaultTiming,
    inFlight: new Set(),
    renewals: new Set(),
    repeats: GatewaySlots.forRepeats(),
    sleep: (ms, signal) =>
      process.wait<void>((arrive) => {
        if (signal?.aborted) return arrive();
        stage.timeline.after(ms, () => arrive());
        signal?.addEventListener("abort", () => arrive());
      }),
  };
}

/** Time and ids of one run: the same for the same seed, and different from those of every other run. */
export function simulatedRuntime(run: { seed: number; epochMs: number; stage: Stage }): Runtime {
  let count = 0;
  const now = () => new Date(run.epochMs + run.stage.timeline.nowMs);
  return {
    now,
    randomBytes: (length) => Uint8Array.from({ length }, () => run.stage.dice.between(0, 255)),
    uuid: () => {
      const time = now().getTime().toString(16).padStart(12, "0");
      const unique = `${run.seed.toString(16).padStart(8, "0")}${(++count).toString(16).padStart(10, "0")}`;
      const groups = [
        time.slice(0, 8),
        time.slice(8),
        `7${unique.slice(0, 3)}`,
        `8${unique.slice(3, 6)}`,
        unique.slice(6),
      ];
      return groups.join("-");
    },
  };
}

/** A service continues without the names of partitions; a seed would then play other functions than an installation. */
function requireNames(database: Database): void {
  const ofAll = { name: "require_names", text: "SELECT FROM app.claim($1)", partitionKey: 1 };
  if (database.inPartitionOf("00000000-0000-7000-8000-000000000000", ofAll) === ofAll) {
    throw new Error("the functions of a partition are not known");
  }
}
