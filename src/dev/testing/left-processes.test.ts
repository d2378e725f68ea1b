import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, inject, it } from "vitest";
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
