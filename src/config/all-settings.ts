/** The schema: every setting, in the order of docs/configuration.md. */

import { ownVaultSettings, saasVaultSettings, vaultModeSetting } from "../card-vault/vault-settings.ts";
import type { Setting } from "../platform/setting.ts";
import { dashboardSettings } from "./dashboard-settings.ts";
import { cellSettings, environmentSettings } from "./environment-settings.ts";
import { commandSettings, everyRoleSettings, sandboxSettings } from "./every-role-settings.ts";
import { serviceSettings } from "./service-settings.ts";
import { vaultRoleSettings } from "./vault-role-settings.ts";

export type SettingSection = {
  readonly title: string;
  /** Introduction for the reader, in Markdown. */
  readonly opening?: string;
  readonly settings: readonly Setting<unknown>[];
};

const { keysFile: vaultKeysFile, ...vaultRole } = vaultRoleSettings;

/** Every setting that is read, each once. */
export const settingSections: readonly SettingSection[] = [
  { title: "Every role", settings: Object.values(everyRoleSettings) as Setting<unknown>[] },
  { title: "Edge, worker and dashboard", settings: Object.values(serviceSettings) as Setting<unknown>[] },
  {
    title: "Each environment",
    opening:
      "`{ENV}` is `TEST` or `LIVE`; what is set for an environment that is not in `SWITCHYARD_ENVIRONMENTS` is not read. `{N}` is the number of a further [cell](scaling.md).",
    settings: [
      ...Object.values(environmentSettings),
      ...Object.values(cellSettings),
      vaultModeSetting,
      ...Object.values(saasVaultSettings),
      vaultKeysFile,
    ] as Setting<unknown>[],
  },
  { title: "Dashboard", settings: Object.values(dashboardSettings) as Setting<unknown>[] },
  {
    title: "Vault",
    settings: [...Object.values(ownVaultSettings), ...Object.values(vaultRole)] as Setting<unknown>[],
  },
  { title: "Sandbox", settings: Object.values(sandboxSettings) as Setting<unknown>[] },
  {
    title: "Commands",
    opening: "Besides the brand and the accounts' database, so that no secret stands in a list of processes:",
    settings: Object.values(commandSettings) as Setting<unknown>[],
  },
];

/** Every setting, without its section. */
export const allSettings: readonly Setting<unknown>[] = settingSections.flatMap(({ settings }) => settings);
