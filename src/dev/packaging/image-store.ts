/** Images and their files, by buildah, in a folder that nothing else uses. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getCACertificates } from "node:tls";
import { promisify } from "node:util";

const run = promisify(execFile);

// A build prints the output of its steps.
const outputBytesMax = 2 ** 26;

export type ImageConfig = {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly StopSignal: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
};

/** A store of images. Close it, which removes the folder. */
export class ImageStore {
  readonly #folder: string;
  readonly #temporary: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#temporary = join(folder, "temporary");
  }

  static async open(folder: string): Promise<ImageStore> {
    const store = new ImageStore(folder);
    await mkdir(store.#temporary, { recursive: true });
    return store;
  }

  async importArchive(archive: string, image: string): Promise<void> {
    const container = await this.#buildah("from", "scratch");
    await this.#buildah("add", "--quiet", container, archive, "/");
    const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    await this.#buildah("config", "--env", path, "--cmd", "node", container);
    await this.#buildah("commit", "--quiet", "--rm", "--format", "docker", container, `localhost/${image}`);
  }

  /** Builds an image of the text of a Dockerfile as docs/deploying.md says, without pulling anything. */
  async build(options: { readonly context: string; readonly dockerfile: string; readonly tag: string }): Promise<void> {
    const { context, dockerfile, tag } = options;
    const npmrc = join(this.#folder, "npmrc");
    const file = join(this.#folder, "Dockerfile");
    await writeFile(file, dockerfile);
    // The builder reads it from beside the file.
    await copyFile(join(context, "deploy/Dockerfile.dockerignore"), `${file}.dockerignore`);
    await writeFile(npmrc, await npmSettings(), { mode: 0o600 });
    // The format has health checks, which OCI's has not.
    const how = ["--isolation", "chroot", "--pull-never", "--format", "docker", "--secret", `id=npmrc,src=${npmrc}`];
    await this.#buildah("build", ...how, "--file", file, "--tag", tag, context);
  }

  async configOf(image: string): Promise<ImageConfig> {
    const { Docker } = JSON.parse(await this.#buildah("inspect", "--type", "image", image));
    return Docker.config as ImageConfig;
  }

  async sizeOf(image: string): Promise<string> {
    const [found] = JSON.parse(await this.#buildah("images", "--json", image));
    return found.size as string;
  }

  /** Returns a folder with the files of a container that is made from an image. */
  async unpack(image: string): Promise<string> {
    const container = await this.#buildah("from", "--pull-never", image);
    return this.#buildah("mount", container);
  }

  close(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true });
  }

  async #buildah(...args: string[]): Promise<string> {
    const temporary = `TMPDIR=${this.#temporary}`;
    // vfs: whole folders instead of mounts, so that removing the folder removes everything.
    const store = ["--root", join(this.#folder, "images"), "--runroot", join(this.#folder, "run")];
    const command = ["buildah", ...store, "--storage-driver", "vfs", ...args];
    const { stdout } = await run("env", [temporary, ...command], { maxBuffer: outputBytesMax });
    return stdout.trim();
  }
}

/** Returns settings with which npm reaches the registry of this machine, whose certificate may be the machine's own. */
async function npmSettings(): Promise<string> {
  const { stdout } = await run("npm", ["config", "get", "registry"]);
  const authorities = [...new Set(getCACertificates())].map((pem) => `ca[]=${JSON.stringify(pem)}\n`);
  return `registry=${stdout.trim()}\n${authorities.join("")}`;
}
