/** Runs every check and every test, and ends with one line that says how many passed and how many failed. */
// @ts-check
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countTests, readReport } from "./count-tests.mjs";

// Each counts as one test: a project that does not compile has not passed. The types are checked beside the first tests, on one
// core: more checkers check shared types again, for half as much CPU time again.
const types = { name: "types", command: "tsc", args: ["--checkers", "1"] };
const checks = [
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

const options = process.argv.slice(2);
const isLong = options.includes("--long");
const filters = options.filter((option) => option !== "--long");

// A filter selects certain tests only, and the long tests run after the others.
const isWhole = !isLong && filters.length === 0;
const typesChecked = isWhole ? outcomeOf(types) : undefined;
const passedChecks = isWhole ? await Promise.all(checks.map((check) => outcomeOf(check).then(report))) : [];
const tests = await runVitest();
if (typesChecked) passedChecks.push(report(await typesChecked));
const passed = tests.passed + passedChecks.filter(Boolean).length;
const failed = tests.failed + passedChecks.filter((hasPassed) => !hasPassed).length;
if (tests.passed + tests.failed === 0) console.log("No test ran.");
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || tests.passed === 0 ? 1 : 0;

/** @param {{ name: string, command: string, args: string[] }} check */
async function outcomeOf({ name, command, args }) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const code = await ended(child);
  return { hasPassed: code === 0, text: code === 0 ? `✓ ${name}` : `✗ ${name}\n${output}` };
}

/** @param {{ hasPassed: boolean, text: string }} outcome */
function report({ hasPassed, text }) {
  console.log(text);
  return hasPassed;
}

async function runVitest() {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-tests-"));
  const reportFile = join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const args = ["run", ...reporters, ...(isLong ? ["--mode", "long"] : []), ...filters];
  try {
    const code = await ended(spawn("vitest", args, { stdio: "inherit" }));
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
