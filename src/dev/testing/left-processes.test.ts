import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, inject, it } from "vitest";
import { isAlive, markOf } from "../../demo/process-mark.ts";
import { endNotedProcesses, keptPids } from "./left-processes.ts";
import { serverPidsOf, testStateFolder } from "./test-run.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-left-"));
const runFolder = join(testStateFolder, inject("testRunName"));
// What this worker has started for other files, and for the whole run.
const others = () => [...keptPids(), ...serverPidsOf(inject("testRunName"))];

afterAll(() => rmSync(folder, { recursive: true }));

/** A process that SIGTERM does not end; it prints its id when it has begun to refuse. */
async function startStubborn() {
  const script = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000); console.log("ready")`;
  const child = spawn(process.execPath, ["--eval", script], { env: {}, stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  return child;
}

describe("endNotedProcesses()", () => {
  it("ends a process that ignores SIGTERM, says so, and forgets one that ended by itself", async () => {
    const ended = await startStubborn();
    ended.kill("SIGKILL");
    await once(ended, "exit");
    const left = await startStubborn();
    const exit = once(left, "exit");
    left.kill("SIGTERM");
    expect(readdirSync(runFolder)).toContain(`process-${left.pid}.json`);
    expect(readdirSync(runFolder)).not.toContain(`process-${ended.pid}.json`);
    // Another worker's processes are not touched, nor what is spared.
    expect(endNotedProcesses(runFolder, { startedBy: process.pid, spared: [left.pid!, ...others()] })).toEqual([]);
    expect(endNotedProcesses(runFolder, { startedBy: process.pid, spared: others() })).toEqual([
      expect.stringMatching(new RegExp(`^Ended process ${left.pid}, which a test left running: .*SIGTERM`)),
    ]);
    expect(await exit).toEqual([null, "SIGKILL"]);
  });

  it("does not kill another process that got the same id later", () => {
    const mark = { pid: process.pid, birth: "another moment" };
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "process-1.json"), JSON.stringify({ mark, startedBy: 1, command: "gone" }));
    expect(endNotedProcesses(folder)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("a run of the tests", () => {
  it("leaves no process behind, even if a test timed out with one", { timeout: 120_000 }, () => {
    // A separate run, in a folder of the checkout because its file imports vitest.
    const own = mkdtempSync(join(testStateFolder, "left-run-"));
    try {
      const pidFile = join(own, "pid");
      writeFileSync(
        join(own, "hanging.test.mjs"),
        `import { spawn } from "node:child_process";
        import { writeFileSync } from "node:fs";
        import { it } from "vitest";
        it("hangs", { timeout: 5_000 }, async () => {
          const script = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000); console.log("ready")';
          const child = spawn(process.execPath, ["--eval", script], { stdio: ["ignore", "pipe", "ignore"] });
          child.stdout.once("data", () => writeFileSync(${JSON.stringify(pidFile)}, String(child.pid)));
          await new Promise(() => {});
        });`,
      );
      const config = `import base from ${JSON.stringify(join(import.meta.dirname, "../../../vitest.config.ts"))};
        const { test } = base({ mode: "test" });
        export default { root: ${JSON.stringify(join(import.meta.dirname, "../../.."))}, test: { ...test, projects: undefined, include: [${JSON.stringify(`${own}/*.test.mjs`)}] } };`;
      writeFileSync(join(own, "vitest.config.mjs"), config);
      const said = failedRun(join(own, "vitest.config.mjs"));
      expect(said).toContain("hangs");
      const [, pid] = /Ended process (\d+), which a test left running/.exec(said) ?? [];
      expect(pid).toMatch(/^\d+$/);
      expect(markOf(Number(pid)) && isAlive(markOf(Number(pid))!)).toBe(undefined);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });
});

function failedRun(config: string): string {
  const vitest = join(import.meta.dirname, "../../../node_modules/vitest/vitest.mjs");
  try {
    execFileSync(process.execPath, [vitest, "run", "--config", config], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return stdout + stderr;
  }
  throw new Error("the run did not fail");
}
