/** Runs one command of the set-up with a progress line, and keeps its output for the case that it fails. */
// @ts-check
import { spawn } from "node:child_process";

/** A step that failed; the message is for the person at the keyboard. */
export class StepFailed extends Error {}

// Fast enough to look alive, slow enough to cost almost nothing.
const redrawEveryMs = 100;
const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const outputLinesShown = 12;

/**
 * Runs a command to its end. Throws StepFailed with the last lines of its output; `otherwise` says what a failure means,
 * `soFar` how much is done.
 * @param {{ what: string, command: string, args: string[], cwd: string, env?: NodeJS.ProcessEnv, otherwise?: string, soFar?: () => string }} step
 */
export async function runStep({ what, command, args, cwd, env = process.env, otherwise = "failed", soFar }) {
  const stopShowing = showProgress(what, soFar);
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const how = await new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(code === 0 ? undefined : (signal ?? `exit code ${code}`)));
  });
  if (how === undefined) return stopShowing("done");
  stopShowing(otherwise);
  const lines = withoutAddresses(output).trim().split("\n").slice(-outputLinesShown);
  throw new StepFailed(
    `"${command} ${args.join(" ")}" failed (${how}):\n${lines.map((line) => `  ${line}`).join("\n")}`,
  );
}

/**
 * Shows the running step and its duration: a spinner on a terminal, else a line at the beginning and one at the end.
 * @param {string} what
 * @param {() => string} [soFar]
 * @returns {(outcome: string) => void} ends it
 */
function showProgress(what, soFar = () => "") {
  const startedAt = Date.now();
  const seconds = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`;
  if (!process.stderr.isTTY) {
    process.stderr.write(`${what} …\n`);
    return (outcome) => void process.stderr.write(`${what}: ${outcome} after ${seconds()}\n`);
  }
  let turn = 0;
  const draw = () =>
    process.stderr.write(`\r\x1b[K${spinner[turn++ % spinner.length]} ${what} … ${seconds()}${soFar()}`);
  draw();
  const timer = setInterval(draw, redrawEveryMs);
  return (outcome) => {
    clearInterval(timer);
    process.stderr.write(`\r\x1b[K${what}: ${outcome} after ${seconds()}\n`);
  };
}

/**
 * Removes the addresses of packages: a log that is passed on must not name a machine's mirror.
 * @param {string} text
 */
function withoutAddresses(text) {
  const hostOfDomain = /\b[a-z0-9-]+(\.[a-z0-9-]+)*\.(com|org|net|io|dev|local|internal|lan|cloud)(:\d+)?\b/gi;
  return text
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'`)]+/gi, "<address>")
    .replace(/\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b/g, "<address>")
    .replace(hostOfDomain, "<address>");
}
