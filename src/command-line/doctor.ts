/** `switchyard doctor`: looks at an installation from where it is run, changes nothing, and says what to do. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { type Command, InvalidArgumentError } from "commander";
import { type Role, readOwnVariables } from "../config.ts";
import { settingsFileName } from "../demo/demo-file.ts";
import type { Finding } from "../doctor/finding.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

const roles: readonly Role[] = ["edge", "worker", "dashboard", "vault", "sandbox"];

type DoctorOptions = OutputOptions & {
  readonly role?: readonly Role[];
  readonly demo: string;
  readonly settings?: string;
};

// A command's own variables, such as an operator's token, say nothing of where things are.
const ofAnInstallation = /_(DATABASE_URL(_FILE)?|PORT|ORIGIN)$/;

type Place = { readonly variables: Readonly<Record<string, string | undefined>>; readonly stateFolder?: string };

/** Ends with 0 when everything is in order, with 1 after warnings, with 2 after problems. */
export function doctorCommand(): Command {
  return describedCommand("doctor", {
    description:
      "check settings, databases, NATS, keys, certificates and the work that should be done (docs/doctor.md); ends with 1 after warnings, 2 after problems",
    example:
      "switchyard doctor                                  the demo, or what SWITCHYARD_… variables say\n  switchyard doctor --role vault --settings live.env   one role, by a file of settings",
  })
    .option(
      "--role <roles>",
      `comma-separated: ${roles.join(", ")}; all that the settings speak of otherwise`,
      parseRoles,
    )
    .option("--settings <file>", "NAME=value lines instead of the environment")
    .option("--demo <folder>", "state folder of a demo, where neither variables nor a file are given", ".switchyard")
    .action(async (options: DoctorOptions) => {
      const { variables, stateFolder } = findSettings(options);
      const { examine } = await import("../doctor/examine.ts");
      const onSlow = (areas: readonly string[]) => console.error(`… still looking at ${areas.join(", ")}`);
      const findings = await examine({ roles: options.role ?? rolesOf(variables), variables, stateFolder, onSlow });
      const count = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length;
      const [problems, warnings] = [count("PROBLEM"), count("WARNING")];
      print(options, { problems, warnings, findings }, () => [
        ...findings.flatMap(linesOf),
        "",
        problems + warnings === 0
          ? `Everything is in order (${findings.length} checks).`
          : `${problems} problem(s), ${warnings} warning(s) in ${findings.length} checks.`,
      ]);
      // At once: a server that takes a connection and says nothing would hold the process.
      process.exit(problems > 0 ? 2 : warnings > 0 ? 1 : 0);
    });
}

function linesOf({ state, area, says, remedy }: Finding): string[] {
  const line = `${state.padEnd(7)}  ${area}: ${says}`;
  return remedy === null ? [line] : [line, `         → ${remedy}`];
}

/** The file that is named, else the variables of this process, else the demo's. */
function findSettings({ settings, demo }: DoctorOptions): Place {
  if (settings !== undefined) return { variables: parseEnv(readFileSync(settings, "utf8")) };
  const own = readOwnVariables();
  if (Object.keys(own).some((name) => ofAnInstallation.test(name))) return { variables: own };
  const stateFolder = resolve(demo);
  const file = join(stateFolder, settingsFileName);
  if (existsSync(file)) return { variables: parseEnv(readFileSync(file, "utf8")), stateFolder };
  throw new UsageError(
    `There are no SWITCHYARD_… variables, and no demo in ${demo}: start one with \`npm start\`, name its folder with --demo, or name a file with --settings.`,
  );
}

/** A port of its own says that a role is meant; edge and worker are in every installation. */
function rolesOf(variables: Place["variables"]): readonly Role[] {
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

function parseRoles(text: string): readonly Role[] {
  const asked = text.split(",");
  const unknown = asked.filter((role) => !roles.some((known) => known === role));
  if (unknown.length > 0) throw new InvalidArgumentError(`Unknown role: ${unknown.join(", ")}.`);
  return roles.filter((role) => asked.includes(role));
}
