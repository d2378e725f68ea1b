/** `switchyard doctor`: checks an installation from this machine, changes nothing, and suggests remedies. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import type { Command } from "commander";
import type { Role } from "../config/checked-config.ts";
import { settingsFileName } from "../demo/demo-file.ts";
import type { Finding } from "../doctor/finding.ts";
import { exitSoon } from "../platform/process-end.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { parseRoles, roles } from "./roles-option.ts";

type DoctorOptions = OutputOptions & {
  readonly role?: readonly Role[];
  readonly demo: string;
  readonly settings?: string;
};

// A command's own variables, such as an operator's token, do not locate the installation.
const ofAnInstallation = /_(DATABASE_URL(_FILE)?|PORT|ORIGIN)$/;

type SettingsSource = {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly stateFolder?: string;
};

/** Exits with 0 when everything is in order, with 1 for warnings and with 2 for problems. */
export function doctorCommand(): Command {
  return describedCommand("doctor", {
    example:
      "switchyard doctor                                     the demo, or the installation of the SWITCHYARD_… variables\n  switchyard doctor --role vault --settings vault.env   one role, with settings from a file",
  })
    .option(
      "--role <roles>",
      `comma-separated: ${roles.join(", ")}; by default every role that the settings configure`,
      parseRoles,
    )
    .option("--settings <file>", "file of NAME=value lines, instead of the environment")
    .option("--demo <folder>", "state folder of a demo, used if neither variables nor a file are given", ".switchyard")
    .action(async (options: DoctorOptions) => {
      const { variables, stateFolder } = await findSettings(options);
      const { examine } = await import("../doctor/examine.ts");
      const onSlow = (areas: readonly string[]) => console.error(`… still checking ${areas.join(", ")}`);
      const findings = await examine({ roles: options.role ?? rolesOf(variables), variables, stateFolder, onSlow });
      const count = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length;
      const [problems, warnings] = [count("PROBLEM"), count("WARNING")];
      print(options, { problems, warnings, findings }, () => [
        ...findings.flatMap(linesOf),
        "",
        problems + warnings === 0
          ? `Everything is in order (${findings.length} checks).`
          : `${problems} problem(s), ${warnings} warning(s) in ${findings.length} checks. See docs/going-live.md.`,
      ]);
      // Exit at once: a server that accepts a connection and stays silent would hold the process.
      exitSoon(problems > 0 ? 2 : warnings > 0 ? 1 : 0);
    });
}

function linesOf({ state, area, says, remedy }: Finding): string[] {
  const line = `${state.padEnd(7)}  ${area}: ${says}`;
  return remedy === null ? [line] : [line, `         → ${remedy}`];
}

async function findSettings({ settings, demo }: DoctorOptions): Promise<SettingsSource> {
  if (settings !== undefined) return { variables: parseEnv(readFileSync(settings, "utf8")) };
  const own = (await import("../config/config.ts")).readOwnVariables();
  if (Object.keys(own).some((name) => ofAnInstallation.test(name))) return { variables: own };
  const stateFolder = resolve(demo);
  const file = join(stateFolder, settingsFileName);
  if (existsSync(file)) return { variables: parseEnv(readFileSync(file, "utf8")), stateFolder };
  throw new UsageError(
    `There are no SWITCHYARD_… variables and there is no demo in ${demo}. Start one with \`npm start\`, name its folder with --demo, or name a file with --settings.`,
  );
}

/** A role with its own port is part of the installation; edge and worker always are. */
function rolesOf(variables: SettingsSource["variables"]): readonly Role[] {
  const ports = {
    dashboard: "SWITCHYARD_DASHBOARD_PORT",
    vault: "SWITCHYARD_VAULT_PORT",
    edge: "SWITCHYARD_PUBLIC_PORT",
  };
  const has = (role: keyof typeof ports) => Boolean(variables[ports[role]]);
  const isVaultAlone = has("vault") && !has("edge");
  return [
    ...(isVaultAlone ? [] : (["edge", "worker"] as const)),
    ...(has("dashboard") ? (["dashboard"] as const) : []),
    ...(has("vault") ? (["vault"] as const) : []),
  ];
}
