/** Starts the roles that one process was asked for, from its environment variables. */
import { openInstallation, type Running, startEdge, startWorker } from "./app.ts";
import { type Config, type Role, readConfig, type VaultRoleConfig } from "./config.ts";
import { openDatabase } from "./environment.ts";
import { adyenTestNumbers } from "./gateways/adyen/stand-in-cards.ts";
import { paypalTestNumbers } from "./gateways/paypal/stand-in-cards.ts";
import { startSandbox } from "./gateways/sandbox/main.ts";
import { testCards } from "./gateways/sandbox/test-cards.ts";
import { stripeTestNumbers } from "./gateways/stripe/stand-in-cards.ts";
import { createLogger, type Logger } from "./platform/log.ts";
import { startDashboard } from "./start-dashboard.ts";
import { startVault } from "./vault/main.ts";

/** Resolves when every role accepts work. Closing stops them in the reverse order of their start. */
export async function serve(roles: readonly Role[]): Promise<Running> {
  const config = readConfig(roles);
  const log = createLogger({ name: roles.join("+"), level: config.logLevel });
  const started: Running[] = [];
  if (config.sandbox) started.push(await startSandbox(config.sandbox));
  if (config.vault) started.push(await startVaultRole(config.vault, config, log));
  if (config.service) {
    const installation = await openInstallation({ ...config, service: config.service }, log);
    started.push(installation);
    const sides: Running[] = [];
    if (roles.includes("edge")) sides.push(await startEdge(installation));
    if (config.dashboard) sides.push(await startDashboard(installation, config.dashboard));
    if (roles.includes("worker")) sides.push(await startWorker(installation));
    // At once: balancers are to learn first of all that the edge stops.
    started.push({ close: async () => void (await Promise.all(sides.map((side) => side.close()))) });
  }
  return {
    async close() {
      for (const running of started.toReversed()) await running.close();
    },
  };
}

/** Our own test cards, and those of the gateways that can be connected with test credentials. */
const testNumbers: ReadonlySet<string> = new Set([
  ...testCards.map((card) => card.number),
  ...stripeTestNumbers,
  ...adyenTestNumbers,
  ...paypalTestNumbers,
]);

async function startVaultRole(vault: VaultRoleConfig, config: Config, logger: Logger): Promise<Running> {
  const { orm, database } = await openDatabase(vault.databaseUrl, []);
  const keys = vault.environments.flatMap(({ name, verification }) =>
    verification.map((key) => ({ environment: name, ...key })),
  );
  const running = await startVault({
    publicListen: { host: vault.host, port: vault.publicPort },
    publicOrigin: vault.publicOrigin,
    grpcListen: { host: vault.host, port: vault.grpcPort },
    database,
    logger,
    environments: vault.environments.map(({ name, ring }) => ({
      environment: name,
      ring,
      testCards: name === "test" ? testNumbers : undefined,
    })),
    grantKeys: keys,
    serviceTokenKeys: keys,
    trustedProxies: config.trustedProxies,
    sandboxHosts: vault.standInHosts,
    errorsUrl: config.errorDocsUrl,
    nodeOptions: vault.nodeOptions,
  });
  return {
    async close() {
      await running.close();
      await orm.close(true);
    },
  };
}
