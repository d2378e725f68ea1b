/** docs/configuration.md names the settings that the roles read, with the defaults and bounds that hold. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Role } from "../../config/checked-config.ts";
import { ConfigError, readCommandLineVariables, readConfig } from "../../config/config.ts";
import { generateAccountsKeyFile } from "../../config/dashboard-settings.ts";
import { furtherCells } from "../../config/environment-settings.ts";
import { generateKeyFile, generateVaultKeyFile } from "../../config/server-keys.ts";
import { renderSettingsPage } from "../../config/settings-page.ts";

type Row = { readonly name: string; readonly roles: string[]; readonly defaultText: string; readonly bounds: string };
type Variables = Readonly<Record<string, string | undefined>>;

const serviceRoles = ["edge", "worker", "dashboard"];
const groups: Readonly<Record<string, string[]>> = {
  all: [...serviceRoles, "vault", "sandbox"],
  service: serviceRoles,
};
const allRoles = groups.all as readonly Role[];
const sides = ["TEST", "LIVE"];

const page = readFileSync(join(import.meta.dirname, "../../../docs/configuration.md"), "utf8");
const rows = [...page.matchAll(/^\| `([\w{}]+)` \|([^|\n]+)\|([^|\n]+)\|([^|\n]+)\|/gm)].map(
  ([, name, roles, defaultText, bounds]): Row => ({
    name: name!,
    roles: roles!
      .trim()
      .split(", ")
      .flatMap((role) => groups[role] ?? [role]),
    defaultText: defaultText!.trim(),
    bounds: bounds!.trim(),
  }),
);
const folder = mkdtempSync(join(tmpdir(), "switchyard-settings-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(name: string, text: string): string {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
}

const required = makeRequired();

/** Every required setting, for both environments and all roles. */
function makeRequired(): Record<string, string> {
  const perSide = sides.flatMap((side): [string, string][] => {
    const keys = generateKeyFile(side.toLowerCase() as "test" | "live");
    return [
      [`SWITCHYARD_${side}_DATABASE_URL`, "postgres://role:password@db/one"],
      [`SWITCHYARD_${side}_KEYS_FILE`, fileWith(`${side}.json`, keys)],
      [`SWITCHYARD_${side}_VAULT_KEYS_FILE`, fileWith(`vault-${side}.json`, generateVaultKeyFile(keys))],
      [`SWITCHYARD_${side}_NATS_SERVERS`, "nats:4222"],
      [`SWITCHYARD_${side}_NATS_USER`, "user"],
      [`SWITCHYARD_${side}_NATS_PASSWORD`, "password"],
    ];
  });
  const ports = ["PUBLIC_PORT", "GRPC_PORT", "DASHBOARD_PORT", "VAULT_PORT", "VAULT_GRPC_PORT", "SANDBOX_PORT"];
  return {
    SWITCHYARD_ENVIRONMENTS: "test",
    ...Object.fromEntries(perSide),
    ...Object.fromEntries(ports.map((name, index) => [`SWITCHYARD_${name}`, String(8_000 + index)])),
    SWITCHYARD_ERROR_DOCS_URL: "https://pay.example/docs/errors",
    SWITCHYARD_ACCOUNTS_DATABASE_URL: "postgres://role:password@db/accounts",
    SWITCHYARD_ACCOUNTS_KEYS_FILE: fileWith("accounts.json", generateAccountsKeyFile()),
    SWITCHYARD_VAULT_DATABASE_URL: "postgres://role:password@db/vault",
    SWITCHYARD_API_ORIGIN: "https://pay.example",
    SWITCHYARD_VAULT_ORIGIN: "https://vault.example",
    SWITCHYARD_VAULT_GRPC_ADDRESS: "vault:8083",
    SWITCHYARD_DASHBOARD_ORIGIN: "https://dashboard.example",
  };
}

const modes = (mode: string) => Object.fromEntries(sides.map((side) => [`SWITCHYARD_${side}_VAULT_MODE`, mode]));

function namesReadBy(role: Role): string[] {
  const names = new Set<string>();
  const choices = [modes("self_hosted"), modes("saas"), { SWITCHYARD_GRPC_TLS_CERT_FILE: "/nowhere" }];
  for (const choice of choices) {
    const recorded = { ...required, ...choice, SWITCHYARD_ENVIRONMENTS: "test,live" };
    problemsOf([role], recording(recorded, names));
  }
  return ownNames(names);
}

/** A secret is also read under its name with the suffix _FILE, which has no row. */
function ownNames(names: ReadonlySet<string>): string[] {
  const isFileOfSecret = (name: string) => name.endsWith("_FILE") && names.has(name.slice(0, -"_FILE".length));
  return [...names].filter((name) => /^(SWITCHYARD|OTEL)_/.test(name) && !isFileOfSecret(name)).toSorted();
}

function recording(variables: Variables, names: Set<string>): Variables {
  return new Proxy(variables, {
    get(target, name) {
      names.add(String(name));
      return target[String(name)];
    },
  });
}

function expand({ name }: Row): string[] {
  const named = name.includes("{ENV}") ? sides.map((side) => name.replace("{ENV}", side)) : [name];
  if (!name.includes("{N}")) return named;
  return named.flatMap((each) => furtherCells.map((cell) => each.replace("{N}", String(cell))));
}

function problemsOf(roles: readonly Role[], variables: Variables): string[] {
  try {
    readConfig(roles, variables);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split("\n");
  }
}

/** True if a value is refused, or its absence if it is undefined. */
function isRefused(row: Row, value: string | undefined, others: Variables = {}): boolean {
  const [name] = expand(row);
  const roles = row.roles.filter((role) => role !== "commands") as Role[];
  const variables: Variables = { ...required, ...others, [name!]: value };
  return problemsOf([roles.at(-1)!], variables).some(
    (line) => line.startsWith(`- ${name} `) || line.startsWith(`- ${name}:`),
  );
}

// The dashboard requires its origin, and settings of live the environments; the rows describe both.
const requiredHere = ["SWITCHYARD_DASHBOARD_ORIGIN", "SWITCHYARD_ENVIRONMENTS"];
const settings = rows.filter(({ roles }) => roles.some((role) => role !== "commands"));

describe("docs/configuration.md", () => {
  it("is generated from the settings; `vitest -u` writes it again", async () => {
    await expect(renderSettingsPage()).toMatchFileSnapshot("../../../docs/configuration.md");
  });

  it.for(allRoles)("names every setting that is read, and no other: %s", (role) => {
    const named = rows.filter(({ roles }) => roles.includes(role)).flatMap(expand);
    expect(named.toSorted()).toEqual(namesReadBy(role));
  });

  it("has a task for every setting of a role", () => {
    const [, tasks = ""] = page.split("\n## By task\n");
    const named = [...tasks.split("\n## ")[0]!.matchAll(/`([\w{}]+)`/g)].map(([, name]) => name!);
    expect(named.toSorted()).toEqual(settings.map(({ name }) => name).toSorted());
  });

  it("names every setting of the commands", () => {
    const names = new Set<string>();
    readCommandLineVariables(recording({}, names));
    const named = rows.filter(({ roles }) => roles.includes("commands")).map(({ name }) => name);
    expect(named.toSorted()).toEqual(ownNames(names));
  });

  it("says of each setting whether it is required", () => {
    const wrong = settings.filter((row) => {
      const others = row.defaultText.endsWith("`saas`") ? modes("saas") : {};
      const isRequired = row.defaultText.startsWith("required") || requiredHere.includes(row.name);
      return isRefused(row, undefined, others) !== isRequired;
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it("has the actual defaults", () => {
    const withDefault = settings.filter(({ defaultText }) => defaultText.startsWith("`"));
    expect(withDefault.length).toBeGreaterThan(10);
    for (const row of withDefault) {
      const [name] = expand(row);
      const role = row.roles.filter((each) => each !== "commands")[0] as Role;
      const given = readConfig([role], { ...required, [name!]: row.defaultText.slice(1, -1) });
      expect({ name, config: given }).toEqual({ name, config: readConfig([role], required) });
    }
  });

  it("has the actual bounds", () => {
    const bounded = settings.filter(({ bounds }) => bounds !== "");
    expect(bounded.length).toBeGreaterThan(8);
    // The shortest attempt, so that every budget is longer.
    const others = { SWITCHYARD_ATTEMPT_TIMEOUT_MS: "1000" };
    for (const row of bounded) {
      const [min, max] = row.bounds.split(" to ").map(Number) as [number, number];
      const refused = [min - 1, min, max, max + 1].map((value) => isRefused(row, String(value), others));
      expect({ name: row.name, refused }).toEqual({ name: row.name, refused: [true, false, false, true] });
    }
  });
});
