import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { retryRound } from "../chaos/check-retries.ts";
import { playAll } from "./play-all.ts";
import { realGateways } from "./world.ts";

const payments = 300;
const seedMax = 2 ** 31 - 1;

describe("three hundred payments at the real connectors under faults", () => {
  it("capture each payment's money once or not at all", { timeout: 900_000 }, async () => {
    const from = randomInt(seedMax - payments);
    const { records, violations, faults, authentications } = await playAll(from, payments);
    const statuses = Map.groupBy(records.sessions, ({ status }) => status);
    const counts = Object.fromEntries([...statuses].map(([status, of]) => [status, of.length]));
    const asked = Map.groupBy(authentications, (end) => end);
    const ends = Object.fromEntries([...asked].map(([end, of]) => [end, of.length]));
    const retries = Map.groupBy(
      records.attempts.filter(({ round }) => round === retryRound),
      ({ gateway, status }) => `${gateway} ${status}`,
    );
    const retried = Object.fromEntries([...retries].map(([end, of]) => [end, of.length]));
    console.info(`Seeds ${from} to ${from + payments - 1}`, counts, ends, faults, retried);
    expect(violations).toEqual([]);
    expect(Object.keys(retried)).toEqual(expect.arrayContaining(["STRIPE CAPTURED", "PAYPAL CAPTURED"]));
    expect(new Set(authentications.map((end) => end.split(" ")[0]))).toEqual(new Set(realGateways));
  });
});
