import { describe, expect, it } from "vitest";
import {
  findAddressProblem,
  findLifetimeProblem,
  findLimitProblem,
  findOriginProblem,
  linesOf,
  readLimits,
} from "./setting-rules.ts";

describe("findOriginProblem()", () => {
  it.each(["", "https://shop.example.com", " https://shop.example.com\n\nhttp://localhost:3000 "])(
    "accepts %j",
    (text) => {
      expect(findOriginProblem(text)).toBeUndefined();
    },
  );

  it.each([
    "shop.example.com",
    "https://shop.example.com/",
    "https://shop.example.com/cart",
    "https://shop.example.com:443",
    "https://Shop.example.com",
    "javascript:alert(1)",
  ])("refuses %j by name", (line) => {
    expect(findOriginProblem(`https://good.example.com\n${line}`)).toMatch(new RegExp(`^${line.slice(0, 10)}`));
  });

  it("refuses a duplicate", () => {
    expect(findOriginProblem("https://a.example\nhttps://a.example")).toContain("twice");
  });
});

describe("findLifetimeProblem()", () => {
  it.each(["5", "30", "1440", " 30 "])("accepts %j", (text) => expect(findLifetimeProblem(text)).toBeUndefined());
  it.each(["", "4", "1441", "30.5", "-30", "1e3", "half an hour"])("refuses %j", (text) =>
    expect(findLifetimeProblem(text)).toContain("from 5 to 1440"),
  );
});

describe("findAddressProblem()", () => {
  it("accepts ten addresses, one a line, and no more", () => {
    const lines = Array.from({ length: 10 }, (_, index) => `ops${index}@example.com`);
    expect(findAddressProblem(lines.join("\n"))).toBeUndefined();
    expect(findAddressProblem([...lines, "ada@example.com"].join("\n"))).toContain("at most 10");
    expect(findAddressProblem("ops")).toContain("not an e-mail address");
    expect(linesOf(" a@example.com\n\n b@example.com ")).toEqual(["a@example.com", "b@example.com"]);
  });
});

describe("findLimitProblem() and readLimits()", () => {
  const currencies = [
    { code: "EUR", exponent: 2 },
    { code: "JPY", exponent: 0 },
  ];

  it("read one currency and amount per line", () => {
    const text = " eur 500,5\n\nJPY 0 ";
    expect(findLimitProblem(text, currencies)).toBeUndefined();
    expect(readLimits(text, currencies)).toEqual([
      { currency: "EUR", amountMinor: 50_050n },
      { currency: "JPY", amountMinor: 0n },
    ]);
    expect(readLimits("", currencies)).toEqual([]);
  });

  it.each(["EUR", "500", "EUR 1.001", "JPY 1.5", "XXX 5", "EUR -5", "EUR 1 2"])("refuse %j", (text) => {
    expect(findLimitProblem(text, currencies)).toContain(`${text} is not a limit`);
    expect(readLimits(text, currencies)).toBeUndefined();
  });

  it("refuse a currency that is listed twice", () => {
    expect(findLimitProblem("EUR 1\neur 2", currencies)).toBe("EUR is listed twice.");
  });
});
