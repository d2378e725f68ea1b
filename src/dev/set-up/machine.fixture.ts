/** A machine for tests of the set-up: a folder like a fresh checkout, and commands with scripts of the test. */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The end of a program: its exit code and its output, in the order of its streams. */
export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** A simulated machine. Its PATH holds the given commands and the shell's own; `remove()` it at the test's end. */
export class FakeMachine {
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
