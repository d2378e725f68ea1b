import { describe, expect, it } from "vitest";
import { breakerPausesMs } from "./endpoint-health.ts";

describe("breakerPausesMs", () => {
  it("doubles from 5 s and ends at 5 minutes", () => {
    expect(breakerPausesMs.map((ms) => ms / 1_000)).toEqual([5, 10, 20, 40, 80, 160, 300]);
  });
});
