/** The base of the container image, made on this machine: Debian by debootstrap, Node and npm. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const checkout = join(import.meta.dirname, "../../..");
// The one that comes with Node 24.
const npmMajor = 11;
// Paths that a slim image leaves out, and those that belong to this machine alone.
const leftOut = ["usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache/apt", "var/log"];
const ofThisMachine = ["etc/resolv.conf", "etc/hostname", "etc/apt/sources.list"];

/**
 * Returns the archive of a root file system like that of the image named `node:VERSION-SUITE-slim`. The first call
 * makes it, as root, with Debian's archive that apt uses here; later calls find it in `folder`.
 */
export async function makeBase(folder: string, image: string): Promise<string> {
  const [, version, suite] = /^node:([\d.]+)-([a-z]+)-slim$/.exec(image) ?? [];
  if (version === undefined || suite === undefined) throw new Error(`${image} is no slim image of Node`);
  const archive = join(folder, `node-${version}-${suite}-${process.arch}.tar`);
  if (existsSync(archive)) return archive;
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, "making-"));
  try {
    const root = join(work, "root");
    await run("debootstrap", ["--variant=minbase", suite, root, await findDebianArchive()], { maxBuffer: 2 ** 26 });
    const node = join(checkout, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
    await copyFile(node, join(root, "usr/local/bin/node"));
    const npm = ["--prefix", join(root, "usr/local"), "--ignore-scripts", "--no-audit", "--no-fund"];
    await run("npm", ["install", "--global", ...npm, `npm@${npmMajor}`], { cwd: work });
    for (const path of [...leftOut, ...ofThisMachine]) await rm(join(root, path), { recursive: true, force: true });
    for (const path of leftOut) await mkdir(join(root, path), { recursive: true });
    await run("tar", ["--numeric-owner", "--directory", root, "--create", "--file", `${work}.tar`, "."]);
    // Renamed, so that an interrupted one is never used.
    await rename(`${work}.tar`, archive);
    return archive;
  } finally {
    await rm(work, { recursive: true, force: true });
    await rm(`${work}.tar`, { force: true });
  }
}

async function findDebianArchive(): Promise<string> {
  const filters = ["Created-By: Packages", "Origin: Debian"];
  const { stdout } = await run("apt-get", ["indextargets", "--format", "$(REPO_URI)", ...filters]);
  const [archive] = stdout.trim().split("\n");
  if (!archive) throw new Error('apt knows no archive of Debian: run "apt-get update"');
  return archive;
}
