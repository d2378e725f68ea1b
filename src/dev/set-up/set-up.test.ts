import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const installsNode24 = `mkdir -p node_modules/.bin; ln -sf '${process.execPath}' node_modules/.bin/node`;

function machine(): FakeMachine {
  const made = new FakeMachine();
  onTestFinished(() => made.remove());
  return made;
}

describe("set-up", () => {
  it("installs the packages on a fresh checkout, and again only when the lock has changed", async () => {
    const fresh = machine();
    fresh.has("npm", installsNode24);
    fresh.has("nats-server");
    const first = await fresh.run("set-up.mjs");
    expect(first).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/Installing packages: done after \d+\.\d s/),
    });
    expect(fresh.calls).toContain("npm ci --no-audit --no-fund --loglevel=error");
    const callsThen = fresh.calls.filter((call) => call.startsWith("npm"));
    expect(await fresh.run("set-up.mjs")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(fresh.calls.filter((call) => call.startsWith("npm"))).toEqual(callsThen);
    fresh.has("node", "echo v24.0.0");
    fresh.change("package-lock.json", "{ }");
    await fresh.run("set-up.mjs");
    expect(fresh.calls.filter((call) => call.startsWith("npm"))).toHaveLength(2);
  });

  it("installs the development packages for the tests where an install has left them out, and not for a start", async () => {
    const lean = machine();
    lean.change("package.json", '{"devDependencies": {"vitest": "1.0.0", "@scope/tool": "1.0.0"}}');
    const installed = "mkdir -p node_modules/vitest node_modules/@scope/tool";
    lean.has("npm", `${installsNode24}; case "$*" in *--include=dev*) ${installed};; esac`);
    lean.has("nats-server");
    const installs = () => lean.calls.filter((call) => call.startsWith("npm"));
    await lean.run("set-up.mjs");
    expect(await lean.run("set-up.mjs")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(installs()).toHaveLength(1);
    expect((await lean.run("set-up.mjs", "--browser")).stderr).toContain("Installing packages: done");
    expect(installs().at(-1)).toBe("npm install --include=dev --no-audit --no-fund --loglevel=error");
    await lean.run("set-up.mjs", "--development");
    expect(installs()).toHaveLength(2);
  });

  it("says what failed and what to do next, without the addresses of registries", async () => {
    const offline = machine();
    const complaint = "request to https://registry.example.com/pg failed: ENOTFOUND registry.example.com 192.0.2.7:443";
    offline.has("npm", `echo "npm error ${complaint}" >&2; exit 1`);
    const { code, stderr } = await offline.run("set-up.mjs");
    expect(code).toBe(1);
    expect(stderr).toContain("npm error request to <address> failed: ENOTFOUND <address> <address>");
    expect(stderr).toContain("Check that this machine reaches an npm registry");
    expect(stderr).not.toMatch(/example|192/);
  });

  it("names the required Node when none came with the packages", async () => {
    const strange = machine();
    strange.has("npm", "mkdir -p node_modules");
    strange.has("node", "echo v20.20.2");
    const { code, stderr } = await strange.run("set-up.mjs");
    expect(code).toBe(1);
    expect(stderr).toContain("Install Node 24 or newer on this machine");
  });

  it("unpacks nats-server into the state folder, fetching the package lists when they are missing", async () => {
    const debian = machine();
    debian.has("npm", installsNode24);
    debian.has(
      "apt-get",
      `[ "$1" = --version ] && exit; [ "$2" = update ] && touch '${debian.checkout}/lists'; [ -e '${debian.checkout}/lists' ] && touch nats-server.deb`,
    );
    const makesServer = "mkdir -p unpacked/usr/sbin; echo '#!/bin/bash' > unpacked/usr/sbin/nats-server";
    debian.has("dpkg-deb", `${makesServer}; chmod +x unpacked/usr/sbin/nats-server`);
    expect((await debian.run("set-up.mjs")).stderr).toContain("Unpacking nats-server: done");
    expect(debian.calls.filter((call) => /^(apt-get -qq|dpkg-deb)/.test(call))).toEqual([
      "apt-get -qq download nats-server",
      "apt-get -qq update",
      "apt-get -qq download nats-server",
      "dpkg-deb -x nats-server.deb unpacked",
    ]);
    expect(await debian.run("set-up.mjs")).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("lets a start continue without nats-server, because it may use another server, but not the tests", async () => {
    const elsewhere = machine();
    elsewhere.has("npm", installsNode24);
    const start = await elsewhere.run("set-up.mjs");
    expect(start.code).toBe(0);
    expect(start.stderr).toContain("nats-server could not be installed. This system has no apt-get.");
    expect(start.stderr).toContain("npm start -- --nats URL");
    expect((await elsewhere.run("set-up.mjs", "--browser")).code).toBe(1);
  });
});

describe("run-tests", () => {
  const report = (...statuses: string[]) =>
    JSON.stringify({ testResults: [{ status: "passed", assertionResults: statuses.map((status) => ({ status })) }] });
  const writesReport = (text: string) =>
    `for a; do case $a in --outputFile.json=*) echo '${text}' > "\${a#*=}";; esac; done`;

  function checkedMachine(vitest: string): FakeMachine {
    const made = machine();
    for (const check of ["tsc", "biome", "knip", "buf"]) made.has(check);
    made.has("vitest", vitest);
    return made;
  }

  it("ends with a last line that has only the numbers of checks and tests", async () => {
    const { code, stdout } = await checkedMachine(writesReport(report("passed", "passed"))).run("run-tests.mjs");
    expect(code).toBe(0);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("8 passed, 0 failed");
  });

  it("counts a check that fails, prints its output and exits with 1", async () => {
    const made = checkedMachine(writesReport(report("passed")));
    made.has("tsc", "echo 'src/a.ts(1,1): error'; exit 2");
    const { code, stdout } = await made.run("run-tests.mjs");
    expect(code).toBe(1);
    expect(stdout).toContain("✗ types\nsrc/a.ts(1,1): error");
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("6 passed, 1 failed");
  });

  it("exits with 1 when no test ran", async () => {
    const { code, stdout } = await checkedMachine(writesReport(report())).run("run-tests.mjs");
    expect(code).toBe(1);
    expect(stdout).toContain("No test ran.");
  });

  it("runs the long tests, and only them, with --long", async () => {
    const made = checkedMachine(writesReport(report("passed")));
    expect((await made.run("run-tests.mjs", "--long")).stdout.trimEnd().split("\n").at(-1)).toBe("1 passed, 0 failed");
    expect(made.calls).toEqual([expect.stringMatching(/^vitest run .* --mode long$/)]);
  });

  it("passes names of tests to Vitest", async () => {
    const made = checkedMachine(writesReport(report("passed")));
    await made.run("run-tests.mjs", join("src", "core"));
    expect(made.calls).toEqual([expect.stringMatching(/^vitest run .* src\/core$/)]);
  });
});

/** The end of a program: its exit code and its output, in the order of its streams. */
type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** A simulated machine. Its PATH holds the given commands and the shell's own; `remove()` it at the test's end. */
class FakeMachine {
  readonly checkout: string = mkdtempSync(join(tmpdir(), "switchyard-set-up-"));
  readonly #commands = join(this.checkout, "commands");

  constructor() {
    cpSync(import.meta.dirname, join(this.checkout, "src", "dev", "set-up"), { recursive: true });
    mkdirSync(this.#commands);
    for (const name of ["package.json", "package-lock.json"]) writeFileSync(join(this.checkout, name), "{}");
    // The tools that the commands below are written with.
    for (const tool of ["bash", "mkdir", "ln", "touch", "chmod"]) this.#link(tool);
  }

  /** Puts a command on the PATH; every call of it is recorded. */
  has(name: string, script = ""): void {
    const lines = ["#!/bin/bash", `echo "${name} $*" >> '${this.#notes}'`, script, ""];
    writeFileSync(join(this.#commands, name), lines.join("\n"), { mode: 0o755 });
  }

  change(path: string, text: string): void {
    writeFileSync(join(this.checkout, path), text);
  }

  get calls(): string[] {
    return existsSync(this.#notes) ? readFileSync(this.#notes, "utf8").trim().split("\n") : [];
  }

  /** Runs a program of src/dev/set-up with the Node of this process. */
  run(program: string, ...args: string[]): Promise<Ended> {
    const file = join(this.checkout, "src", "dev", "set-up", program);
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        [file, ...args],
        { cwd: this.checkout, env: { PATH: this.#commands } },
        (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });
  }

  remove(): void {
    rmSync(this.checkout, { recursive: true, force: true });
  }

  get #notes(): string {
    return join(this.checkout, "calls");
  }

  #link(tool: string): void {
    writeFileSync(join(this.#commands, tool), `#!/bin/sh\nexec /bin/${tool} "$@"\n`, { mode: 0o755 });
  }
}
