import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "switchyard-main-"));

afterAll(() => rmSync(folder, { recursive: true }));

function run(...args: string[]) {
  const { status, stderr } = spawnSync("node", [join(import.meta.dirname, "main.mjs"), ...args], { encoding: "utf8" });
  return { status, stderr };
}

it("says what to do, and not the system error behind it", () => {
  // Below the ports that the system gives to others; a demo of another test that is here says so in a line of its own.
  const args = ["demo", "--state", folder, "--port", "6900", "--postgres", "postgres://a:b@127.0.0.1:1/postgres"];
  const { status, stderr } = run(...args);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^(PostgreSQL does not answer at the address given with --postgres: .*|Port 69\d\d .*)\n$/);
});

it("names a wrong argument with its rule", () => {
  const { status, stderr } = run("demo", "--port", "80");
  expect(status).toBe(1);
  expect(stderr).toContain("It must be a number from 1024 to 65530.");
});

it("says where it runs if it was installed as a package, and Node cannot read it", () => {
  const installed = join(folder, "node_modules", "switchyard", "main.mjs");
  cpSync(join(import.meta.dirname, "main.mjs"), installed);
  const { status, stderr } = spawnSync("node", [installed, "--help"], { encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^Switchyard runs in its own folder, .*: call `npx switchyard` there, not .*\n$/);
});

it("loads a command's files only when it is called, so that help appears at once", () => {
  const list = `import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) { if (url.startsWith("file:")) console.error(url); return next(url, context); } });`;
  const loaded = (...args: string[]) => {
    const hook = ["--import", `data:text/javascript,${encodeURIComponent(list)}`];
    const { stderr } = spawnSync("node", [...hook, join(import.meta.dirname, "main.mjs"), ...args], {
      encoding: "utf8",
    });
    return stderr
      .trim()
      .split("\n")
      .filter((line) => line.startsWith("file:"));
  };
  // Commander, and six files of ours.
  expect(loaded("--help").length).toBeLessThan(20);
  expect(loaded("listen", "--help").length).toBeGreaterThan(20);
  // Neither the settings of every role nor Protobuf.
  for (const name of ["rpc", "member", "session", "doctor"])
    expect(loaded(name, "--help").filter((url) => /config\/|node_modules\/(?!commander\/)/.test(url))).toEqual([]);
});
