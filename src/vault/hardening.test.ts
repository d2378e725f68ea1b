import { execFile } from "node:child_process";
import { platform } from "node:os";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { refuseInspection } from "./hardening.ts";

const run = promisify(execFile);
const moduleUrl = JSON.stringify(new URL("hardening.ts", import.meta.url).href);

/** Runs a script that has `refuseInspection` and `disableCoreDumps` in a Node process of its own. */
const runWith = (options: string[], script: string) => {
  const imports = `import { disableCoreDumps, refuseInspection } from ${moduleUrl}; import inspector from "node:inspector";`;
  return run(process.execPath, [...options, "--input-type=module", "--eval", `${imports}\n${script}`]);
};

describe("refuseInspection()", () => {
  it.each(["--inspect=127.0.0.1:0", "--heapsnapshot-signal=SIGUSR2", "--heap-prof", "--report_on_signal"])(
    "refuses a process with %s",
    async (option) => {
      await expect(
        runWith([option, ...(option === "--heap-prof" ? ["--heap-prof-dir=/dev/null"] : [])], "refuseInspection();"),
      ).rejects.toThrow("does not start with a debugger");
    },
  );

  it.each([
    "--heapsnapshot-near-heap-limit=1",
    '--max-old-space-size=512 "--heap-prof"',
    "--report-on-signal",
    "--report_on_signal",
    "--heap_prof",
    "--abort_on-uncaught_exception",
  ])("refuses NODE_OPTIONS with %s, which the command line does not show", (nodeOptions) => {
    expect(() => refuseInspection(nodeOptions, [])).toThrow("does not start with a debugger");
    expect(() => refuseInspection("--max-old-space-size=512 --enable-source-maps", [])).not.toThrow();
  });

  it("prevents the debugger's signal from opening one later", async () => {
    const script = `refuseInspection();
      // A pending signal alone does not keep a process running.
      const alive = setInterval(() => {}, 1_000);
      process.once("SIGUSR1", () => {
        console.log(inspector.url() ?? "closed");
        clearInterval(alive);
      });
      process.kill(process.pid, "SIGUSR1");`;
    expect((await runWith([], script)).stdout.trim()).toBe("closed");
  });
});

describe("disableCoreDumps()", () => {
  it.runIf(platform() === "linux")("turns them off permanently", async () => {
    const script = `console.log(await disableCoreDumps());
      const { execFileSync } = await import("node:child_process");
      console.log(String(execFileSync("sh", ["-c", "ulimit -H -c"])).trim());`;
    expect((await runWith([], script)).stdout.trim().split("\n")).toEqual(["true", "0"]);
  });
});
