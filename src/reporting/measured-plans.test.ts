import { expect, it } from "vitest";
import type { RuleContent } from "../core/record/routing-rules.ts";
import type { RoutingCase, RoutingRule } from "../core/rows/entities.ts";
import type { ComparedArm, SplitComparison } from "./analytics/compare-arms.ts";
import { measuredBy } from "./measured-plans.ts";
import { addCounts, compareReplay, replayMeasured } from "./what-if.ts";

const draft: RuleContent = { connectionIds: ["b"], failoverOn: ["TIMEOUT"] };
const arm = (connectionId: string, succeeded: number, declined: number): ComparedArm => ({
  connectionIds: [connectionId],
  counts: [
    { ruleVersion: 3, caseName: "", arm: "A", succeeded, released: 0, declined, degraded: 0, saved: 0, latency: [] },
  ],
  costs: [],
});
const comparison: SplitComparison = {
  case: undefined,
  percent: 50,
  rules: [
    {
      version: 3,
      connectionIds: ["a"],
      failoverOn: ["TIMEOUT"],
      authentication: "AS_NEEDED",
    } as unknown as RoutingRule,
  ],
  arms: { A: arm("a", 60, 40), B: arm("b", 90, 10) },
};
const followed = { ruleVersion: 3, case: undefined, arm: "A" as const };

it("takes the rate of the other arm for a payment that the draft would send by that arm's plan, and no other", () => {
  const measured = measuredBy([comparison], draft);
  expect(measured(followed, ["b"])).toMatchObject({ payments: 100, rate: { value: 0.9 } });
  expect(measured({ ...followed, arm: "B" }, ["b"])).toBeUndefined();
  expect(measured(followed, ["b", "a"])).toBeUndefined();
  expect(measured({ ...followed, ruleVersion: 4 }, ["b"])).toBeUndefined();
  expect(measured({ ...followed, case: "Euro" }, ["b"])).toBeUndefined();
});

it("takes nothing from another version with the same split that differs in more than its plans", () => {
  const [rule] = comparison.rules;
  const without = { ...rule, version: 4, failoverOn: [] } as unknown as RoutingRule;
  const counts = [
    ...comparison.arms.B.counts,
    { ...comparison.arms.B.counts[0]!, ruleVersion: 4, succeeded: 0, declined: 900 },
  ];
  const both = {
    ...comparison,
    rules: [rule!, without],
    arms: { ...comparison.arms, B: { ...comparison.arms.B, counts } },
  };
  const measured = measuredBy([both], draft);
  expect(measured(followed, ["b"])).toMatchObject({ payments: 100, rate: { value: 0.9 } });
  expect(measured({ ...followed, ruleVersion: 4 }, ["b"])).toBeUndefined();
});

it("takes nothing from a rule that differs from the draft in more than its plans", () => {
  const other = measuredBy([comparison], { ...draft, failoverOn: [] });
  expect(other(followed, ["b"])).toBeUndefined();
  const demanding = { name: "x", conditions: { currencies: ["EUR"] }, connectionIds: ["b"], authentication: "ALWAYS" };
  const cased = { ...draft, cases: { list: [demanding as RoutingCase], cardRanges: [] } };
  expect(measuredBy([comparison], cased)(followed, ["b"])).toBeUndefined();
});

it("counts such a payment as unknown, and adds up how many would succeed, with the ends of the interval", () => {
  const measured = measuredBy([comparison], draft)(followed, ["b"])!;
  const step = { priority: 1, gateway: "B", connectionId: "b", credentialVersion: 1 };
  const replay = replayMeasured({ plan: [step] }, measured);
  expect(replay.because).toBe(
    "Unknown for a single payment. Its split sent 100 others this way, of which 90.0% were approved (82.6% to 94.5% with 95% confidence).",
  );
  const payment = { succeeded: false, attempts: [{ connectionId: "a", gateway: "A", answer: undefined }] };
  const counts = addCounts([compareReplay(payment, replay), compareReplay(payment, replay)]);
  expect(counts).toMatchObject({ cannotKnow: 2, measured: 2, otherFirst: 2, measuredSucceeds: 1.8 });
  expect(counts.measuredSucceedsLow).toBeCloseTo(1.651, 2);
  expect(counts.measuredSucceedsHigh).toBeCloseTo(1.889, 2);
});
