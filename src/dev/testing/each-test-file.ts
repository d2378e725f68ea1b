/** Vitest's setupFiles: after each test file, ends the processes that its tests have left running. */
import { join } from "node:path";
import { afterAll, beforeAll, inject, vi } from "vitest";
import { closeStarted } from "./for-file.ts";
import { endNotedProcesses, keptPids, noteProcesses } from "./left-processes.ts";
import { serverPidsOf, testStateFolder } from "./test-run.ts";

const runName = inject("testRunName");
const folder = join(testStateFolder, runName);

noteProcesses(folder);
await closeStarted();

// Code that a file awaits above its tests has no limit of Vitest's: a hang must end, with its worker.
const loading = setTimeout(() => {
  console.error("This test file has not begun its tests within five minutes.");
  process.exit(1);
}, 300_000).unref();
beforeAll(() => clearTimeout(loading));

// Registered before the file's own hooks, it runs after them. The servers are for the whole run, whichever file started
// them; the parts that the worker keeps are for its other files.
afterAll(() => {
  vi.useRealTimers();
  for (const line of endNotedProcesses(folder, {
    startedBy: process.pid,
    spared: [...serverPidsOf(runName), ...keptPids()],
  })) {
    console.error(line);
  }
});
