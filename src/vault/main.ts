/** Starts the vault: the only place where a card number exists outside the browser and the gateways. */
import { platform } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { createClientAddressOf } from "../platform/client-address.ts";
import { runLoop } from "../platform/loop.ts";
import { Readiness } from "../platform/readiness.ts";
import { buildBrowserFiles } from "./browser-files.ts";
import { destinations } from "./destinations.ts";
import { expireOnce } from "./expire.ts";
import { GatewayCaller } from "./gateway-call.ts";
import { disableCoreDumps, refuseInspection } from "./hardening.ts";
import { listenHttp, listenHttp2 } from "./listeners.ts";
import { publicHandler } from "./public-http.ts";
import type { VaultConfig } from "./vault-config.ts";
import { sweepIntervalMs, sweepRowsMax } from "./vault-limits.ts";
import { vaultRpcHandler } from "./vault-rpc.ts";

/** A vault that is running. */
export type Vault = {
  readonly origins: {
    /** Where browsers find it. */
    readonly public: string;
    /** Where the core finds it: gRPC over HTTP/2, with TLS where it has certificates. */
    readonly grpc: string;
  };
  /** What /readyz of the public port answers. */
  readonly isReady: () => Promise<boolean>;
  /** Is not ready first, then stops listening and sweeping; the database stays open, as it was given. */
  close(): Promise<void>;
};

/** Listens once it returns. Throws when the process can be looked into, or the configuration would take real cards in test. */
export async function startVault(config: VaultConfig): Promise<Vault> {
  refuseInspection(config.nodeOptions);
  refuseUnsafe(config);
  await refuseCoreDumps(config);

  const files = await buildBrowserFiles();
  const clientAddressOf = createClientAddressOf(config.trustedProxies);
  const gatewayCaller = new GatewayCaller();
  const readiness = new Readiness(() =>
    config.database.query({ name: "ready", text: "SELECT 1" }, []).then(() => true),
  );
  const isReady = () => readiness.isReady();
  const grpc = await listenHttp2(config.grpcListen, {
    handle: vaultRpcHandler({ ...config, destinations, gatewayCaller }),
    tls: config.grpcTls,
  });
  const page = await listenHttp(config.publicListen, publicHandler({ ...config, files, clientAddressOf, isReady }));
  const sweeper = runLoop({
    name: "vault-sweeper",
    intervalMs: sweepIntervalMs,
    log: config.logger,
    watch: config.watch?.swept,
    turn: async () => (await expireOnce(config.database)) >= sweepRowsMax,
  });

  return {
    origins: { public: config.publicOrigin ?? page.origin, grpc: grpc.origin },
    isReady,
    async close() {
      readiness.drain();
      page.drain();
      await pause(config.drainNoticeMs ?? 0);
      await Promise.all([page.close(), grpc.close(), sweeper.close()]);
      await gatewayCaller.close();
    },
  };
}

/** Linux can say whether they are off, and then live asks for it; elsewhere whoever starts the vault has to know. */
async function refuseCoreDumps({ environments, logger }: VaultConfig): Promise<void> {
  if (await disableCoreDumps()) return;
  const mayHoldRealCards = environments.some(({ environment }) => environment === "live");
  if (mayHoldRealCards && platform() === "linux") {
    throw new Error("The live vault does not start while core dumps may be on: install prlimit, or use ulimit -Hc 0.");
  }
  logger.warn("core dumps may be on: start the vault with ulimit -c 0");
}

function refuseUnsafe({ environments }: VaultConfig): void {
  if (environments.length === 0) throw new Error("The vault needs at least one environment.");
  for (const { environment, testCards } of environments) {
    // A real card in test could be read by everybody who tests.
    if (environment === "test" && testCards === undefined)
      throw new Error("The test vault needs its list of test cards.");
    if (environment === "live" && testCards !== undefined)
      throw new Error("The live vault takes no list of test cards.");
  }
}
