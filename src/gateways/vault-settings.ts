/** Which card vault an environment uses and how it is reached, as an operator configures it. */
import { Secret } from "../platform/secrets.ts";
import type { SettingReader } from "../platform/setting-reader.ts";

/** An external vault of Hyperswitch's kind. */
export type SaasVaultSettings = {
  /** Where its API is called, without a slash at the end. */
  readonly apiBase: string;
  readonly apiKey: Secret;
  /** Goes to browsers, as the two below. */
  readonly publishableKey: string;
  readonly profileId: string;
  readonly sdkUrl: string;
  /** The vault's customer in whose name sessions are opened, where its version asks for one. */
  readonly customerId: string | undefined;
};

/** The vault of one environment. */
export type VaultSettings =
  | { readonly mode: "self_hosted"; readonly origin: string; readonly grpcAddress: string }
  | ({ readonly mode: "saas" } & SaasVaultSettings);

type EnvironmentName = "test" | "live";

/** Reads what the mode of this environment asks for, and notes what is set for the other mode. */
export function readVaultSettings(
  reader: SettingReader,
  { environment, apiOrigin }: { environment: EnvironmentName; apiOrigin: string },
): VaultSettings {
  const prefix = `SWITCHYARD_${environment.toUpperCase()}_VAULT`;
  const mode = reader.text(`${prefix}_MODE`, /^(self_hosted|saas)$/, "self_hosted or saas", "self_hosted");
  if (mode === "saas") return { mode, ...readSaas(reader, { environment, apiOrigin, prefix }) };
  for (const name of saasNames) {
    reader.text(`${prefix}_${name}`, /^$/, `left out unless ${prefix}_MODE is saas`, "");
  }
  return {
    mode: "self_hosted",
    origin: reader.origin("SWITCHYARD_VAULT_ORIGIN"),
    grpcAddress: reader.text("SWITCHYARD_VAULT_GRPC_ADDRESS", /^[\w.[\]:-]+:\d+$/, "host:port of the vault's gRPC"),
  };
}

const saasNames = ["API_BASE", "API_KEY", "PUBLISHABLE_KEY", "PROFILE_ID", "SDK_URL", "CUSTOMER_ID"] as const;

// The vault's keys name its own environment: dev, snd or prd
// (https://github.com/juspay/hyperswitch, crates/router_env/src/env.rs, prefix_for_env; 2026).
const otherSide: Readonly<Record<EnvironmentName, RegExp>> = {
  test: /^(pk_)?prd_/,
  live: /^(pk_)?(dev|snd)_/,
};

function readSaas(
  reader: SettingReader,
  { environment, apiOrigin, prefix }: { environment: EnvironmentName; apiOrigin: string; prefix: string },
): SaasVaultSettings {
  const isOurs = (text: string) => !otherSide[environment].test(text);
  const address = (text: string) => isAddress(text, environment);
  const apiKey = (text: string) => /^[\x21-\x7e]{8,256}$/.test(text) && !text.startsWith("pk_") && isOurs(text);
  const https = environment === "test" ? "https (http on this machine only)" : "https";
  return {
    apiBase: reader.text(
      `${prefix}_API_BASE`,
      { test: (text) => address(text) && !text.endsWith("/") },
      `the address of the vault's API, ${https}, without a slash at the end`,
    ),
    apiKey: new Secret(
      reader.text(`${prefix}_API_KEY`, { test: apiKey }, `the vault's secret API key for ${environment}, no pk_ key`),
    ),
    publishableKey: reader.text(
      `${prefix}_PUBLISHABLE_KEY`,
      { test: (text) => /^pk_\w{1,200}$/.test(text) && isOurs(text) },
      `the vault's publishable key for ${environment}, which begins with pk_`,
    ),
    profileId: reader.text(`${prefix}_PROFILE_ID`, /^pro_\w{1,60}$/, "the vault's profile, which begins with pro_"),
    sdkUrl: reader.text(
      `${prefix}_SDK_URL`,
      { test: (text) => address(text) && !isOnOurHost(text, apiOrigin) },
      `the address of the vault's script, ${https}, and not on the host of SWITCHYARD_API_ORIGIN`,
    ),
    customerId: reader.text(`${prefix}_CUSTOMER_ID`, /^[\w-]{0,64}$/, "a customer id of the vault", "") || undefined,
  };
}

function isAddress(text: string, environment: EnvironmentName): boolean {
  if (!URL.canParse(text) || /[\s?#]/.test(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isThisMachine = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isThisMachine && environment === "test")) return false;
  return username === "" && password === "";
}

/** Cookies know no ports, so the card needs a host of its own; on one machine there is only one, and a port has to do. */
function isOnOurHost(sdkUrl: string, apiOrigin: string): boolean {
  if (!URL.canParse(apiOrigin)) return false;
  const [theirs, own] = [new URL(sdkUrl), new URL(apiOrigin)];
  return theirs.origin === own.origin || (theirs.protocol === "https:" && theirs.hostname === own.hostname);
}
