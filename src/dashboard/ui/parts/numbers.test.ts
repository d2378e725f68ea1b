import { describe, expect, it } from "vitest";
import { formatMinor, formatMs, formatRate, formatWholePercent } from "./numbers.ts";

describe("formatMinor()", () => {
  it("uses the decimals of ISO 4217, not the browser's", () => {
    expect(formatMinor(123_456n, { currency: "ISK", decimals: 0 })).toContain("123,456");
    // Browsers write Afghanis without decimals.
    expect(formatMinor(4_900n, { currency: "AFN", decimals: 2 })).toContain("49.00");
    expect(formatMinor(123_456n, { currency: "KWD", decimals: 3 })).toContain("123.456");
  });
});

describe("formatMs() and formatRate()", () => {
  it("return dashes for missing values", () => {
    expect([formatMs(undefined), formatRate(undefined)]).toEqual(["–", "–"]);
    expect([formatMs(0), formatMs(3.3), formatMs(421.6), formatMs(1_234), formatMs(12_345)]).toEqual([
      "0 ms",
      "3.3 ms",
      "422 ms",
      "1.2 s",
      "12 s",
    ]);
    expect([formatRate(0.9345), formatWholePercent(0.2)]).toEqual(["93.5%", "20%"]);
  });
});
