/** The settings of the dashboard's role, and the key file that only it reads. */
import { readFileSync } from "node:fs";
import { parseIdentityProviders } from "../accounts/identity-providers-file.ts";
import type { KeyRing } from "../platform/secrets.ts";
import { file, oneOf, optional, port, required, type Setting, withDefault } from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";
import { freshKey, parseSecretJson, type RingFile, ringOf } from "./server-keys.ts";

export type DashboardSettings = {
  readonly port: number;
  /** The dashboard's origin in browsers. */
  readonly origin: string;
  readonly sealing: KeyRing;
  /** True if only sign-ins with a second factor may act where live is concerned. */
  readonly requiresSecondFactor: boolean;
  /** Path of the file of identity providers, whose content is valid. */
  readonly identityProvidersFile: string | undefined;
};

type AccountsKeyFile = { sealing: RingFile };

export const dashboardSettings = {
  port: required("SWITCHYARD_DASHBOARD_PORT", {
    roles: ["dashboard"],
    kind: port,
    about: "where it listens",
    example: "8084",
  }),
  keysFile: required("SWITCHYARD_ACCOUNTS_KEYS_FILE", {
    roles: ["dashboard"],
    kind: file("the key file that `switchyard server-keys generate-accounts` wrote"),
    about: "written by `switchyard server-keys generate-accounts`",
    example: "/etc/switchyard/keys-accounts.json",
  }),
  secondFactor: withDefault("SWITCHYARD_DASHBOARD_LIVE_SECOND_FACTOR", "required", {
    roles: ["dashboard"],
    kind: oneOf("required", "optional"),
    about:
      "`required` or `optional`: whether a sign-in needs a second factor, an app's code or a passkey, for live and what it shares with test",
    example: "optional",
  }),
  identityProvidersFile: optional("SWITCHYARD_IDENTITY_PROVIDERS_FILE", {
    roles: ["dashboard"],
    kind: file("the file of identity providers"),
    about: "the companies' [identity providers](company-sign-in.md), by which their people sign in",
    example: "/etc/switchyard/identity-providers.json",
  }),
} as const;

/** Reads the settings; every mistake goes to the reader's problems. `origin` is optional for the other roles. */
export function readDashboardSettings(reader: SettingReader, origin: Setting<string | undefined>): DashboardSettings {
  return {
    port: reader.read(dashboardSettings.port),
    origin: reader.readNeeded(origin),
    sealing: reader.readFile(dashboardSettings.keysFile, parseAccountsKeyFile),
    requiresSecondFactor: reader.read(dashboardSettings.secondFactor) === "required",
    identityProvidersFile: readIdentityProvidersFile(reader),
  };
}

function readIdentityProvidersFile(reader: SettingReader): string | undefined {
  const { identityProvidersFile } = dashboardSettings;
  const path = reader.read(identityProvidersFile);
  if (path === undefined) return undefined;
  try {
    parseIdentityProviders(readFileSync(path, "utf8"));
  } catch (error) {
    reader.problem(`${identityProvidersFile.name}:`, error instanceof Error ? error.message : "it cannot be read");
  }
  return path;
}

/** Reads the dashboard's key file. Throws an Error that names the member and the rule, never a key. */
export function parseAccountsKeyFile(text: string): KeyRing {
  const file = parseSecretJson<AccountsKeyFile & { environment?: unknown }>(text);
  if (file.environment !== undefined) throw new Error("these are the keys of an environment, not of the accounts");
  return ringOf(file.sealing, "sealing");
}

export function generateAccountsKeyFile(): string {
  const kid = "sealing-accounts-1";
  const file: AccountsKeyFile = { sealing: { current: kid, keys: { [kid]: freshKey() } } };
  return `${JSON.stringify(file, null, 2)}\n`;
}
