import { describe, expect, it } from "vitest";
import { type Candidate, planRoute } from "./routing.ts";

const candidate = (change: Partial<Candidate> = {}): Candidate => ({
  connectionId: "c",
  gateway: "SANDBOX_A",
  credentialVersion: 1,
  paused: false,
  ...change,
});
const plan = (...candidates: Candidate[]) => planRoute({ version: 1, failoverOn: [], candidates });

describe("planRoute()", () => {
  it("keeps the rule's order and its priorities, also beside a gap", () => {
    const { plan: planned } = plan(candidate(), candidate({ paused: true }), candidate({ gateway: "SANDBOX_B" }));
    expect(planned.map(({ priority, gateway }) => [priority, gateway])).toEqual([
      [1, "SANDBOX_A"],
      [3, "SANDBOX_B"],
    ]);
  });

  it.each([
    ["unverified", { credentialVersion: undefined }, /not been verified/],
    ["paused", { paused: true }, /paused/],
    ["unable to take the amount", { notPayable: "It cannot take 1.001 EUR." }, /cannot take/],
  ])("leaves out a connection that is %s, and says so", (_, change, because) => {
    const { plan: planned, skipped } = plan(candidate(change));
    expect(planned).toEqual([]);
    expect(skipped[0]?.because).toMatch(because);
  });

  it("plans at most five gateways", () => {
    const { plan: planned, skipped } = plan(...Array.from({ length: 7 }, () => candidate()));
    expect(planned).toHaveLength(5);
    expect(skipped.map(({ because }) => because)).toEqual(Array(2).fill("A plan holds at most 5 gateways."));
  });
});
