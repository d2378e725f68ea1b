import { describe, expect, it } from "vitest";
import { encodeId } from "../../platform/ids.ts";
import { mayBeForgotten } from "./key-life.ts";

const hourMs = 60 * 60 * 1_000;
const madeAt = Date.parse("2026-03-01T12:00:00Z");
const reference = encodeId(
  "att",
  `${madeAt
    .toString(16)
    .padStart(12, "0")
    .replace(/(.{8})/, "$1-")}-7000-8000-000000000000`,
);

describe("mayBeForgotten()", () => {
  it("trusts the keys of an attempt for less than a day", () => {
    expect(mayBeForgotten(reference, madeAt)).toBe(false);
    expect(mayBeForgotten(reference, madeAt + 22 * hourMs)).toBe(false);
    expect(mayBeForgotten(reference, madeAt + 24 * hourMs)).toBe(true);
  });

  it("takes an id without a time for a new one", () => {
    expect(mayBeForgotten("att_bench1", madeAt + 100 * hourMs)).toBe(false);
  });
});
