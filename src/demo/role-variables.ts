/** The configuration of roles on one machine: databases, NATS, keys and addresses. */
import { join } from "node:path";
import type { NatsLogin } from "../platform/nats.ts";
import { type DemoDatabases, prepareKeyFiles } from "./databases.ts";
import type { DemoAddresses } from "./ports.ts";

export type ServerLogins = {
  readonly databases: DemoDatabases;
  readonly nats: Readonly<Record<"test" | "live", NatsLogin>>;
};

/** Returns the variables that a role reads, under the same names as in any installation (src/config/config.ts). */
export function roleVariables(
  stateFolder: string,
  addresses: DemoAddresses,
  servers: ServerLogins,
): Record<string, string> {
  const keys = prepareKeyFiles(stateFolder);
  const { ports } = addresses;
  const perEnvironment = (["test", "live"] as const).flatMap((name): [string, string][] => {
    const prefix = `SWITCHYARD_${name.toUpperCase()}`;
    return [
      [`${prefix}_DATABASE_URL`, servers.databases[name]],
      [`${prefix}_KEYS_FILE`, keys[name].service],
      [`${prefix}_VAULT_KEYS_FILE`, keys[name].vault],
      [`${prefix}_NATS_SERVERS`, servers.nats[name].servers],
      [`${prefix}_NATS_USER`, servers.nats[name].user],
      [`${prefix}_NATS_PASSWORD`, servers.nats[name].pass],
      ...tlsVariables(prefix, servers.nats[name].tls),
    ];
  });
  const emulators = ["STRIPE", "ADYEN", "PAYPAL"].map((gateway) => `${gateway}=${addresses.sandboxOrigin}`).join();
  return {
    ...Object.fromEntries(perEnvironment),
    SWITCHYARD_ENVIRONMENTS: "test,live",
    SWITCHYARD_TRUSTED_PROXIES: "none",
    SWITCHYARD_ACCOUNTS_DATABASE_URL: servers.databases.accounts,
    SWITCHYARD_VAULT_DATABASE_URL: servers.databases.vault,
    SWITCHYARD_PUBLIC_PORT: String(ports.public),
    SWITCHYARD_GRPC_PORT: String(ports.grpc),
    SWITCHYARD_SERVICES_FILE: keys.services,
    // For trying it out: readable schemas, and no wait at the end.
    SWITCHYARD_GRPC_REFLECTION: "on",
    SWITCHYARD_SHUTDOWN_GRACE_MS: "0",
    SWITCHYARD_DASHBOARD_PORT: String(ports.dashboard),
    // The demo has no real data: its member signs in with the printed password alone.
    SWITCHYARD_DASHBOARD_LIVE_SECOND_FACTOR: "optional",
    SWITCHYARD_DASHBOARD_ORIGIN: addresses.dashboardOrigin,
    SWITCHYARD_ACCOUNTS_KEYS_FILE: keys.accounts,
    SWITCHYARD_VAULT_PORT: String(ports.vault),
    SWITCHYARD_VAULT_GRPC_PORT: String(ports.vaultGrpc),
    SWITCHYARD_SANDBOX_PORT: String(ports.sandbox),
    SWITCHYARD_SANDBOX_RECORDS_FILE: join(stateFolder, "sandbox.sqlite"),
    // Two minutes, so that a payout can be seen at once.
    SWITCHYARD_SANDBOX_PAYOUT_SECONDS: "120",
    SWITCHYARD_API_ORIGIN: addresses.apiOrigin,
    SWITCHYARD_VAULT_ORIGIN: addresses.vaultOrigin,
    SWITCHYARD_VAULT_GRPC_ADDRESS: addresses.vaultGrpcAddress,
    SWITCHYARD_SANDBOX_ORIGIN: addresses.sandboxOrigin,
    SWITCHYARD_TEST_GATEWAY_ORIGINS: emulators,
    SWITCHYARD_LIVE_GATEWAY_ORIGINS: emulators,
    SWITCHYARD_ERROR_DOCS_URL: `${addresses.apiOrigin}/docs/errors`,
    SWITCHYARD_LOOPBACK_WEBHOOKS: "yes",
  };
}

function tlsVariables(prefix: string, tls: NatsLogin["tls"]): [string, string][] {
  const files = [
    [`${prefix}_NATS_TLS_CA_FILE`, tls?.caFile],
    [`${prefix}_NATS_TLS_CERT_FILE`, tls?.certFile],
    [`${prefix}_NATS_TLS_KEY_FILE`, tls?.keyFile],
  ] as const;
  return files.flatMap(([variable, file]) => (file === undefined ? [] : [[variable, file]]));
}
