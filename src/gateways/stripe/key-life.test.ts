import { describe, expect, it } from "vitest";
import { mayBeForgotten } from "./key-life.ts";

const hourMs = 60 * 60 * 1_000;
const madeAt = Date.parse("2026-03-01T12:00:00Z");
const attempt = { startedAt: new Date(madeAt) };

describe("mayBeForgotten()", () => {
  it("trusts the keys of an attempt for less than a day", () => {
    expect(mayBeForgotten(attempt, madeAt)).toBe(false);
    expect(mayBeForgotten(attempt, madeAt + 22 * hourMs)).toBe(false);
    expect(mayBeForgotten(attempt, madeAt + 24 * hourMs)).toBe(true);
  });

  it("takes an attempt without a start for a new one", () => {
    expect(mayBeForgotten({}, madeAt + 100 * hourMs)).toBe(false);
  });
});
