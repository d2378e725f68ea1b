/** Memory growth under 20 000 hostile requests of every kind, measured after a collection. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { brokenBodies, hostileBodies } from "../dev/testing/edge/hostile-bodies.ts";
import { hostileHeaders, hostileHosts, hostileLines, hostileTargets } from "../dev/testing/edge/hostile-heads.ts";
import { exchangeRaw } from "../dev/testing/edge/raw-exchange.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { lingerMs } from "../limits.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);

const requestsMin = 20_000;
const atOnce = 20;
// Growth that a JIT and bounded caches may add; one leaked request object each would be 40 MiB and more.
const growthBytesMax = 8 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Returns the bytes in use, in the heap and in buffers beside it. */
function bytesInUse(): number {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

it(`stays within ${growthBytesMax / 1024 / 1024} MiB after ${requestsMin} hostile requests`, async () => {
  const texts = [hostileHosts, hostileLines, hostileTargets, hostileHeaders, hostileBodies, brokenBodies]
    .flat()
    // A megabyte of headers is refused after its first 16 KiB; it is left to the table because of the time it takes.
    .filter(([name]) => name !== "a megabyte of headers")
    .map(([, bytes]) => Buffer.from(bytes.replaceAll("KEY", edge.keys.secret), "latin1"));
  const sendAll = async () => {
    const queue = [...texts];
    const sender = async () => {
      for (let bytes = queue.pop(); bytes !== undefined; bytes = queue.pop()) await exchangeRaw(edge.port, bytes);
    };
    await Promise.all(Array.from({ length: atOnce }, sender));
    expect((await edge.call("GET", "/meta")).status).toBe(200);
  };
  const rounds = Math.ceil(requestsMin / texts.length);
  for (let warm = 0; warm < rounds / 10; warm++) await sendAll();
  const before = bytesInUse();
  for (let round = 0; round < rounds; round++) await sendAll();
  // Refused connections linger for a moment, and are collected after it.
  await expect.poll(() => bytesInUse() - before, { timeout: 10 * lingerMs }).toBeLessThan(growthBytesMax);
});
