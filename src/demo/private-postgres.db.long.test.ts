import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { copyPostgres } from "../dev/testing/demo-postgres.ts";
import { testStateFolder } from "../dev/testing/test-run.ts";
import { askOne } from "../dev/testing/with-client.ts";
import { removePostgresHome } from "./postgres-home.ts";
import { startPrivatePostgres } from "./private-postgres.ts";
import { isAlive, markOf } from "./process-mark.ts";
import { loadRecord, saveRecord } from "./server-record.ts";

// The real state folder, so that the binaries are copied once for the checkout; the names are of this run, which
// removes them.
const stateFolder = testStateFolder;
let names = 0;

function newName(): { dataName: string; recordFile: string } {
  const dataName = `${inject("testRunName")}-own-postgres-${process.pid}-${names++}`;
  return { dataName, recordFile: join(stateFolder, `${dataName}.json`) };
}

/** The name of a stopped server that was started once: a copy takes a third of the time of a new one. */
const { dataName } = newName();
await (await startPrivatePostgres({ stateFolder, dataName, forTests: true })).stop();
const prepared: string = dataName;

async function copyName(): Promise<ReturnType<typeof newName>> {
  const name = newName();
  await copyPostgres(prepared, name.dataName);
  return name;
}

describe("removePostgresHome()", () => {
  it("removes the binaries and the data that lie outside of the state folder", async () => {
    const state = await mkdtemp(join(tmpdir(), "switchyard-home-test-"));
    onTestFinished(() => rm(state, { recursive: true, force: true }));
    const server = await startPrivatePostgres({ stateFolder: state, dataName: "postgres", forTests: true });
    await server.stop();
    // Beside the data of another user than root there is nothing of the server.
    const readme = join(dirname(dirname(server.dataFolder)), "README");
    expect(existsSync(readme)).toBe(process.getuid?.() === 0);
    await removePostgresHome(state);
    expect(existsSync(readme)).toBe(false);
  });
});

describe("startPrivatePostgres()", () => {
  it("keeps data, port and password between starts", async () => {
    const { dataName } = newName();
    const first = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    await askOne(first.ownerUrl, "CREATE DATABASE kept");
    await first.stop();
    expect(markOf(first.pid)).toBeUndefined();
    const second = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    expect(second.ownerUrl).toBe(first.ownerUrl);
    expect(await askOne(second.ownerUrl, "SELECT count(*)::int FROM pg_database WHERE datname = 'kept'")).toBe(1);
    await second.stop({ removeData: true });
  });

  it("returns a role that creates databases and roles but is no superuser, with a password only we can read", async () => {
    const { dataName, recordFile } = await copyName();
    const server = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    onTestFinished(() => server.stop({ removeData: true }));
    const rights = "rolcreatedb AND rolcreaterole AND NOT rolsuper";
    expect(await askOne(server.ownerUrl, `SELECT ${rights} FROM pg_roles WHERE rolname = current_user`)).toBe(true);
    expect(statSync(recordFile).mode & 0o777).toBe(0o600);
    const wrong = new URL(server.ownerUrl);
    wrong.password = "guess";
    await expect(askOne(wrong.href, "SELECT 1")).rejects.toThrow("password authentication failed");
  });

  it("denies other roles access to the databases that come with the server", async () => {
    const { dataName } = await copyName();
    const server = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    onTestFinished(() => server.stop({ removeData: true }));
    await askOne(server.ownerUrl, "CREATE ROLE stranger LOGIN PASSWORD 'known'");
    for (const database of ["postgres", "template1"]) {
      const url = new URL(server.ownerUrl);
      Object.assign(url, { username: "stranger", password: "known", pathname: database });
      await expect(askOne(url.href, "SELECT 1")).rejects.toThrow("permission denied for database");
    }
  });

  it("refuses a second start while the process that started the first is alive", async () => {
    const { dataName } = await copyName();
    const server = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    onTestFinished(() => server.stop({ removeData: true }));
    await expect(startPrivatePostgres({ stateFolder, dataName, forTests: true })).rejects.toThrow(
      `PostgreSQL is already running (pid ${server.pid}), started by process ${process.pid}. Stop that process first.`,
    );
  });

  it("stops the orphan of a starter that died, and reuses its data", async () => {
    const { dataName, recordFile } = await copyName();
    const orphan = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    await askOne(orphan.ownerUrl, "CREATE DATABASE kept");
    const record = loadRecord(recordFile);
    saveRecord(recordFile, { ...record!, starter: { pid: process.pid, birth: "long ago" } });
    const server = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    onTestFinished(() => server.stop({ removeData: true }));
    expect(isAlive(record!.server!)).toBe(false);
    expect(await askOne(server.ownerUrl, "SELECT count(*)::int FROM pg_database WHERE datname = 'kept'")).toBe(1);
  });

  it("starts despite a pid file of an ended process, and does not stop another process with that pid", async () => {
    const { dataName, recordFile } = await copyName();
    const killed = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    process.kill(killed.pid, "SIGKILL");
    const stranger = markOf(process.pid)!;
    saveRecord(recordFile, { ...loadRecord(recordFile)!, server: { ...stranger, birth: "long ago" } });
    const server = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    onTestFinished(() => server.stop({ removeData: true }));
    expect(isAlive(stranger)).toBe(true);
  });

  it("names the file to change when its port is in use", async () => {
    const { dataName, recordFile } = await copyName();
    const server = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    await server.stop();
    const { port } = loadRecord(recordFile)!;
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    await expect(startPrivatePostgres({ stateFolder, dataName, forTests: true })).rejects.toThrow(
      `port ${port} of PostgreSQL is in use by another program. Stop that program, or change "port" in ${recordFile}.`,
    );
  });

  it("says what to do when the passwords of its data are missing", async () => {
    const { dataName, recordFile } = await copyName();
    const server = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    await server.stop();
    const record = readFileSync(recordFile, "utf8");
    rmSync(recordFile);
    await expect(startPrivatePostgres({ stateFolder, dataName, forTests: true })).rejects.toThrow(
      `${server.dataFolder} has data of an earlier start`,
    );
    writeFileSync(recordFile, record, { mode: 0o600 });
  });

  it("quotes the end of the log when PostgreSQL does not start", async () => {
    const { dataName, recordFile } = await copyName();
    const server = await startPrivatePostgres({ stateFolder, dataName, forTests: true });
    await server.stop();
    rmSync(join(server.dataFolder, "global", "pg_control"));
    await expect(startPrivatePostgres({ stateFolder, dataName, forTests: true })).rejects.toThrow(/pg_control/);
    expect(loadRecord(recordFile)?.server).toSatisfy((mark) => mark === undefined || !isAlive(mark));
  });
});
