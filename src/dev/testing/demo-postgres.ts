/** A PostgreSQL with a demo's databases in it, migrated: made once in the run, copied for each installation that a test starts. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import { prepareDatabases } from "../../demo/databases.ts";
import { freePort } from "../../demo/free-port.ts";
import { preparePostgresHome } from "../../demo/postgres-home.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../demo/private-postgres.ts";
import { loadRecord, saveRecord } from "../../demo/server-record.ts";
import { onceInTestRun } from "./once-in-test-run.ts";
import { testStateFolder } from "./test-run.ts";

const run = promisify(execFile);

// The file in which prepareDatabases keeps the passwords of the databases in a state folder.
const passwordsFile = "database-passwords.json";

/**
 * Starts a PostgreSQL for the caller, in which the demo of `stateFolder` finds its databases. A copy takes
 * 0.3 s of CPU time; initdb and the migrations of four databases take 3 s.
 */
export async function startDemoPostgres(options: {
  dataName: string;
  stateFolder: string;
  forTests: boolean;
}): Promise<PrivatePostgres> {
  const { dataName, stateFolder, forTests } = options;
  const template = await onceInTestRun("demo-postgres", makeTemplate);
  await copyPostgres(template, dataName);
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  copyFileSync(join(keptIn(template), passwordsFile), join(stateFolder, passwordsFile));
  return startPrivatePostgres({ stateFolder: testStateFolder, dataName, forTests });
}

/** Copies a stopped PostgreSQL of the test run, by the names of their data. */
export async function copyPostgres(from: string, to: string): Promise<void> {
  const { dataFolder } = await preparePostgresHome({ stateFolder: testStateFolder, dataName: to });
  const record = loadRecord(recordOf(from))!;
  saveRecord(recordOf(to), { ...record, dataFolder, port: await freePort() });
  await run("cp", ["-a", record.dataFolder, dataFolder]);
}

/** Returns the name of the stopped server's data. */
async function makeTemplate(): Promise<string> {
  const dataName = `${inject("testRunName")}-demo-template`;
  const postgres = await startPrivatePostgres({ stateFolder: testStateFolder, dataName, forTests: true });
  mkdirSync(keptIn(dataName), { mode: 0o700 });
  await prepareDatabases(postgres.ownerUrl, keptIn(dataName));
  await postgres.stop();
  return dataName;
}

const recordOf = (dataName: string) => join(testStateFolder, `${dataName}.json`);
const keptIn = (dataName: string) => join(testStateFolder, `${dataName}-state`);
