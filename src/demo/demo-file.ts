/** `.switchyard/demo.json`: what a running demo is reachable by, for programs that attach to it, and its secrets between starts. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestCard } from "../shop/test-card-list.ts";

/** A merchant's credentials in one environment. */
export type DemoCredentials = {
  readonly secretKey: string;
  readonly publishableKey: string;
  readonly signingSecret: string;
};

/** One merchant of the demo, with its secrets. */
export type DemoMerchant = {
  readonly merchantId: string;
  readonly test: DemoCredentials;
  readonly live: DemoCredentials;
};

/** The file's content; `pids` names every process of the demo. */
export type DemoFile = {
  readonly restBase: string;
  readonly connectOrigin: string;
  readonly grpcAddress: string;
  readonly vaultOrigin: string;
  readonly shopUrl: string;
  readonly dashboardOrigin: string;
  readonly metricsUrl: string;
  readonly operatorToken: string;
  /** Signs in to the dashboard, as owner of both merchants. */
  readonly member: { readonly email: string; readonly password: string };
  readonly merchants: readonly DemoMerchant[];
  readonly testCards: readonly TestCard[];
  readonly pids: Readonly<Record<string, number>>;
};

/** Writes the file for its owner only, whole or not at all. */
export function writeDemoFile(stateFolder: string, content: DemoFile): string {
  const file = join(stateFolder, "demo.json");
  writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return file;
}

/** The name of the file that has the roles' settings, as any installation names them. */
export const settingsFileName = "settings.env";

/** Writes them for their owner only, as lines that a shell and `node --env-file` read too. */
export function writeSettingsFile(stateFolder: string, variables: Readonly<Record<string, string>>): void {
  const lines = Object.entries(variables).map(([name, value]) => `${name}="${value}"\n`);
  const file = join(stateFolder, settingsFileName);
  writeFileSync(`${file}.new`, lines.join(""), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** What the last start wrote, or undefined on the first. */
export function readDemoFile(stateFolder: string): DemoFile | undefined {
  const file = join(stateFolder, "demo.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as DemoFile) : undefined;
}

/** Puts a merchant's regenerated key in the place of the old one, for programs that attach from now on. */
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
