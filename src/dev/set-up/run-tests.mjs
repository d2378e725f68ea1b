/** Runs every check and every test, and ends with one line that says how many passed and how many failed. */
// @ts-check
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { countTests, readReport } from "./count-tests.mjs";

// Each counts as one test: a project that does not compile has not passed.
const checks = [
  { name: "types", command: "tsc", args: [] },
  { name: "lint and format", command: "biome", args: ["check", "--error-on-warnings"] },
  { name: "nothing unused", command: "knip", args: ["--no-progress"] },
  {
    name: "no export for tests alone",
    command: "knip",
    args: ["--no-progress", "--production", "--include", "files,exports,types"],
  },
  { name: "schema lint", command: "buf", args: ["lint"] },
  {
    name: "no breaking change of a released schema",
    command: "buf",
    args: ["breaking", "--against", "proto/released.binpb"],
  },
];

const inFront = ["--project", "whole", "--project", "parts"];
const behind = ["--project", "simulation"];

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

const options = process.argv.slice(2);
const isLong = options.includes("--long");
const filters = options.filter((option) => option !== "--long");

// A filter selects certain tests only, and the long tests run after the others.
const isPart = isLong || filters.length > 0;
// The end-to-end tests wait half of the time. The checks and the simulation compute in the other half.
const [passedChecks, results] = isPart
  ? [[], [await runVitest(filters)]]
  : await Promise.all([runChecks(), Promise.all([runVitest(inFront), runBehind(behind)])]);
const passed = sumOf(results.map((tests) => tests.passed)) + passedChecks.filter(Boolean).length;
const failed = sumOf(results.map((tests) => tests.failed)) + passedChecks.filter((hasPassed) => !hasPassed).length;
const hasRun = results.every((tests) => tests.passed + tests.failed > 0);
if (!hasRun) console.log("No test ran.");
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || !hasRun ? 1 : 0;

/** @param {number[]} counts */
function sumOf(counts) {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** @returns {Promise<boolean[]>} one for each check: if it has passed */
async function runChecks() {
  /** @type {boolean[]} */
  const passedOnes = [];
  for (const check of checks) passedOnes.push(await passes(check));
  return passedOnes;
}

/** @param {{ name: string, command: string, args: string[] }} check */
async function passes({ name, command, args }) {
  const { code, output } = await runQuietly(command, args);
  console.log(code === 0 ? `✓ ${name}` : `✗ ${name}\n${output}`);
  return code === 0;
}

/**
 * Runs a command at low priority. Its output is for the end, so that it does not mix with that of the tests in front.
 * @param {string} command
 * @param {string[]} args
 */
async function runQuietly(command, args) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  const { pid } = child;
  if (pid !== undefined) {
    lowerPriority(pid);
    // Ctrl-C does not reach a session of its own.
    const stop = () => process.kill(-pid, "SIGTERM");
    process.once("exit", stop);
    child.once("close", () => process.off("exit", stop));
  }
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  return { code: await ended(child), output };
}

/**
 * Lowers the priority of a process that leads a session. Linux shares CPU time between sessions first (sched(7), "The
 * autogroup feature").
 * @param {number} pid
 */
function lowerPriority(pid) {
  const { PRIORITY_LOW } = constants.priority;
  setPriority(pid, PRIORITY_LOW);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(PRIORITY_LOW));
  } catch {
    // A system without such groups.
  }
}

/** @param {string[]} selection */
function runVitest(selection) {
  return countVitest(selection, (args) => ended(spawn("vitest", args, { stdio: "inherit" })));
}

/** @param {string[]} selection */
function runBehind(selection) {
  return countVitest(selection, async (args) => {
    const { code, output } = await runQuietly("vitest", args);
    console.log(output);
    return code;
  });
}

/**
 * @param {string[]} selection
 * @param {(args: string[]) => Promise<number>} run
 */
async function countVitest(selection, run) {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-tests-"));
  const reportFile = join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const args = ["run", ...reporters, ...(isLong ? ["--mode", "long"] : []), ...selection];
  try {
    const code = await run(args);
    return countTests(readReport(reportFile), code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @returns {Promise<number>} its exit code; 1 for a signal or a command that is not there
 */
function ended(child) {
  return new Promise((resolve) => {
    child.once("error", (error) => {
      console.log(error.message);
      resolve(1);
    });
    child.once("close", (code) => resolve(code ?? 1));
  });
}
