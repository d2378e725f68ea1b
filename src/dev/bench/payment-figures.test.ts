import { expect, it } from "vitest";
import type { PaidTurn, PaymentBenchResult, PaymentRound } from "./payment-bench.ts";
import { compareAdded, compareCpu, compareQuiet, compareRates, compareTimes, cpuByProcess } from "./payment-figures.ts";

const roundOf = (ours: [number, number], peer: [number, number]): PaymentRound => ({
  ours: { approved: [ours[0]], failover: [ours[1]] },
  peer: { approved: [peer[0]], failover: [peer[1]] },
});
const turnOf = (payments: number, cpuMs: Record<string, number>): PaidTurn => ({
  payments,
  failures: 0,
  elapsedMs: 1_000,
  cpuMs,
});

const result: PaymentBenchResult = {
  rounds: [roundOf([20, 30], [10, 15]), roundOf([90, 120], [30, 50]), roundOf([20, 28], [10, 14])],
  paid: [
    {
      ours: turnOf(60, { edge: 5, postgres: 4, sandbox: 9, "peer service": 1 }),
      peer: turnOf(100, { edge: 1, postgres: 2, sandbox: 9, "peer service": 3, "peer worker": 1 }),
    },
  ],
  quiet: [{ ours: { quietMs: 12, busyMs: [9, 10, 11] }, peer: { quietMs: 5, busyMs: [5, 5, 5] } }],
  counted: {
    ours: { created: {}, approved: {}, failover: {}, notifications: {} },
    peer: { created: {}, approved: {}, failover: {}, notifications: {} },
  },
  memory: {},
  postgres: { version: "18", durability: {} },
};

it("compares the two sides of the same turn, so that a slow turn changes no ratio", () => {
  expect(compareTimes(result, "approved", 0.5).ratio).toEqual({ median: 2, min: 2, max: 3 });
  expect(compareAdded(result).ratio).toEqual({ median: 2, min: 1.5, max: 2 });
  expect(compareRates(result).ratio.median).toBe(0.6);
});

it("assigns PostgreSQL's time to the side whose turn it was, and that of the sandbox to none", () => {
  expect(compareCpu(result)).toMatchObject({ ours: { median: 9 }, peer: { median: 6 }, ratio: { median: 1.5 } });
  expect(compareCpu(result, ["postgres"]).ratio.median).toBe(2);
  expect(cpuByProcess(result, "ours", "own")).toContainEqual(["postgres", 4]);
  expect(cpuByProcess(result, "peer", "shared")).toEqual([["sandbox", 9]]);
});

it("compares a submission after a quiet time with those that follow it", () => {
  expect(compareQuiet(result, "ours").ratio.median).toBe(1.2);
});
