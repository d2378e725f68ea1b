import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { addressesFrom } from "../../demo/ports.ts";
import { freePortRange } from "../testing/free-port-range.ts";

it("switchyard demo --temporary removes its data at the stop, also the copy of PostgreSQL that root has", {
  timeout: 120_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "switchyard-temporary-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const port = await freePortRange(Object.keys(addressesFrom(0).ports).length);
  const main = join(import.meta.dirname, "../../main.mjs");
  const command = [process.execPath, main, "demo", "--temporary", "--port", String(port)];
  const demo = spawn("env", [`TMPDIR=${folder}`, ...command], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(demo, "exit");
  // Only a demo that stops by itself ends its PostgreSQL and nats-server too.
  onTestFinished(async () => {
    demo.kill("SIGTERM");
    await ended;
  }, 60_000);
  const said = text(demo.stdout);
  await Promise.race([once(demo.stdout, "readable"), ended]);
  await expect.poll(async () => (await readdir(folder)).length, { timeout: 60_000 }).toBe(1);
  const state = join(folder, (await readdir(folder))[0]!);
  await expect.poll(() => existsSync(join(state, "demo.json")), { timeout: 60_000 }).toBe(true);
  const { dataFolder } = JSON.parse(await readFile(join(state, "postgres.json"), "utf8"));
  demo.kill("SIGTERM");
  const [code] = await ended;
  expect(code).toBe(0);
  expect(await said).toContain("Stopped, and removed all data.");
  expect(await readdir(folder)).toEqual([]);
  // As root the data lies in a folder of the server, beside the binaries.
  expect(existsSync(join(dataFolder, "../.."))).toBe(process.getuid?.() !== 0);
});
