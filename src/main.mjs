#!/usr/bin/env node
/**
 * The entry point of the command line. Node caches compiled code here, so that the next process starts sooner. This file
 * itself is read before the cache, so it is JavaScript: for one in TypeScript, Node would load its compiler each time.
 */
// @ts-check
import nodeModule from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";

// Older ones fail with a SyntaxError, and none reads TypeScript below node_modules.
if (Number.parseInt(process.versions.node, 10) < 24 || import.meta.dirname.includes("/node_modules/")) {
  console.error(
    `Switchyard runs in its own folder, by the Node 24 of its packages: call \`npx switchyard\` there, not ${import.meta.filename} by Node ${process.versions.node}.`,
  );
  process.exit(1);
}

// These run until they are stopped, and work in this process; every other command, and every help, ends soon.
const runsOn = ["serve", "listen", "demo"].includes(process.argv[2] ?? "");
const wantsHelp = process.argv.includes("--help") || process.argv.includes("-h");
// A short command gives V8's workers nothing to optimize: one of them could wait forever for a garbage collection by
// the main thread while that waits for it to end (https://github.com/nodejs/node/issues/54918, Node 24.21). Therefore
// this comes first. Node's own start runs before it, and may submit a function or two of node:path if the path is long.
if (!runsOn || wantsHelp) {
  setFlagsFromString("--no-opt");
  setFlagsFromString("--no-maglev");
}
// Before any of our modules is loaded. If it cannot write, as in a container, the program runs without a cache.
nodeModule.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/switchyard"));
const { runCommandLine } = await import("./command-line/run.ts");
await runCommandLine();
