import { describe, expect, it } from "vitest";
import { type CpuProfile, summarizeAllocations, summarizeCpu, summarizeHeap } from "./summary.ts";

const frame = (functionName: string, url = "", lineNumber = 0) => ({ functionName, url, lineNumber });
const root = "file:///srv/switchyard";

const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame("(root)"), children: [2, 3, 4] },
    { id: 2, callFrame: frame("(idle)") },
    { id: 3, callFrame: frame("(garbage collector)") },
    { id: 4, callFrame: frame("settle", `${root}/src/core/record/settle.ts`, 9), children: [5] },
    { id: 5, callFrame: frame("query", `${root}/node_modules/pg/lib/client.js`, 99), children: [6] },
    { id: 6, callFrame: frame("writev") },
  ],
  samples: [2, 3, 4, 6, 6],
  timeDeltas: [500, 500, 500, 500, 90_000],
};

describe("summarizeCpu()", () => {
  const { busyMs, gcMs, functions, modules } = summarizeCpu(profile, { sampleEveryMs: 0.5 });

  it("counts work, and neither idling nor the time without a processor", () => {
    expect({ busyMs, gcMs }).toEqual({ busyMs: 2, gcMs: 0.5 });
  });

  it("assigns a function its own time, and in total that of its callees, by file of ours or package", () => {
    expect(functions[0]).toEqual({ what: "writev", self: 1, total: 1 });
    expect(functions).toContainEqual({ what: "settle src/core/record/settle.ts:10", self: 0.5, total: 1.5 });
    expect(functions).toContainEqual({ what: "query pg › lib/client.js:100", self: 0, total: 1 });
    expect(modules).toContainEqual({ what: "src/core/record/settle.ts", self: 0.5, total: 1.5 });
    expect(modules).toContainEqual({ what: "pg", self: 0, total: 1 });
  });
});

describe("summarizeAllocations()", () => {
  it("assigns a function its own bytes, and in total those of its callees", () => {
    const leaf = { callFrame: frame("parse"), selfSize: 30, children: [] };
    const head = { callFrame: frame("read"), selfSize: 10, children: [leaf, leaf] };
    expect(summarizeAllocations(head)).toEqual([
      { what: "parse", self: 60, total: 60 },
      { what: "read", self: 10, total: 70 },
    ]);
  });
});

describe("summarizeHeap()", () => {
  it("sums bytes by constructor, largest first, for any order of the snapshot's fields", () => {
    const meta = { node_fields: ["self_size", "type", "name"], node_types: ["number", ["object", "string"], "string"] };
    const nodes = [40, 0, 0, 24, 0, 0, 100, 1, 1];
    expect(summarizeHeap({ snapshot: { meta }, nodes, strings: ["Session", "a long text"] })).toEqual([
      { what: "(string)", bytes: 100, count: 1 },
      { what: "Session (object)", bytes: 64, count: 2 },
    ]);
  });
});
