/** A machine for tests of the set-up: a folder that looks like a fresh checkout, and commands that do what a test says. */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How a program ended: its exit code and all that it printed, in the order of its streams. */
export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** The PATH holds the given commands and the shell's own; `remove()` it at the test's end. */
export class PretendMachine {
  readonly checkout: string = mkdtempSync(join(tmpdir(), "switchyard-set-up-"));
  readonly #commands = join(this.checkout, "commands");

  constructor() {
    cpSync(import.meta.dirname, join(this.checkout, "src", "set-up"), { recursive: true });
    mkdirSync(this.#commands);
    writeFileSync(join(this.checkout, "package-lock.json"), "{}");
    // The tools that the commands below are written with.
    for (const tool of ["bash", "mkdir", "ln", "touch", "chmod"]) this.#link(tool);
  }

  /** Puts a command on the PATH; every call of it is noted. */
  has(name: string, script = ""): void {
    const lines = ["#!/bin/bash", `echo "${name} $*" >> '${this.#notes}'`, script, ""];
    writeFileSync(join(this.#commands, name), lines.join("\n"), { mode: 0o755 });
  }

  /** Writes a file of the checkout. */
  change(path: string, text: string): void {
    writeFileSync(join(this.checkout, path), text);
  }

  /** The calls of commands so far, with their arguments. */
  get calls(): string[] {
    return existsSync(this.#notes) ? readFileSync(this.#notes, "utf8").trim().split("\n") : [];
  }

  /** Runs a program of src/set-up with this very Node. */
  run(program: string, ...args: string[]): Promise<Ended> {
    const file = join(this.checkout, "src", "set-up", program);
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
