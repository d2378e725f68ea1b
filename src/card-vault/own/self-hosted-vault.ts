/** The self-hosted vault as one environment's card vault: grants are signed here, cards are sent by its gRPC. */

import type { Logger } from "../../platform/log.ts";
import type { SigningKey } from "../../platform/service-token-signing.ts";
import type { Tracing } from "../../platform/telemetry.ts";
import type { CardVault, Forwarding } from "../card-vault.ts";
import { selfHostedVault } from "../vault-description.ts";
import type { VaultTlsPaths } from "../vault-settings.ts";
import { VaultClient } from "./vault-rpc.ts";

/**
 * The vault sends every row of its destination table, within the attempt's time: the delay that it adds is shorter than
 * the margin of our own timeout.
 */
export const selfHostedForwarding: Forwarding = {
  features: new Set(["form_body", "composed_value", "two_digit_year"]),
  lateMs: 0,
};

/** Opens the vault. No connection is made before its first use. Throws if files of `tls` cannot be used. */
export function openSelfHostedVault(options: {
  /** The origin that browsers use. */
  origin: string;
  /** `host:port` of its gRPC. */
  address: string;
  /** Without it the connection is not encrypted. */
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
    checkToken: (asked) => client.checkToken(asked),
    forget: (sessionId) => client.forget(sessionId),
    close: () => client.close(),
  };
}
