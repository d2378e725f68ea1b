import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { replay, type SimulationServer, startSimulationServer } from "./simulate.ts";

const main = join(import.meta.dirname, "main.ts");
const root = join(import.meta.dirname, "../../..");
// The seeds take a quarter of a minute on two quiet cores; the rest is for a busy machine. `npm run test:long` plays ten
// thousand new ones.
const timeoutMs = 900_000;

// One against a second capture, one against a second authorization and one against refunds above the capture. Only the last
// needs a schema of its own. `npm run test:long` removes every rule.
const moneyRules = ["capture-one-key", "look-up-reads", "refund-sum"];

type Ended = { readonly code: number; readonly output: string };

function simulate(...options: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...options], { maxBuffer: 100_000_000 }, (error, output, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: output + errors });
    });
  });
}

/** One PostgreSQL for what is played without a command, for a start takes two seconds of CPU time. */
let server: SimulationServer;
beforeAll(async () => {
  server = await startSimulationServer(root);
});
afterAll(() => server?.stop());

async function replayed(seed: number): Promise<string> {
  const { history, status, violation } = await replay({ serverUrl: server.url, root, seed });
  return `${history.join("\n")}\n\nSeed ${seed}: ${violation ?? `${status}, 0 violations`}\n`;
}

// The end of one run, when only its last seeds are played, leaves a core to another.
describe.concurrent("npm run sim", { timeout: timeoutMs }, () => {
  it("finds no violation in forty seeds", async ({ expect }) => {
    const { code, output } = await simulate("--seeds", "40", "--processes", "2");
    expect(output).toMatch(/^40 seeds, \d+ steps, 0 violations,/m);
    // Seeds in which hardly anyone pays show nothing.
    expect(Number(/SUCCEEDED (\d+)/.exec(output)?.[1])).toBeGreaterThan(10);
    expect(code).toBe(0);
  });

  it("detects the removal of rules against a second capture, a second authorization and too many refunds", async ({
    expect,
  }) => {
    const { code, output } = await simulate("--break", moneyRules.join(","), "--least", "--seeds", "10000");
    expect(output).toMatch(new RegExp(`^${moneyRules.length} rules missed, 0 not: none$`, "m"));
    expect(code).toBe(0);
  });

  it("plays a seed again in exactly the same way, step by step", async ({ expect }) => {
    const [first, second] = await Promise.all([simulate("--seed", "15"), replayed(15)]);
    expect(first.output).toMatch(/Seed 15: \w+, 0 violations/);
    expect(first.output).toBe(second);
    // As the service does, it calls the functions of a partition.
    expect(first.output).toMatch(/process \d +claim_rest$/m);
  });

  it("lists the rules when the one to break does not exist", async ({ expect }) => {
    const { code, output } = await simulate("--break", "gravity");
    expect(output).toContain("no rule is called gravity; the rules are winner-once,");
    expect(code).toBe(1);
  });
});
