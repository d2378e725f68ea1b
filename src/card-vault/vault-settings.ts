/** Settings of an environment's card vault: its kind and how it is reached. */
import { Secret } from "../platform/secrets.ts";
import {
  file,
  oneOf,
  optional,
  origin,
  required,
  type SettingScope,
  text,
  variableOf,
  withDefault,
} from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";

export type SaasVaultSettings = {
  /** Address of its API, without a slash at the end. */
  readonly apiBase: string;
  readonly apiKey: Secret;
  /** This setting and the next two are sent to browsers. */
  readonly publishableKey: string;
  readonly profileId: string;
  readonly sdkUrl: string;
  /** The vault's customer in whose name sessions are opened, if its version requires one. */
  readonly customerId: string | undefined;
};

/** Paths of PEM files for calling our own vault over TLS; certificate and key are either both set or both absent. */
export type VaultTlsPaths = {
  /** The client talks only to a vault with a certificate of this authority for the host that it calls. */
  readonly caFile: string;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
};

export type VaultSettings =
  | {
      readonly mode: "self_hosted";
      readonly origin: string;
      readonly grpcAddress: string;
      /** Without these files the connection to the vault is not encrypted. */
      readonly grpcTls?: VaultTlsPaths | undefined;
    }
  | ({ readonly mode: "saas" } & SaasVaultSettings);

type EnvironmentName = "test" | "live";

const roles = ["edge", "worker", "dashboard"] as const;
const neededWith = "`saas`";

/** Settings of our own vault, the same for both environments; not required if both use an external one. */
export const ownVaultSettings = {
  origin: required("SWITCHYARD_VAULT_ORIGIN", {
    roles: [...roles, "vault"],
    kind: origin,
    about:
      "origin of the vault's public port as browsers see it; in live https, on another host than the API. Not required with `saas`",
    example: "https://cards.example.net",
  }),
  grpcAddress: required("SWITCHYARD_VAULT_GRPC_ADDRESS", {
    roles,
    kind: text(/^[\w.[\]:-]+:\d+$/, "host:port of the vault's gRPC"),
    about: "host:port of the vault's gRPC port. Not required with `saas`",
    example: "vault:8083",
  }),
  grpcTlsCa: optional("SWITCHYARD_VAULT_GRPC_TLS_CA_FILE", {
    roles,
    kind: file("the file of the authority's certificate in PEM"),
    about:
      "the authority that issued the certificate of the vault's gRPC port, in PEM; with it TLS is required. Required in live if the vault is on another machine",
    example: "/etc/switchyard/vault-ca.crt",
  }),
  grpcTlsClientCert: optional("SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE", {
    roles,
    kind: file("the file of our certificate for the vault in PEM"),
    about: "client certificate for the vault; needs the authority. Required in live if the vault is on another machine",
    example: "/etc/switchyard/vault-client.crt",
  }),
  grpcTlsClientKey: optional("SWITCHYARD_VAULT_GRPC_TLS_CLIENT_KEY_FILE", {
    roles,
    kind: file("the file of that certificate's key in PEM"),
    about: "its key; needed with the certificate",
    example: "/etc/switchyard/vault-client.key",
  }),
} as const;

export const vaultModeSetting = withDefault("SWITCHYARD_{ENV}_VAULT_MODE", "self_hosted", {
  roles,
  kind: oneOf("self_hosted", "saas"),
  about: "`self_hosted`, or `saas` for an [external vault](vault.md)",
  example: "saas",
});

export const saasVaultSettings = {
  apiBase: optional("SWITCHYARD_{ENV}_VAULT_API_BASE", {
    roles,
    neededWith,
    kind: {
      rule: (scope) => `the address of the vault's API, ${httpsRule(scope)}, without a slash at the end`,
      parse: (given, scope) => (isAddress(given, scope) && !given.endsWith("/") ? given : undefined),
    },
    about: "address of the external vault's API",
    example: "https://vault.example.net",
  }),
  apiKey: optional("SWITCHYARD_{ENV}_VAULT_API_KEY", {
    roles,
    neededWith,
    kind: {
      isSecret: true,
      rule: ({ environment }) => `the vault's secret API key for ${environment}, no pk_ key`,
      parse: (given, scope) => (isApiKey(given) && isOurs(given, scope) ? new Secret(given) : undefined),
    },
    about: "its secret API key",
    example: "prd_…",
  }),
  publishableKey: optional("SWITCHYARD_{ENV}_VAULT_PUBLISHABLE_KEY", {
    roles,
    neededWith,
    kind: {
      rule: ({ environment }) => `the vault's publishable key for ${environment}, which begins with pk_`,
      parse: (given, scope) => (/^pk_\w{1,200}$/.test(given) && isOurs(given, scope) ? given : undefined),
    },
    about: "its publishable key, `pk_…`",
    example: "pk_prd_0123456789abcdef",
  }),
  profileId: optional("SWITCHYARD_{ENV}_VAULT_PROFILE_ID", {
    roles,
    neededWith,
    kind: text(/^pro_\w{1,60}$/, "the vault's profile, which begins with pro_"),
    about: "its profile, `pro_…`",
    example: "pro_0123456789",
  }),
  sdkUrl: optional("SWITCHYARD_{ENV}_VAULT_SDK_URL", {
    roles,
    neededWith,
    kind: {
      rule: (scope) =>
        `the address of the vault's script, ${httpsRule(scope)}, and not on the host of SWITCHYARD_API_ORIGIN`,
      parse: (given, scope) => (isAddress(given, scope) && !isOnOurHost(given, scope) ? given : undefined),
    },
    about: "its script, which pages load",
    example: "https://js.vault.example.net/v1/card.js",
  }),
  customerId: optional("SWITCHYARD_{ENV}_VAULT_CUSTOMER_ID", {
    roles,
    kind: text(/^[\w-]{0,64}$/, "a customer id of the vault"),
    about: "its customer in whose name sessions are opened, if its version requires one",
    example: "cus_0123456789",
  }),
} as const;

export function readVaultSettings(reader: SettingReader, scope: VaultScope): VaultSettings {
  const mode = reader.read(vaultModeSetting, scope);
  if (mode === "saas") return { mode, ...readSaas(reader, scope) };
  for (const setting of Object.values(saasVaultSettings)) {
    reader.leaveOut(setting, `unless ${variableOf(vaultModeSetting, scope)} is saas`, scope);
  }
  return {
    mode: "self_hosted",
    origin: reader.read(ownVaultSettings.origin),
    grpcAddress: reader.read(ownVaultSettings.grpcAddress),
    grpcTls: readVaultTls(reader),
  };
}

function readVaultTls(reader: SettingReader): VaultTlsPaths | undefined {
  const { grpcTlsCa, grpcTlsClientCert, grpcTlsClientKey } = ownVaultSettings;
  const own = [grpcTlsClientCert, grpcTlsClientKey];
  if (![grpcTlsCa, ...own].some((setting) => reader.isSet(setting))) return undefined;
  reader.keepPrivate(grpcTlsClientKey);
  return {
    caFile: reader.readNeeded(grpcTlsCa),
    ...(own.some((setting) => reader.isSet(setting)) && {
      certFile: reader.readNeeded(grpcTlsClientCert),
      keyFile: reader.readNeeded(grpcTlsClientKey),
    }),
  };
}

type VaultScope = { readonly environment: EnvironmentName; readonly apiOrigin: string };

function readSaas(reader: SettingReader, scope: VaultScope): SaasVaultSettings {
  const { apiBase, apiKey, publishableKey, profileId, sdkUrl, customerId } = saasVaultSettings;
  return {
    apiBase: reader.readNeeded(apiBase, scope),
    apiKey: reader.readNeeded(apiKey, scope),
    publishableKey: reader.readNeeded(publishableKey, scope),
    profileId: reader.readNeeded(profileId, scope),
    sdkUrl: reader.readNeeded(sdkUrl, scope),
    customerId: reader.read(customerId, scope) || undefined,
  };
}

// The vault's keys name its own environment: dev, snd or prd
// (https://github.com/juspay/hyperswitch, crates/router_env/src/env.rs, prefix_for_env; 2026).
const otherSide: Readonly<Record<EnvironmentName, RegExp>> = {
  test: /^(pk_)?prd_/,
  live: /^(pk_)?(dev|snd)_/,
};

function isOurs(key: string, { environment = "test" }: SettingScope): boolean {
  return !otherSide[environment].test(key);
}

function isApiKey(key: string): boolean {
  return /^[\x21-\x7e]{8,256}$/.test(key) && !key.startsWith("pk_");
}

function httpsRule({ environment }: SettingScope): string {
  return environment === "test" ? "https (http on this machine only)" : "https";
}

function isAddress(text: string, { environment }: SettingScope): boolean {
  if (!URL.canParse(text) || /[\s?#]/.test(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isThisMachine = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isThisMachine && environment === "test")) return false;
  return username === "" && password === "";
}

/**
 * Cookies ignore ports, so the vault needs a different host; on one machine there is only one host, and another port
 * suffices.
 */
function isOnOurHost(sdkUrl: string, { apiOrigin }: SettingScope): boolean {
  if (apiOrigin === undefined || !URL.canParse(apiOrigin)) return false;
  const [theirs, own] = [new URL(sdkUrl), new URL(apiOrigin)];
  return theirs.origin === own.origin || (theirs.protocol === "https:" && theirs.hostname === own.hostname);
}
