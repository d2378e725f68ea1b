import { describe, expect, it } from "vitest";
import { parseInteger } from "./scalar-value.ts";

describe("parseInteger()", () => {
  it.each<[string, bigint | undefined]>([
    ["4900", 4900n],
    ["4900.0", 4900n],
    ["4.9e3", 4900n],
    ["49E+2", 4900n],
    ["490000e-2", 4900n],
    ["-0", 0n],
    ["0.000e99", 0n],
    ["-12.50e1", -125n],
    ["9007199254740993", 9007199254740993n],
    ["49.5", undefined],
    ["1e-1", undefined],
    ["4900.01", undefined],
    ["1e999999999999", 10n ** 20n],
    ["-123456789012345678901234567890", -(10n ** 20n)],
  ])("reads %s as %s", (source, value) => {
    expect(parseInteger(source)).toBe(value);
  });
});
