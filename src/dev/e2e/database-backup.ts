/** A base backup of a demo's PostgreSQL with PostgreSQL's own tools, and its restore. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { stopServer } from "../../demo/detached-server.ts";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { loadRecord } from "../../demo/server-record.ts";
import { testStateFolder } from "../testing/test-run.ts";
import type { TestDemo } from "./demo.fixture.ts";

const run = promisify(execFile);

const dataNameOf = ({ postgresDataFolder }: TestDemo) => basename(postgresDataFolder);
const recordOf = (demo: TestDemo) => loadRecord(join(testStateFolder, `${dataNameOf(demo)}.json`))!;
const backupFolderOf = (demo: TestDemo) => `${demo.postgresDataFolder}.new`;

/**
 * Copies all databases in their state at one time, while they are written to. Everything up to that time is in the
 * backup, and changes by `meanwhile` during the copying may be
 * (https://www.postgresql.org/docs/18/continuous-archiving.html, 25.3.4).
 */
export async function takeBackup(demo: TestDemo, meanwhile: () => Promise<unknown>): Promise<void> {
  const { port, passwords } = recordOf(demo);
  const superuser = new Client({
    connectionString: `postgres://postgres:${passwords.postgres}@127.0.0.1:${port}/postgres`,
  });
  await superuser.connect();
  try {
    await superuser.query("SELECT pg_backup_start('rehearsal', true)");
    // Files that disappear while they are copied are none that a restore needs.
    const copying = run("cp", ["-a", demo.postgresDataFolder, backupFolderOf(demo)]).catch(() => {});
    await Promise.all([copying, meanwhile()]);
    const { rows } = await superuser.query("SELECT labelfile FROM pg_backup_stop(false)");
    await writeFile(join(backupFolderOf(demo), "backup_label"), rows[0].labelfile);
    // The copy replaces an archive of the write-ahead log.
    await run("cp", ["-a", join(demo.postgresDataFolder, "pg_wal"), backupFolderOf(demo)]);
    await run("rm", ["-f", join(backupFolderOf(demo), "postmaster.pid")]);
    await run("chown", ["-R", `--reference=${demo.postgresDataFolder}`, backupFolderOf(demo)]);
  } finally {
    await superuser.end();
  }
}

export async function destroyDatabases(demo: TestDemo): Promise<void> {
  // An immediate shutdown writes nothing more.
  await stopServer(recordOf(demo).server!, "SIGQUIT");
  await run("rm", ["-rf", demo.postgresDataFolder]);
}

/** Starts the server on the backup's data, at its previous address. */
export async function restoreBackup(demo: TestDemo): Promise<void> {
  await run("mv", [backupFolderOf(demo), demo.postgresDataFolder]);
  await startPrivatePostgres({ stateFolder: testStateFolder, dataName: dataNameOf(demo), forTests: true });
}
