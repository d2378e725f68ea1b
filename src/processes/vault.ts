/** The vault in a process: its database, its keys, and the metrics of both. */

import type { Config, VaultRoleConfig } from "../config/checked-config.ts";
import { authenticationCards } from "../gateways/sandbox/authentication-cards.ts";
import { countedTestCards } from "../gateways/sandbox/plain-cards.ts";
import { providerCards } from "../gateways/sandbox/provider-cards.ts";
import { storedCards } from "../gateways/sandbox/stored-cards.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { walletPanCards } from "../gateways/sandbox/wallet-cards.ts";
import type { ProcessMetrics } from "../metrics/process-metrics.ts";
import { SchemaCheck } from "../migrations/schema-check.ts";
import type { Database } from "../platform/database.ts";
import type { Logger } from "../platform/log.ts";
import { logMissingLimits } from "../platform/session-limits.ts";
import type { Tracing } from "../platform/telemetry.ts";
import { TlsFiles } from "../platform/tls-files.ts";
import { adyenTestNumbers } from "../sandbox/adyen/emulator-cards.ts";
import { paypalSecureNumbers, paypalTestNumbers } from "../sandbox/paypal/emulator-cards.ts";
import { stripeTestNumbers } from "../sandbox/stripe/emulator-cards.ts";
import { countCards } from "../vault/card-store.ts";
import { startVault } from "../vault/main.ts";
import { vaultRoutes } from "../vault/public-http.ts";
import type { VaultObserver } from "../vault/vault-config.ts";
import { sweepIntervalMs } from "../vault/vault-limits.ts";
import type { Running } from "./installation.ts";
import { openDatabase } from "./open-database.ts";

/** Our own test cards, and those of gateways that can be connected with test credentials. */
const testNumbers: ReadonlySet<string> = new Set([
  ...[...testCards, ...authenticationCards, ...providerCards, ...storedCards, ...walletPanCards].map(
    (card) => card.number,
  ),
  ...stripeTestNumbers,
  ...adyenTestNumbers,
  ...paypalTestNumbers,
  ...paypalSecureNumbers,
]);

export async function startVaultRole(
  vault: VaultRoleConfig,
  config: Config,
  { log: logger, metrics, tracing }: { log: Logger; metrics: ProcessMetrics; tracing: Tracing },
): Promise<Running> {
  const { database, close } = openDatabase(vault.databaseUrl, config.database);
  void logMissingLimits(database, logger);
  await new SchemaCheck([{ name: "the vault", kind: "vault", database }])
    .begin(logger)
    .catch(async (error: unknown) => {
      await close();
      throw error;
    });
  const keys = vault.environments.flatMap(({ name, verification }) =>
    verification.map((key) => ({ environment: name, ...key })),
  );
  const onBroken = (error: unknown) => logger.error({ err: error }, "changed certificate files are not used");
  const grpcTls = vault.grpcTls && new TlsFiles(vault.grpcTls, { onBroken });
  if (grpcTls) metrics.showCertificate("vault", grpcTls);
  const running = await startVault({
    publicListen: { host: vault.host, port: vault.publicPort },
    publicOrigin: vault.publicOrigin,
    grpcListen: { host: vault.host, port: vault.grpcPort },
    grpcTls,
    database,
    logger,
    environments: vault.environments.map(
      ({ name, ring, cardToken, fingerprint, storeRing, walletRing, walletTestRoots }) => ({
        environment: name,
        ring,
        cardToken,
        fingerprint,
        storeRing,
        walletRing,
        walletTestRoots,
        countedCards: name === "test" ? countedTestCards : undefined,
        ...(name === "test" || vault.emulatorHosts.live.length > 0
          ? { testCards: testNumbers, sandboxHosts: vault.emulatorHosts[name] }
          : {}),
      }),
    ),
    grantKeys: keys,
    serviceTokenKeys: keys,
    trustedProxies: config.trustedProxies,
    errorsUrl: config.errorDocsUrl,
    nodeOptions: vault.nodeOptions,
    observer: observeVault(vault, database, metrics),
    shutdownGraceMs: vault.shutdownGraceMs,
    tracing,
  });
  metrics.showPort("vault", running);
  return {
    async close() {
      await running.close();
      await close();
    },
  };
}

function observeVault({ environments }: VaultRoleConfig, database: Database, metrics: ProcessMetrics): VaultObserver {
  const { vault } = metrics;
  const names = environments.map(({ name }) => name);
  vault.begin(names);
  metrics.showDatabase("vault", database);
  metrics.beforeScrape("vault_cards", {
    async work() {
      const counts = await countCards(database);
      for (const name of names) vault.setHeld(name, counts.get(name) ?? 0);
    },
    forget: vault.forgetHeld,
  });
  return {
    requests: metrics.meterOf("vault", vaultRoutes),
    tokenized: vault.tokenized,
    walletToken: vault.walletToken,
    forwarded: vault.forwarded,
    swept: metrics.observeLoop("vault", "vault-sweeper", sweepIntervalMs),
  };
}
