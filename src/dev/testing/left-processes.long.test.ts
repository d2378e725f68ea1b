import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAlive, markOf } from "../../demo/process-mark.ts";
import { testStateFolder } from "./test-run.ts";

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
