/** Writes what people publish for other languages and for Node, in the version of the API, and its checksums. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildClientPackage } from "./build-client-package.ts";

const root = join(import.meta.dirname, "../../..");
const run = promisify(execFile);

/** Writes the archives and SHA256SUMS into the folder and replaces its content. The same commit gives the same bytes. */
export async function buildClients(folder: string): Promise<string[]> {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const built = await mkdtemp(join(tmpdir(), "switchyard-clients-"));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  try {
    await buildClientPackage(join(built, "package"));
    for (const language of ["python", "php"]) {
      const target = join(built, `switchyard-${language}-${version}`);
      const isSource = (path: string) => !path.includes("__pycache__");
      await cp(join(root, "clients", language), target, { recursive: true, filter: isSource });
      await cp(join(root, "LICENSE"), join(target, "LICENSE"));
    }
    for (const used of ["payments", "buf", "google"]) {
      await cp(join(root, "proto", used), join(built, `switchyard-protos-${version}`, used), { recursive: true });
    }
    // npm looks for the folder "package" in an archive.
    await pack(built, "package", join(folder, `switchyard-client-${version}.tgz`));
    await pack(built, `switchyard-python-${version}`, join(folder, `switchyard-python-${version}.tar.gz`));
    await pack(built, `switchyard-php-${version}`, join(folder, `switchyard-php-${version}.tar.gz`));
    await pack(built, `switchyard-protos-${version}`, join(folder, `switchyard-protos-${version}.tgz`));
  } finally {
    await rm(built, { recursive: true });
  }
  const names = (await readdir(folder)).toSorted();
  const sums = await Promise.all(
    names.map(async (name) => {
      const hash = createHash("sha256").update(await readFile(join(folder, name)));
      return `${hash.digest("hex")}  ${name}\n`;
    }),
  );
  await writeFile(join(folder, "SHA256SUMS"), sums.join(""));
  return names;
}

/** Leaves out what differs between machines: times, owners and the order of files. */
async function pack(from: string, name: string, archive: string): Promise<void> {
  const same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"];
  await run("tar", [...same, "--use-compress-program=gzip -n", "-cf", archive, "-C", from, name]);
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(root, ".switchyard", "clients");
  const names = await buildClients(folder);
  console.log(`Wrote ${names.join(", ")} and SHA256SUMS to ${folder}. docs/releasing.md says who publishes them.`);
}
