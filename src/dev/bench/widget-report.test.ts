import { describe, expect, it } from "vitest";
import { linesOfWidget, type WidgetFigures } from "./widget-report.ts";

const opening = { visibleMs: 120, layoutShift: 0, longTasks: 0 };
const good: WidgetFigures = {
  sizes: {
    firstLoad: 7_900,
    module: 7_900,
    cardFrame: 10_000,
    rpcPart: 35_000,
    paymentPart: 2_700,
    actionPart: 2_900,
    storedCardsPart: 3_900,
    walletsPart: 3_400,
    relay: 900,
    actionFrame: 2_000,
    largestTranslation: 900,
    largestFrameTexts: 800,
  },
  openings: [opening],
  tracedOpenings: [opening],
  slowOpenings: [{ ...opening, visibleMs: 1_500 }],
  violations: [],
  impatience: { captures: 1, callbacks: ["onSuccess", "onSuccess"], leaks: [] },
  troubles: [{ sessionId: "ps_1", loads: [[{ name: "onSuccess", result: null }]], status: "SUCCEEDED", captures: 1 }],
  leftBehind: { nodes: 0, documents: 0, listeners: 0, heapKilobytes: 20 },
  cycles: 1_000,
};
const [run] = good.troubles;

describe("linesOfWidget()", () => {
  it("breaks no budget with good figures", () => {
    expect(linesOfWidget(good).every(({ isReached }) => isReached)).toBe(true);
  });

  it.each<[string, Partial<WidgetFigures>]>([
    ["a script too large", { sizes: { ...good.sizes, firstLoad: 8_901 } }],
    ["a form that is late for a quarter of its customers", { openings: [opening, { ...opening, visibleMs: 301 }] }],
    ["something that moves", { openings: [{ ...opening, layoutShift: 0.001 }] }],
    ["a long task", { tracedOpenings: [{ ...opening, longTasks: 1 }] }],
    ["two captures", { impatience: { ...good.impatience, captures: 2 } }],
    [
      "a callback too many",
      { impatience: { ...good.impatience, callbacks: ["onSuccess", "onSuccess", "onDeclined"] } },
    ],
    ["a secret in a log", { impatience: { ...good.impatience, leaks: ["grant in a log"] } }],
    ["a false callback", { troubles: [{ ...run!, loads: [[{ name: "onDeclined", result: null }]] }] }],
    ["a second callback", { troubles: [{ ...run!, loads: run!.loads.map((load) => [...load, ...load]) }] }],
    ["no callback", { troubles: [{ ...run!, loads: [] }] }],
    ["a second capture", { troubles: [{ ...run!, captures: 2 }] }],
    ["a listener that stays", { leftBehind: { ...good.leftBehind, listeners: 1 } }],
  ])("breaks one with %s", (_what, change) => {
    expect(linesOfWidget({ ...good, ...change }).filter(({ isReached }) => isReached === false)).toHaveLength(1);
  });
});
