import { describe, expect, it } from "vitest";
import type { Round } from "./contestant.ts";
import type { Scaling } from "./webhook-bench.ts";
import { linesOfWebhooks } from "./webhook-report.ts";

const rounds = (rate: number): Round[] => [{ requestsPerSecond: rate, failures: 0 }];
const scaling = (workers: number, natsServers: 1 | 3, rate: number, busyShare: number): Scaling => {
  return { workers, natsServers, rounds: rounds(rate), busyShare };
};

function judge(...all: Scaling[]): (boolean | undefined)[] {
  return linesOfWebhooks({ throughput: [], latency: undefined, scaling: all }).map(({ isReached }) => isReached);
}

describe("linesOfWebhooks()", () => {
  it("expects more from more workers while the machine has capacity, on each number of nats-servers", () => {
    expect(judge(scaling(1, 1, 900, 0.6), scaling(2, 1, 1_500, 0.8), scaling(4, 1, 1_400, 0.8))).toEqual([
      undefined,
      true,
      false,
    ]);
    expect(judge(scaling(1, 1, 900, 0.6), scaling(1, 3, 700, 0.6), scaling(2, 3, 800, 0.9))).toEqual([
      undefined,
      undefined,
      true,
    ]);
  });

  it("expects more workers on a full machine to cost nothing, beside the fewest", () => {
    expect(judge(scaling(1, 1, 1_000, 0.95), scaling(2, 1, 1_000, 1))).toEqual([undefined, true]);
    expect(judge(scaling(1, 1, 1_000, 0.95), scaling(2, 1, 990, 1))).toEqual([undefined, false]);
    expect(judge(scaling(1, 1, 1_000, 0.9), scaling(2, 1, 1_500, 0.95), scaling(4, 1, 1_100, 1))).toEqual([
      undefined,
      true,
      true,
    ]);
  });
});
