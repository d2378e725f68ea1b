/** The whole examination: what is looked at, all at once, and told in the order in which one thing stands on the other. */
import { type Config, type EnvironmentConfig, inspectConfig, type Role } from "../config.ts";
import { progressAfterMs } from "../limits/doctor.ts";
import { parseDatabaseAddress } from "../platform/database-address.ts";
import type { Secret } from "../platform/secrets.ts";
import { examineConfigured } from "./configured-checks.ts";
import { type ExaminedDatabase, examineDatabase } from "./database-checks.ts";
import { type Finding, ok, problem, warning, wordsOf } from "./finding.ts";
import { examineKeys } from "./key-checks.ts";
import { examineDisk, examineMail } from "./machine-checks.ts";
import { examineNats } from "./nats-checks.ts";
import { examineCertificateFiles, examineOrigins } from "./origin-checks.ts";
import { examineWork } from "./work-checks.ts";

/** What is examined. */
export type Subject = {
  readonly roles: readonly Role[];
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Where a demo keeps what it has. */
  readonly stateFolder?: string | undefined;
  /** Is told what the examination still waits for. */
  readonly onSlow?: ((areas: readonly string[]) => void) | undefined;
};

type Examination = { readonly area: string; readonly run: () => Promise<readonly Finding[]> };
type Inspected = { readonly config: Config; readonly problems: readonly string[] };

/** Everything that was found. Never throws: what cannot be checked is a problem too. */
export async function examine({ roles, variables, stateFolder, onSlow }: Subject): Promise<Finding[]> {
  // Each as its own process would read them: the vault of live runs alone.
  const groups = [roles.filter((role) => role !== "vault"), roles.filter((role) => role === "vault")];
  const inspected = groups.filter((group) => group.length > 0).map((group) => inspectConfig(group, variables));
  const service = inspected.find(({ config }) => config.service)?.config;
  const vault = inspected.find(({ config }) => config.vault)?.config;
  const examinations = [
    ...listDatabases(service, vault),
    ...listStreams(service),
    { area: "origins", run: () => examineOrigins({ service: service?.service, vault: vault?.vault }) },
    { area: "certificates", run: async () => examineCertificateFiles({ service: service?.service }) },
    { area: "mail", run: () => examineMail(service?.service?.mailServer) },
    { area: "disk", run: () => examineDisk(stateFolder) },
  ];
  const waiting = new Set(examinations.map(({ area }) => area));
  const timer = setInterval(() => onSlow?.([...waiting]), progressAfterMs);
  const found = await Promise.all(
    examinations.map(async (examination) => {
      const findings = await runOne(examination);
      waiting.delete(examination.area);
      return findings;
    }),
  );
  clearInterval(timer);
  return [...examineSettings(inspected), ...examineKeyPair(service, vault), ...found.flat()];
}

async function runOne({ area, run }: Examination): Promise<readonly Finding[]> {
  try {
    return await run();
  } catch (error) {
    return [problem(area, `could not be checked: ${wordsOf(error)}`, "mend what is named above it, and ask again")];
  }
}

function examineSettings(inspected: readonly Inspected[]): Finding[] {
  const problems = new Set(inspected.flatMap((one) => one.problems));
  const warnings = new Set(inspected.flatMap(({ config }) => config.warnings));
  const remedy = "see docs/configuration.md, or: switchyard configuration";
  if (problems.size + warnings.size === 0) return [ok("settings", "complete, and nothing in them is unknown")];
  return [
    ...[...problems].map((line) => problem("settings", line.replace(/^- /, ""), remedy)),
    ...[...warnings].map((line) => warning("settings", line, remedy)),
  ];
}

/** The vault believes only who signs with a key that its own file names. */
function examineKeyPair(service: Config | undefined, vault: Config | undefined): Finding[] {
  return (service?.service?.environments ?? []).flatMap(({ name, keys }) => {
    const known = vault?.vault?.environments.find((environment) => environment.name === name)?.verification;
    if (keys === undefined || known === undefined) return [];
    const area = `keys ${name}`;
    if (known.some(({ kid }) => kid === keys.signing.kid)) return [ok(area, "the vault knows the edge's signing key")];
    const variable = `SWITCHYARD_${name.toUpperCase()}_VAULT_KEYS_FILE`;
    const says = `the vault does not know ${keys.signing.kid}, by which the edge signs: no card would be taken`;
    return [problem(area, says, `give the vault the file that was made with the edge's: ${variable}`)];
  });
}

function listDatabases(service: Config | undefined, vault: Config | undefined): Examination[] {
  const environments = service?.service?.environments ?? [];
  const poolsOfService = [
    ...environments.flatMap(({ databaseUrl, databaseReadUrl }) => [databaseUrl, databaseReadUrl]),
    service?.service?.accountsDatabaseUrl,
  ];
  return [
    ...environments.map((environment) => {
      const { name, databaseUrl: url } = environment;
      const variable = `SWITCHYARD_${name.toUpperCase()}_DATABASE_URL`;
      return examinationOf(
        { area: `database ${name}`, variable, kind: "environment", url },
        { pools: poolsOfService, connectionsMax: service?.database.connectionsMax, environment },
      );
    }),
    ...environments.flatMap(({ name, databaseReadUrl: url }) =>
      url === undefined
        ? []
        : examinationOf(
            {
              area: `replica ${name}`,
              variable: `SWITCHYARD_${name.toUpperCase()}_DATABASE_READ_URL`,
              kind: "environment" as const,
              url,
            },
            { pools: poolsOfService, connectionsMax: service?.database.connectionsMax },
          ),
    ),
    examinationOf(
      {
        area: "database accounts",
        variable: "SWITCHYARD_ACCOUNTS_DATABASE_URL",
        kind: "accounts",
        url: service?.service?.accountsDatabaseUrl,
      },
      { pools: poolsOfService, connectionsMax: service?.database.connectionsMax },
    ),
    examinationOf(
      {
        area: "database vault",
        variable: "SWITCHYARD_VAULT_DATABASE_URL",
        kind: "vault",
        url: vault?.vault?.databaseUrl,
      },
      { pools: [vault?.vault?.databaseUrl], connectionsMax: vault?.database.connectionsMax },
    ),
  ];
}

function examinationOf(
  examined: Omit<ExaminedDatabase, "url" | "connectionsWanted"> & { readonly url: Secret | undefined },
  process: {
    readonly pools: readonly (Secret | undefined)[];
    readonly connectionsMax: number | undefined;
    readonly environment?: EnvironmentConfig;
  },
): Examination {
  const { url } = examined;
  const { environment, pools, connectionsMax = 0 } = process;
  const serverOf = (one: Secret | undefined) => {
    const address = one && parseDatabaseAddress(one.expose());
    return address && `${address.host}:${address.port}`;
  };
  const run = async (): Promise<readonly Finding[]> => {
    // What is wrong with it has been said of the settings.
    if (url === undefined) return [];
    const here = pools.filter((pool) => pool !== undefined && serverOf(pool) === serverOf(url)).length;
    return examineDatabase({ ...examined, url, connectionsWanted: here * connectionsMax }, async (database) =>
      environment === undefined
        ? []
        : [
            ...(await examineKeys(environment.name, environment.keys, database)),
            ...(await examineWork(environment.name, database)),
            ...(await examineConfigured(environment.name, database)),
          ],
    );
  };
  return { area: examined.area, run };
}

function listStreams(config: Config | undefined): Examination[] {
  const service = config?.service;
  if (!service) return [];
  const { streamReplicas: replicas, sandboxOrigin } = service;
  return service.environments.map((environment) => ({
    area: `nats ${environment.name}`,
    run: () => examineNats(environment, { replicas, areGatewaysPretend: sandboxOrigin !== undefined }),
  }));
}
