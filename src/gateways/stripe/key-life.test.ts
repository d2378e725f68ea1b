import { describe, expect, it } from "vitest";
import { mayBeForgotten } from "./key-life.ts";

const hourMs = 60 * 60 * 1_000;

describe("mayBeForgotten()", () => {
  it("trusts the keys of an attempt for less than a day", () => {
    expect(mayBeForgotten({ ageMs: 0 })).toBe(false);
    expect(mayBeForgotten({ ageMs: 22 * hourMs })).toBe(false);
    expect(mayBeForgotten({ ageMs: 24 * hourMs })).toBe(true);
  });

  it("treats an attempt without an age as new", () => {
    expect(mayBeForgotten({})).toBe(false);
  });
});
