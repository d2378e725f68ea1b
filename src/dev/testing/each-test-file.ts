/** Vitest's setupFiles: after each test file, ends the processes that its tests have left running. */
import { join } from "node:path";
import { afterAll, inject, vi } from "vitest";
import { endNotedProcesses, keptPids, noteProcesses } from "./left-processes.ts";
import { serverPidsOf, testStateFolder } from "./test-run.ts";

const runName = inject("testRunName");
const folder = join(testStateFolder, runName);

noteProcesses(folder);

// Registered before the file's own hooks, it runs after them. The servers are for the whole run, whichever file started
// them; what the worker keeps is for its other files.
afterAll(() => {
  vi.useRealTimers();
  for (const line of endNotedProcesses(folder, {
    startedBy: process.pid,
    spared: [...serverPidsOf(runName), ...keptPids()],
  })) {
    console.error(line);
  }
});
