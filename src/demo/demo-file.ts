/**
 * `.switchyard/demo.json`: the addresses and secrets of a running demo, for programs that attach to it and for later
 * starts.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestCard } from "../shop/test-card-list.ts";

export type DemoCredentials = {
  readonly secretKey: string;
  readonly publishableKey: string;
  readonly signingSecret: string;
};

export type DemoMerchant = {
  readonly merchantId: string;
  readonly test: DemoCredentials;
  readonly live: DemoCredentials;
};

/** The content of the file; `pids` names every process of the demo. */
export type DemoFile = {
  readonly restBase: string;
  readonly connectOrigin: string;
  readonly grpcAddress: string;
  readonly vaultOrigin: string;
  readonly shopUrl: string;
  readonly dashboardOrigin: string;
  readonly metricsUrl: string;
  readonly operatorToken: string;
  /** Credentials of the dashboard member who owns both merchants. */
  readonly member: { readonly email: string; readonly password: string };
  readonly merchants: readonly DemoMerchant[];
  readonly testCards: readonly TestCard[];
  readonly pids: Readonly<Record<string, number>>;
};

/** Writes the file completely or not at all, readable by its owner only. */
export function writeDemoFile(stateFolder: string, content: DemoFile): string {
  const file = join(stateFolder, "demo.json");
  writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return file;
}

/** The name of the file with the roles' settings, under the variable names of any installation. */
export const settingsFileName = "settings.env";

/** Writes the settings, readable by their owner only, as lines that a shell and `node --env-file` also read. */
export function writeSettingsFile(stateFolder: string, variables: Readonly<Record<string, string>>): void {
  const lines = Object.entries(variables).map(([name, value]) => `${name}="${value}"\n`);
  const file = join(stateFolder, settingsFileName);
  writeFileSync(`${file}.new`, lines.join(""), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Reads the file of the last start; undefined on the first. */
export function readDemoFile(stateFolder: string): DemoFile | undefined {
  const file = join(stateFolder, "demo.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as DemoFile) : undefined;
}

/** Replaces a merchant's key after it was regenerated, for programs that attach from now on. */
export function recordDemoKey(
  stateFolder: string,
  changed: { merchantId: string; environment: "test" | "live"; credentials: Partial<DemoCredentials> },
): void {
  const file = readDemoFile(stateFolder);
  if (file === undefined) return;
  const { merchantId, environment, credentials } = changed;
  const merchants = file.merchants.map((merchant) =>
    merchant.merchantId === merchantId
      ? { ...merchant, [environment]: { ...merchant[environment], ...credentials } }
      : merchant,
  );
  writeDemoFile(stateFolder, { ...file, merchants });
}
