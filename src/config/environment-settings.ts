/** The settings of each environment, and the functions that read them into one environment's configuration. */

import { readVaultSettings } from "../card-vault/vault-settings.ts";
import { cellsMax, firstCell } from "../platform/cells.ts";
import type { NatsLogin } from "../platform/nats.ts";
import { databaseUrl, file, optional, required, secretText, text, variableOf } from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";
import type { EnvironmentConfig, EnvironmentName } from "./checked-config.ts";
import { serviceRoles as roles } from "./every-role-settings.ts";
import { parseKeyFile } from "./server-keys.ts";

/** `{ENV}` in their names is TEST or LIVE. */
export const environmentSettings = {
  databaseUrl: required("SWITCHYARD_{ENV}_DATABASE_URL", {
    roles,
    kind: databaseUrl,
    about: "the environment's database",
    example: "postgres://live:…@db/live?sslmode=verify-full",
  }),
  databaseReadUrl: optional("SWITCHYARD_{ENV}_DATABASE_READ_URL", {
    roles,
    kind: databaseUrl,
    about: "a read replica of it, for lists and analytics; without it they read the database itself",
    example: "postgres://live:…@db-replica/live?sslmode=verify-full",
  }),
  keysFile: required("SWITCHYARD_{ENV}_KEYS_FILE", {
    roles,
    kind: file("the key file that `switchyard server-keys generate` wrote"),
    about: "written by `switchyard server-keys generate`",
    example: "/etc/switchyard/keys-live.json",
  }),
  natsServers: required("SWITCHYARD_{ENV}_NATS_SERVERS", {
    roles,
    kind: text(/^[\w.:,/[\]-]+$/, "host:port of NATS, with commas between several"),
    about: "host:port, with commas between several",
    example: "nats-1:4222,nats-2:4222,nats-3:4222",
  }),
  natsUser: required("SWITCHYARD_{ENV}_NATS_USER", {
    roles,
    kind: text(/./, "the user of this environment's NATS account"),
    about: "the user of the environment's NATS account",
    example: "live",
  }),
  natsPassword: required("SWITCHYARD_{ENV}_NATS_PASSWORD", {
    roles,
    kind: secretText(/./, "the password of this environment's NATS account"),
    about: "that user's password",
    example: "…",
  }),
  natsTlsCa: optional("SWITCHYARD_{ENV}_NATS_TLS_CA_FILE", {
    roles,
    kind: file("the file of the authority's certificate in PEM"),
    about: "the authority that issued the certificate of NATS, in PEM; with it TLS is required",
    example: "/etc/switchyard/nats-ca.crt",
  }),
  natsTlsCert: optional("SWITCHYARD_{ENV}_NATS_TLS_CERT_FILE", {
    roles,
    kind: file("the file of our certificate for NATS in PEM"),
    about: "client certificate, if NATS requires one; needs the authority",
    example: "/etc/switchyard/nats-client.crt",
  }),
  natsTlsKey: optional("SWITCHYARD_{ENV}_NATS_TLS_KEY_FILE", {
    roles,
    kind: file("the file of that certificate's key in PEM"),
    about: "its key; needed with the certificate",
    example: "/etc/switchyard/nats-client.key",
  }),
} as const;

/** The databases of further cells. `{N}` in their names is the cell's number. */
export const cellSettings = {
  databaseUrl: optional("SWITCHYARD_{ENV}_CELL_{N}_DATABASE_URL", {
    roles,
    kind: databaseUrl,
    about: `the database of a further cell; \`{N}\` is its number, 2 to ${cellsMax}`,
    example: "postgres://live:…@db-2/live?sslmode=verify-full",
  }),
  databaseReadUrl: optional("SWITCHYARD_{ENV}_CELL_{N}_DATABASE_READ_URL", {
    roles,
    kind: databaseUrl,
    about: "a read replica of that cell's database",
    example: "postgres://live:…@db-2-replica/live?sslmode=verify-full",
  }),
} as const;

export function databaseVariablesOf({ name: environment, cell }: Pick<EnvironmentConfig, "name" | "cell">) {
  const { databaseUrl, databaseReadUrl } = cell === firstCell ? environmentSettings : cellSettings;
  const scope = { environment, cell };
  return {
    url: variableOf(databaseUrl, scope),
    readUrl: variableOf(databaseReadUrl, scope),
  };
}

export const furtherCells: readonly number[] = Array.from({ length: cellsMax - firstCell }, (_, index) => index + 2);

/** Reads the configuration of one environment: its first cell, then the further ones, which share all but the database. */
export function readEnvironment(
  reader: SettingReader,
  { name: environment, apiOrigin }: { name: EnvironmentName; apiOrigin: string },
): EnvironmentConfig[] {
  const settings = environmentSettings;
  const shared = {
    name: environment,
    nats: readNats(reader, environment),
    keys: reader.readFile(settings.keysFile, (text) => parseKeyFile(text, environment), { environment }),
    vault: readVaultSettings(reader, { environment, apiOrigin }),
  };
  const first = {
    ...shared,
    cell: firstCell,
    databaseUrl: reader.read(settings.databaseUrl, { environment }),
    databaseReadUrl: reader.read(settings.databaseReadUrl, { environment }),
  };
  return [first, ...furtherCells.flatMap((cell) => readCell(reader, { environment, cell }, shared))];
}

function readCell(
  reader: SettingReader,
  scope: { environment: EnvironmentName; cell: number },
  shared: Pick<EnvironmentConfig, "name" | "nats" | "keys" | "vault">,
): EnvironmentConfig[] {
  if (!Object.values(cellSettings).some((setting) => reader.isSet(setting, scope))) return [];
  return [
    {
      ...shared,
      cell: scope.cell,
      databaseUrl: reader.readNeeded(cellSettings.databaseUrl, scope),
      databaseReadUrl: reader.read(cellSettings.databaseReadUrl, scope),
    },
  ];
}

function readNats(reader: SettingReader, environment: EnvironmentName): NatsLogin {
  const { natsServers, natsUser, natsPassword, natsTlsCa, natsTlsCert, natsTlsKey } = environmentSettings;
  const scope = { environment };
  const files = [natsTlsCa, natsTlsCert, natsTlsKey];
  const isOwnCertificate = [natsTlsCert, natsTlsKey].some((setting) => reader.isSet(setting, scope));
  const tls = files.some((setting) => reader.isSet(setting, scope)) && {
    caFile: reader.readNeeded(natsTlsCa, scope),
    ...(isOwnCertificate && {
      certFile: reader.readNeeded(natsTlsCert, scope),
      keyFile: reader.readNeeded(natsTlsKey, scope),
    }),
  };
  reader.keepPrivate(natsTlsKey, scope);
  return {
    servers: reader.read(natsServers, scope),
    user: reader.read(natsUser, scope),
    pass: reader.read(natsPassword, scope)?.expose(),
    ...(tls && { tls }),
  };
}
