import { existsSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { startPrivateNats } from "../../../demo/private-nats.ts";
import { markOf } from "../../../demo/process-mark.ts";
import { clearScratch } from "./play-parts.ts";

it("clearScratch() stops a server that a benchmark has left running, and removes all of its files", async () => {
  const scratch = await mkdtemp(join(tmpdir(), "switchyard-scratch-test-"));
  const stateFolder = join(scratch, "harness");
  await mkdir(stateFolder);
  const nats = await startPrivateNats({ stateFolder });
  expect(markOf(nats.pid)).toBeDefined();
  await clearScratch(scratch);
  expect(markOf(nats.pid)).toBeUndefined();
  expect(existsSync(scratch)).toBe(false);
  expect(existsSync(dirname(scratch))).toBe(true);
});
