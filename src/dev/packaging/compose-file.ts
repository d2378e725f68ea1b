/** deploy/compose.yaml as an object, with the settings that its services receive. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { GivenToRole } from "./role-settings.ts";

/** A reference of a service to a secret or a network: its name, or its name with the target. */
type Named = string | { readonly source: string; readonly target: string };

export type ComposeService = {
  readonly image: string;
  readonly user?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: readonly string[];
  readonly secrets?: readonly Named[];
  readonly networks?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly pids_limit?: number;
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly logging?: { readonly options: { readonly "max-size": string } };
  readonly deploy?: {
    readonly resources: {
      readonly limits: { readonly cpus: string; readonly memory: string; readonly pids?: number };
    };
  };
};

export type ComposeFile = {
  readonly name: string;
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
};

/** The folder that its paths are relative to. */
export const deployFolder: string = join(import.meta.dirname, "../../../deploy");

/** The file with its anchors merged and without interpolation. */
export const composeFile = parse(readFileSync(join(deployFolder, "compose.yaml"), "utf8"), {
  merge: true,
  // The file is ours, and full of anchors.
  maxAliasCount: -1,
}) as ComposeFile;

export const services: readonly (ComposeService & { readonly name: string })[] = Object.entries(
  composeFile.services,
).map(([name, service]) => ({ name, ...service }));

export function networksOf({ networks = [] }: ComposeService): string[] {
  return Array.isArray(networks) ? [...networks] : Object.keys(networks);
}

export function secretsOf({ secrets = [] }: ComposeService): string[] {
  return secrets.map((secret) => (typeof secret === "string" ? secret : secret.source));
}

/** Returns its variables, with the three hosts filled in, and its files. */
export function givenToService({ environment = {}, secrets = [] }: ComposeService): GivenToRole {
  const files = secrets.map((secret) => `/run/secrets/${typeof secret === "string" ? secret : secret.target}`);
  const hosts: Readonly<Record<string, string>> = { API: "pay", VAULT: "cards", DASHBOARD: "dashboard" };
  const put = (value: string) =>
    value.replaceAll(/\$\{(\w+)_HOST(:\?[^}]*)?\}/g, (_, host) => `${hosts[host]}.example.com`);
  const variables = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, put(value)]));
  return { variables, hasFile: (path) => files.includes(path) };
}
