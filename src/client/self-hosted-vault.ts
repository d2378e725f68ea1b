/** The vault that we run ourselves, as one environment's card vault: grants are signed here, cards go by its gRPC. */
import type { CardVault, Forwarding } from "../gateways/card-vault.ts";
import { selfHostedVault } from "../gateways/vault-description.ts";
import type { VaultTlsPaths } from "../gateways/vault-settings.ts";
import type { Logger } from "../platform/log.ts";
import type { SigningKey } from "../platform/service-token-signing.ts";
import type { Tracing } from "../platform/telemetry.ts";
import { VaultClient } from "./vault-rpc.ts";

/** It sends whatever its destination table has, within the attempt's time: what it adds is less than our own timeout again. */
export const selfHostedForwarding: Forwarding = {
  features: new Set(["form_body", "composed_value", "two_digit_year"]),
  lateMs: 0,
};

/** Opens it. No connection is made before it is used. Throws when files of `tls` cannot be used. */
export function openSelfHostedVault(options: {
  /** As browsers see it. */
  origin: string;
  /** `host:port` of its gRPC. */
  address: string;
  /** Without it everything is said in the clear. */
  tls?: VaultTlsPaths | undefined;
  signing: SigningKey;
  log: Logger;
  tracing?: Tracing | undefined;
}): CardVault {
  const { origin, address, tls, signing, log, tracing } = options;
  const client = new VaultClient({ address, tls, signing, log, tracing });
  return {
    origin,
    forwarding: selfHostedForwarding,
    describesByCall: false,
    describe: selfHostedVault({ signing, vaultOrigin: origin }),
    forward: (request) => client.forward(request),
    forget: (sessionId) => client.forget(sessionId),
    close: () => client.close(),
  };
}
