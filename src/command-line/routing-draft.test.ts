import { expect, it } from "vitest";
import { describeSplit, parseSplit } from "./routing-draft.ts";

it("reads the share and the connections of --split, and refuses everything else", () => {
  expect(parseSplit("20:gc_1,gc_2")).toEqual({ percent: 20, connectionIds: ["gc_1", "gc_2"] });
  expect(parseSplit("none")).toEqual({ percent: 0, connectionIds: [] });
  for (const text of ["0:gc_1", "100:gc_1", "20:", "gc_1", "-5:gc_1", "20 %:gc_1"]) {
    expect(() => parseSplit(text), text).toThrow("It must be a share from 1 to 99");
  }
});

it("shows a split with the names of its gateways", () => {
  const nameOf = () => ({ gateway: "SANDBOX_B", account: "x" });
  expect(describeSplit(parseSplit("20:gc_1"), nameOf)).toEqual(["20 % to arm B: SANDBOX_B"]);
  expect(describeSplit(undefined, nameOf)).toEqual([]);
});
