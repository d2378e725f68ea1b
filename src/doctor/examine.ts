/** The whole examination: all checks run at once, and findings are reported in order of dependency. */

import { setTimeout as pause } from "node:timers/promises";
import type { Config, EnvironmentConfig, Role } from "../config/checked-config.ts";
import { inspectConfig } from "../config/config.ts";
import { databaseVariablesOf } from "../config/environment-settings.ts";
import { firstCell, nameOfCell } from "../platform/cells.ts";
import type { Database } from "../platform/database.ts";
import { parseDatabaseAddress } from "../platform/database-address.ts";
import type { KeyRing, Secret } from "../platform/secrets.ts";
import { examineConfigured } from "./configured-checks.ts";
import { type ExaminedDatabase, examineDatabase } from "./database-checks.ts";
import { examineDisputes } from "./dispute-checks.ts";
import { type Finding, ok, problem, warning, wordsOf } from "./finding.ts";
import { examineAccounts, examineKeys, examineStoreRing } from "./key-checks.ts";
import { examineDisk, examineMail } from "./machine-checks.ts";
import { examineNats } from "./nats-checks.ts";
import { examineCertificateFiles, examineOrigins } from "./origin-checks.ts";
import { examineSettlement } from "./settlement-checks.ts";
import { examineStoredCards } from "./stored-card-checks.ts";
import { examineWalletKeys, examineWallets } from "./wallet-checks.ts";
import { examineWork } from "./work-checks.ts";

const second = 1_000;

// Timeout of one area: several requests to one server that each just answers in time, without delaying the other areas.
const areaTimeoutMs = 30 * second;
// Time after which progress is shown.
const progressAfterMs = 2 * second;

export type Subject = {
  readonly roles: readonly Role[];
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly stateFolder?: string | undefined;
  /** Receives the areas for which the examination still waits. */
  readonly onSlow?: ((areas: readonly string[]) => void) | undefined;
};

type Examination = { readonly area: string; readonly run: () => Promise<readonly Finding[]> };
type Inspected = { readonly config: Config | undefined; readonly problems: readonly string[] };

/** Returns every finding. Never throws: a check that cannot run is a problem too. */
export async function examine({ roles, variables, stateFolder, onSlow }: Subject): Promise<Finding[]> {
  // Each as its own process would read them: the vault of live runs alone.
  const groups = [roles.filter((role) => role !== "vault"), roles.filter((role) => role === "vault")];
  const inspected = groups.filter((group) => group.length > 0).map((group) => inspect(group, variables));
  const service = inspected.find(({ config }) => config?.service)?.config;
  const vault = inspected.find(({ config }) => config?.vault)?.config;
  const examinations = [
    ...listDatabases(service, vault),
    ...listStreams(service, roles.includes("worker")),
    {
      area: "origins",
      run: () => examineOrigins({ service: service?.service, vault: vault?.vault, dashboard: service?.dashboard }),
    },
    {
      area: "certificates",
      run: async () => examineCertificateFiles({ service: service?.service, vault: vault?.vault }),
    },
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

function inspect(roles: readonly Role[], variables: Subject["variables"]): Inspected {
  try {
    return inspectConfig(roles, variables);
  } catch (error) {
    // Its message may repeat a value, which may be secret.
    const name = error instanceof Error ? error.name : typeof error;
    return { config: undefined, problems: [`the settings of ${roles.join()} cannot be read (${name})`] };
  }
}

async function runOne({ area, run }: Examination): Promise<readonly Finding[]> {
  const tooLong = new AbortController();
  try {
    const late = pause(areaTimeoutMs, undefined, { signal: tooLong.signal }).then(() => {
      throw new Error("it timed out");
    });
    late.catch(() => {});
    return await Promise.race([run(), late]);
  } catch (error) {
    return [
      problem(area, `could not be checked: ${wordsOf(error)}`, "fix the problems above, then run the doctor again"),
    ];
  } finally {
    tooLong.abort();
  }
}

function examineSettings(inspected: readonly Inspected[]): Finding[] {
  const problems = new Set(inspected.flatMap((one) => one.problems));
  const warnings = new Set(inspected.flatMap(({ config }) => config?.warnings ?? []));
  const remedy = "see docs/configuration.md, or: switchyard configuration";
  if (problems.size + warnings.size === 0) return [ok("settings", "complete, without unknown variables")];
  return [
    ...[...problems].map((line) => problem("settings", line.replace(/^- /, ""), remedy)),
    ...[...warnings].map((line) => warning("settings", line, remedy)),
  ];
}

/** Checks the key pair: the vault accepts only signatures by keys that its own file names. */
function examineKeyPair(service: Config | undefined, vault: Config | undefined): Finding[] {
  return (service?.service?.environments ?? []).flatMap(({ name, cell, keys }) => {
    // The cells of an environment have the same keys.
    if (cell !== firstCell) return [];
    const known = vault?.vault?.environments.find((environment) => environment.name === name);
    if (keys === undefined || known?.verification === undefined) return [];
    const area = `keys ${name}`;
    const cards = [
      examineCardToken(area, keys.cardToken, known.cardToken),
      ...examineFingerprint(area, known.fingerprint),
    ];
    if (known.verification.some(({ kid }) => kid === keys.signing.kid)) {
      return [ok(area, "the vault knows the edge's signing key"), ...cards];
    }
    const variable = `SWITCHYARD_${name.toUpperCase()}_VAULT_KEYS_FILE`;
    const says = `the vault does not know ${keys.signing.kid}, with which the edge signs: no card would be accepted`;
    return [problem(area, says, `give the vault the file that was generated with the edge's: ${variable}`), ...cards];
  });
}

function examineCardToken(area: string, edge: KeyRing | undefined, vault: KeyRing | undefined): Finding {
  const key = vault?.keys[vault.current];
  const same = vault && edge?.keys[vault.current];
  if (key && same && Buffer.compare(key, same) === 0) return ok(area, "the edge reads the vault's card tokens");
  const says = `the edge has not the key ${vault?.current ?? "of card tokens"}, so it asks the vault about each card`;
  return warning(
    area,
    says,
    "switchyard server-keys rotate --key card-token --step add, with both files; restart both",
  );
}

function examineFingerprint(area: string, ring: KeyRing | undefined): Finding[] {
  if (ring !== undefined) return [];
  const says = "the vault has no key of fingerprints, so the tries of a card are not counted";
  const remedy = "switchyard server-keys rotate --key fingerprint --step add, with the vault's file; restart the vault";
  return [warning(area, says, remedy)];
}

function listDatabases(service: Config | undefined, vault: Config | undefined): Examination[] {
  const environments = service?.service?.environments ?? [];
  const accountsUrl = service?.service?.accountsDatabaseUrl;
  const vaultUrl = vault?.vault?.databaseUrl;
  const pools = [
    ...environments.flatMap(({ databaseUrl, databaseReadUrl }) => [databaseUrl, databaseReadUrl]),
    accountsUrl,
  ];
  const ofService = { pools, database: service?.database };
  const isAlone = ({ name }: EnvironmentConfig) => environments.filter((one) => one.name === name).length === 1;
  const accounts = {
    ring: service?.dashboard?.sealing,
    usesSandboxGateways: service?.service?.sandboxOrigin !== undefined,
  };
  return [
    ...environments.map((environment) =>
      examinationOf(
        {
          area: `database ${nameOfCell(environment.name, environment.cell)}`,
          variable: databaseVariablesOf(environment).url,
          kind: "environment",
          url: environment.databaseUrl,
        },
        ofService,
        (database) => examineContents(environment, database, isAlone(environment)),
      ),
    ),
    ...environments
      .filter(({ databaseReadUrl }) => databaseReadUrl !== undefined)
      .map((environment) =>
        examinationOf(
          {
            area: `replica ${nameOfCell(environment.name, environment.cell)}`,
            variable: databaseVariablesOf(environment).readUrl,
            kind: "environment",
            url: environment.databaseReadUrl,
          },
          ofService,
        ),
      ),
    examinationOf(
      { area: "database accounts", variable: "SWITCHYARD_ACCOUNTS_DATABASE_URL", kind: "accounts", url: accountsUrl },
      ofService,
      (database) => examineAccounts(database, accounts),
    ),
    examinationOf(
      { area: "database vault", variable: "SWITCHYARD_VAULT_DATABASE_URL", kind: "vault", url: vaultUrl },
      { pools: [vaultUrl], database: vault?.database },
      (database) => examineRings(vault?.vault, database),
    ),
  ];
}

async function examineRings(vault: Config["vault"], database: Database): Promise<Finding[]> {
  // If a file cannot be read, only its name is known, and the settings have reported it.
  const known = (vault?.environments ?? []).filter(({ verification }) => verification !== undefined);
  const findings = await Promise.all(
    known.map(async ({ name, storeRing, walletRing }) => [
      ...(await examineStoreRing(name, storeRing, database)),
      ...(await examineWalletKeys(name, walletRing, database)),
    ]),
  );
  return findings.flat();
}

async function examineContents(
  { name, cell, keys }: EnvironmentConfig,
  database: Database,
  isAlone: boolean,
): Promise<Finding[]> {
  const findings = [
    ...(await examineKeys(name, keys, database)),
    ...(await examineWork(name, database)),
    ...(await examineStoredCards(name, database)),
    ...(await examineDisputes(name, database)),
    ...(await examineSettlement(name, database)),
    ...(await examineWallets(name, database)),
    ...(await examineConfigured(name, database)),
  ];
  return isAlone ? findings : findings.map((finding) => inCells(finding, { name, cell }));
}

/** Returns a finding of one cell among others: its area and commands name the cell, and a key may be used elsewhere. */
function inCells(finding: Finding, { name, cell }: Pick<EnvironmentConfig, "name" | "cell">): Finding {
  const remedy = finding.remedy
    ?.replace(`--environment ${name}`, `--environment ${name} --cell ${cell}`)
    .replace(/^remove it/, "once no cell uses it any more, remove it");
  return {
    ...finding,
    area: finding.area.replace(new RegExp(` ${name}$`), ` ${nameOfCell(name, cell)}`),
    remedy: remedy ?? null,
  };
}

type NamedDatabase = Pick<ExaminedDatabase, "area" | "variable" | "kind"> & { readonly url: Secret | undefined };

/**
 * Examines the database of a process with these pools; without a valid address there is nothing to examine, and the
 * settings have reported it.
 */
function examinationOf(
  { url, ...examined }: NamedDatabase,
  { pools, database }: { pools: readonly (Secret | undefined)[]; database: Config["database"] | undefined },
  more: (database: Database) => Promise<readonly Finding[]> = async () => [],
): Examination {
  const serverOf = (one: Secret | undefined) => {
    const address = one && parseDatabaseAddress(one.expose());
    return address && `${address.host}:${address.port}`;
  };
  const here = pools.filter((pool) => pool !== undefined && serverOf(pool) === serverOf(url)).length;
  const connectionsWanted = here * (database?.connectionsMax ?? 0);
  const isPooled = database?.pooler === "transaction";
  const run = async () =>
    url === undefined ? [] : examineDatabase({ ...examined, url, connectionsWanted, isPooled }, more);
  return { area: examined.area, run };
}

function listStreams(config: Config | undefined, consumes: boolean): Examination[] {
  const service = config?.service;
  if (!service) return [];
  const { streamReplicas: replicas, sandboxOrigin } = service;
  return service.environments.map((environment) => ({
    area: `nats ${nameOfCell(environment.name, environment.cell)}`,
    run: () => examineNats(environment, { replicas, consumes, usesSandboxGateways: sandboxOrigin !== undefined }),
  }));
}
