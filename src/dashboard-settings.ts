/** The settings of the dashboard's role, and the key file that it alone reads. */
import { readFileSync } from "node:fs";
import type { KeyRing } from "./platform/secrets.ts";
import type { SettingReader } from "./platform/setting-reader.ts";
import { freshKey, type RingFile, ringOf } from "./server-keys.ts";

/** Where the dashboard is, and what it seals with. */
export type DashboardSettings = {
  readonly port: number;
  /** As browsers see it. */
  readonly origin: string;
  /** Seals what members' authenticator apps share with us. */
  readonly sealing: KeyRing;
};

type AccountsKeyFile = { sealing: RingFile };

/** Reads them; every mistake goes to the reader's problems. */
export function readDashboardSettings(reader: SettingReader): DashboardSettings {
  return {
    port: reader.port("SWITCHYARD_DASHBOARD_PORT"),
    origin: reader.origin("SWITCHYARD_DASHBOARD_ORIGIN"),
    sealing: readSealing(reader),
  };
}

function readSealing(reader: SettingReader): KeyRing {
  const variable = "SWITCHYARD_ACCOUNTS_KEYS_FILE";
  const file = reader.text(variable, /./, "the key file that `switchyard server-keys generate-accounts` wrote");
  try {
    return ringOf((JSON.parse(readFileSync(file, "utf8")) as AccountsKeyFile).sealing, "sealing");
  } catch (error) {
    reader.problems.push(`- ${variable}: ${error instanceof Error ? error.message : "cannot be read"}`);
    return undefined as never;
  }
}

/** The text of a new key file. */
export function generateAccountsKeyFile(): string {
  const kid = "sealing-accounts-1";
  const file: AccountsKeyFile = { sealing: { current: kid, keys: { [kid]: freshKey() } } };
  return `${JSON.stringify(file, null, 2)}\n`;
}
