/** Starts the vault: the only component that sees a card number besides the browser and the gateways. */
import { platform } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { createCountedClientOf, createForwardingOf } from "../platform/client-address.ts";
import { isDatabaseDown } from "../platform/database.ts";
import { runLoop } from "../platform/loop.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { Readiness } from "../platform/readiness.ts";
import { buildBrowserFiles } from "./browser-files.ts";
import { CallCounts } from "./call-counts.ts";
import { expireOnce } from "./card-store.ts";
import { Copies } from "./copies.ts";
import { destinations } from "./destinations.ts";
import { disableCoreDumps, refuseInspection } from "./hardening.ts";
import { listenHttp, listenHttp2 } from "./listeners.ts";
import { publicHandler } from "./public-http.ts";
import { requireStoreKeys } from "./stored-cards.ts";
import type { VaultConfig } from "./vault-config.ts";
import { answerBytesMax, connectTimeoutMs, sweepIntervalMs, sweepRowsMax } from "./vault-limits.ts";
import { vaultRpcHandler } from "./vault-rpc.ts";

export type Vault = {
  readonly origins: {
    /** The address for browsers. */
    readonly public: string;
    /** The address for the core: gRPC over HTTP/2, with TLS if it has certificates. */
    readonly grpc: string;
  };
  /** The answer of /readyz on the public port. */
  readonly isReady: () => Promise<boolean>;
  /** Reports not ready first, then stops listening and sweeping; the database stays open, since its owner closes it. */
  close(): Promise<void>;
};

/**
 * Starts the vault, which listens once this returns. Throws if the process can be inspected, if the configuration would
 * accept real cards in test, or if it lacks the key of a stored card.
 */
export async function startVault(config: VaultConfig): Promise<Vault> {
  refuseInspection(config.nodeOptions);
  refuseUnsafe(config);
  await refuseCoreDumps(config);
  await refuseMissingKeys(config);
  await prepareWallets(config);

  const files = await buildBrowserFiles();
  const clientOf = createCountedClientOf(config.trustedProxies);
  const forwardingOf = createForwardingOf(config.trustedProxies);
  const http = new GatewayHttp({
    answerBytesMax,
    connectTimeoutMs,
    refusesCompressed: true,
    lateFailureTimesOut: true,
  });
  const readiness = new Readiness(() =>
    config.database.query({ name: "ready", text: "SELECT 1" }, []).then(() => true),
  );
  const isReady = () => readiness.isReady();
  const grpc = await listenHttp2(config.grpcListen, {
    handle: vaultRpcHandler({ ...config, destinations, http }),
    tls: config.grpcTls,
  });
  const copies = new Copies(config.database);
  const callCounts = new CallCounts(() => copies.count);
  const parts = { ...config, files, callCounts, clientOf, forwardingOf, isReady, http };
  const page = await listenHttp(config.publicListen, publicHandler(parts));
  const sweeper = runLoop({
    name: "vault-sweeper",
    intervalMs: sweepIntervalMs,
    log: config.logger,
    observer: config.observer?.swept,
    async turn() {
      await copies.report();
      return (await expireOnce(config.database)) >= sweepRowsMax;
    },
  });

  return {
    origins: { public: config.publicOrigin ?? page.origin, grpc: grpc.origin },
    isReady,
    async close() {
      readiness.drain();
      page.drain();
      await pause(config.shutdownGraceMs ?? 0);
      await Promise.all([page.close(), grpc.close(), sweeper.close()]);
      await copies.leave().catch(() => {});
      await http.close();
    },
  };
}

/**
 * Refuses to start live on Linux unless core dumps are off; elsewhere this cannot be checked, and the operator is
 * responsible.
 */
async function refuseCoreDumps({ environments, logger }: VaultConfig): Promise<void> {
  if (await disableCoreDumps()) return;
  const mayHoldRealCards = environments.some(({ environment }) => environment === "live");
  if (mayHoldRealCards && platform() === "linux") {
    throw new Error("The live vault does not start while core dumps may be on: install prlimit, or use ulimit -Hc 0.");
  }
  logger.warn("core dumps may be on: start the vault with ulimit -c 0");
}

/** A database that does not answer yet has no card opened either, so it does not keep the vault from starting. */
async function refuseMissingKeys({ database, environments, logger }: VaultConfig): Promise<void> {
  await requireStoreKeys(database, environments).catch((error: unknown) => {
    if (!isDatabaseDown(error)) throw error;
    logger.warn({ err: error }, "the database did not answer: whether it names a missing key is not known");
  });
}

/**
 * Loads what opens wallets' tokens where one may arrive. A key that is missing from the file keeps no card from being paid:
 * it is logged, and its wallet is unavailable.
 */
async function prepareWallets({ database, environments, logger }: VaultConfig): Promise<void> {
  try {
    const { anyWalletKey, missingWalletSealingKeys } = await import("./wallets/wallet-keys.ts");
    if (!(await anyWalletKey(database))) return;
    for (const missing of await missingWalletSealingKeys(database, environments)) {
      logger.error({ problem: missing }, "a key that seals the keys of wallets is missing: they cannot be used");
    }
    await import("./wallets/wallet-tokens.ts");
  } catch (error) {
    if (!isDatabaseDown(error)) throw error;
    logger.warn({ err: error }, "the database did not answer: wallets are loaded by the first token");
  }
}

function refuseUnsafe({ environments }: VaultConfig): void {
  if (environments.length === 0) throw new Error("The vault needs at least one environment.");
  for (const { environment, testCards, walletTestRoots, sandboxHosts = [] } of environments) {
    if (environment === "live" && walletTestRoots !== undefined)
      throw new Error("The live vault does not start with test roots of wallets.");
    // Everyone who tests could read a real card in test.
    if (environment === "test" && testCards === undefined)
      throw new Error("The test vault needs its list of test cards.");
    // An emulator must never get a real card.
    if (environment === "live" && (testCards === undefined) !== (sandboxHosts.length === 0))
      throw new Error("The live vault has a list of test cards with emulators of gateways, and only then.");
  }
}
