/** Generates docs/configuration.md from the schema. */
import type { Setting, SettingReaderRole } from "../platform/setting.ts";
import { allSettings, settingSections } from "./all-settings.ts";
import { allRoles, serviceRoles } from "./every-role-settings.ts";
import { settingTasks } from "./setting-tasks.ts";

const opening = `# Settings

A process reads its settings from environment variables when it starts, and stops with a line for each that is missing or wrong; a value is never printed. The demo sets all of them itself. A setting applies to the roles in its row (\`switchyard serve --role …\`); *service* stands for \`edge\`, \`worker\` and \`dashboard\`, which read the same settings. Settings of other roles may also be set; they are ignored. A mistyped variable that begins with \`SWITCHYARD_\` stops the start with an error that suggests the right name; other unknown variables are logged. Origins are scheme, host and port, such as \`https://pay.example.com\`, without a path.

A *secret* is given as it is, or as a file: with \`SWITCHYARD_TEST_NATS_PASSWORD_FILE=/run/secrets/nats\` it is read from that file, without the line ending. Secret files and key files are for their owner alone (\`chmod 600\`; a group may read a file of another owner, as with mounted secrets): files with other permissions are logged in test and stop the start in live. In the address of a database the characters \`/\`, \`%\`, \`@\`, \`#\` and \`?\` of a password are percent-encoded: \`p@ss\` is written \`p%40ss\`.

Live does not start, and reports everything that must be changed, if

- a password of a database or of NATS is shorter than 16 characters, made of common words, repeats itself, is an example's text or the user's name, or is one of test's;
- test and live share a database, a NATS user or a key, or a key file lies in a demo's folder;
- a database on another machine is used without \`?sslmode=verify-full\` (\`require\` and \`verify-ca\` will do; \`sslrootcert\`, \`sslcert\` and \`sslkey\` name files), or NATS or the vault on another machine without TLS;
- \`SWITCHYARD_TRUSTED_PROXIES\` of edge or vault is not set: name the proxies in front, or set it to \`none\`;
- an origin is http or has the host of an example (\`example.com\`), API and vault have one host name, or the vault shares its process.

Where \`SWITCHYARD_SANDBOX_ORIGIN\` is set, as in the demo, live has only sandbox gateways. Then the first three are only logged.

This page is generated from the source by \`switchyard configuration --markdown\`. [\`switchyard doctor\`](doctor.md) checks an installation's settings and everything that they lead to. In Kubernetes set \`enableServiceLinks: false\`: a Service called \`switchyard-vault\` would otherwise set \`SWITCHYARD_VAULT_PORT\` to an address.
`;

export function renderSettingsPage(): string {
  const sections = settingSections.map(({ title, opening: first, settings }) =>
    [`## ${title}`, ...(first === undefined ? [] : [first]), renderTable(settings)].join("\n\n"),
  );
  return `${[opening, renderTasks(), ...sections, renderRoles()]
    .join("\n")
    .replaceAll("\n## ", "\n\n## ")
    .replaceAll(/\n{3,}/g, "\n\n")}\n`;
}

function renderTasks(): string {
  const rows = settingTasks.map(({ task, settings }) => {
    const names = settings.map(({ name }) => `\`${name}\``);
    return `| ${task} | ${names.join(", ")} |`;
  });
  const first =
    "[deploy/live.env](../deploy/live.env) and [deploy/vault.env](../deploy/vault.env) are files to fill in for live, grouped in this way.";
  return ["## By task", first, ["| to | set |", "|---|---|", ...rows].join("\n")].join("\n\n");
}

/** Returns the description of a setting without its table: for a person at a terminal or a program. */
export function describeSetting({ name, roles, presence, kind, about, example }: Setting<unknown>) {
  return {
    name,
    roles,
    default: presence.type === "default" ? presence.text : null,
    required:
      presence.type === "required" ? "always" : presence.type === "optional" ? (presence.neededWith ?? "no") : "no",
    min: kind.bounds?.min ?? null,
    max: kind.bounds?.max ?? null,
    secret: kind.isSecret ?? false,
    about,
    example,
  };
}

function renderTable(settings: readonly Setting<unknown>[]): string {
  const heading = "| variable | roles | default | bounds | what it is | example |\n|---|---|---|---|---|---|";
  return [heading, ...settings.map(renderRow)].join("\n");
}

function renderRow({ name, roles, presence, kind, about, example }: Setting<unknown>): string {
  const bounds = kind.bounds ? `${kind.bounds.min} to ${kind.bounds.max}` : "";
  const what = kind.isSecret ? `${about} (*secret*)` : about;
  const cells = [`\`${name}\``, nameRoles(roles), renderPresence(presence), bounds, what, `\`${example}\``];
  return `| ${cells.join(" | ")} |`.replaceAll("|  |", "| |");
}

function renderPresence(presence: Setting<unknown>["presence"]): string {
  if (presence.type === "default") return `\`${presence.text}\``;
  if (presence.type === "required") return "required";
  return presence.neededWith === undefined ? "none" : `required with ${presence.neededWith}`;
}

/** Returns the names of roles; `all` and `service` expand to their roles. */
function nameRoles(roles: readonly SettingReaderRole[]): string {
  const has = (group: readonly SettingReaderRole[]) => group.every((role) => roles.includes(role));
  const short = has(allRoles) ? { group: allRoles, word: "all" } : { group: serviceRoles, word: "service" };
  if (!has(short.group)) return roles.join(", ");
  return [short.word, ...roles.filter((role) => !short.group.includes(role))].join(", ");
}

function renderRoles(): string {
  const sections = allRoles.map((role) => {
    const read = allSettings.filter(({ roles }) => roles.includes(role));
    const names = (type: Setting<unknown>["presence"]["type"]) =>
      read.filter(({ presence }) => presence.type === type).map(({ name }) => `\`${name}\``);
    const may = [...names("default"), ...names("optional")];
    return `### ${role}\n\nRequired: ${names("required").join(", ")}.\n\nTakes as well: ${may.join(", ")}.`;
  });
  return ["## What each role takes", ...sections].join("\n\n");
}
