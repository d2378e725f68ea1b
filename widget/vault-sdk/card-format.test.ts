import { describe, expect, it } from "vitest";
import { shownOf } from "../../src/vault/card.ts";
import {
  caretAfter,
  coBadgeOf,
  digitsOf,
  formatCvc,
  formatExpiry,
  formatNumber,
  lookOf,
  parseExpiry,
  splitPastedCard,
} from "./card-format.ts";

describe("lookOf()", () => {
  it("shows the brand that the vault finds, whatever a number begins with", () => {
    const others: string[] = [];
    const card = { expMonth: 4, expYear: 2030, cvc: "123" };
    for (let start = 200_000; start < 700_000; start++) {
      const { brand } = shownOf({ ...card, number: `${start}0000000000` });
      if (lookOf(String(start)).brand !== brand) others.push(`${start} ${brand}`);
    }
    expect(others).toEqual([]);
  });
});

describe("formatNumber()", () => {
  it.each([
    ["4242424242424242", "4242 4242 4242 4242"],
    ["378282246310005", "3782 822463 10005"],
    ["3056930009020004", "3056 930009 020004"],
    ["5555-5555-5555-4444", "5555 5555 5555 4444"],
    ["55555555555544449", "5555 5555 5555 4444"],
    ["٤٢٤٢٤٢", "4242 42"],
    ["４２４２", "4242"],
    ["", ""],
  ])("groups %s as %s", (text, shown) => {
    expect(formatNumber(text)).toBe(shown);
  });
});

describe("formatExpiry()", () => {
  it.each([
    ["1", "1"],
    ["4", "04 / "],
    ["04", "04 / "],
    ["042", "04 / 2"],
    ["0427", "04 / 27"],
    ["427", "04 / 27"],
    ["4/27", "04 / 27"],
    ["04/2027", "04 / 27"],
    ["042027", "04 / 27"],
    ["2027-04", "04 / 27"],
    ["12 / 30", "12 / 30"],
    ["12/2030", "12 / 30"],
    ["1230", "12 / 30"],
    ["122030", "12 / 30"],
    ["203012", "12 / 30"],
    ["202704", "04 / 27"],
    ["2027/4", "04 / 27"],
    ["2027.04", "04 / 27"],
    ["04 2027", "04 / 27"],
    ["04–27", "04 / 27"],
    ["04/27\t", "04 / 27"],
    ["1/", "01 / "],
    ["04 / ", "04 / "],
    ["1/2", "01 / 2"],
    [" 4 / 27 ", "04 / 27"],
    ["\u200e04/27", "04 / 27"],
    ["０４／２７", "04 / 27"],
    ["April", ""],
  ])("reads %s as %s", (text, shown) => {
    expect(formatExpiry(text)).toBe(shown);
  });

  // Each of these contains what could be taken for another date.
  it.each([
    "30/04/2027",
    "04/30/2027",
    "04 / 30/",
    "04/05/2027",
    "2027-04-30",
    "20270430",
    "30042027",
    "12 / 305",
    "04 / 302027",
    "04/1927",
    "04/0027",
    "2027",
    "April 2027",
    "30. April 2027",
    "04/27 or 05/28",
  ])("leaves %s as it is, and reads no date in it", (text) => {
    expect(formatExpiry(text)).toBe(text);
    expect(parseExpiry(text)).toBeUndefined();
  });

  it("is stable: formatting twice changes nothing", () => {
    for (const text of ["1", "4", "0427", "04/2027", "2027-04", "12 / 3", "1/", "127", "12 / 203"]) {
      expect(formatExpiry(formatExpiry(text))).toBe(formatExpiry(text));
    }
  });
});

describe("coBadgeOf()", () => {
  it.each([
    ["49779494", ["cartes_bancaires", "visa"]],
    ["40000025", ["cartes_bancaires", "visa"]],
    ["51363333", ["cartes_bancaires", "mastercard"]],
    ["45710000", ["dankort", "visa"]],
    ["4571000", undefined],
    ["45623000", undefined],
    ["42424242", undefined],
    ["55555555", undefined],
    ["37828224", undefined],
  ])("finds for %s the brands %j", (digits, brands) => {
    expect(coBadgeOf(digits)).toEqual(brands);
  });
});

describe("parseExpiry()", () => {
  it("parses only a complete date", () => {
    for (const text of ["04 / 27", "4/27", "04/2027", "2027-04", "0427", "202704"])
      expect(parseExpiry(text)).toEqual({ expMonth: 4, expYear: 2027 });
    for (const text of ["04 / 2", "04 / ", "4", "127", ""]) expect(parseExpiry(text)).toBeUndefined();
  });
});

describe("formatCvc()", () => {
  it("keeps as many digits as the network prints", () => {
    expect(formatCvc("12345", "4242")).toBe("123");
    expect(formatCvc("12345", "3782")).toBe("1234");
    expect(formatCvc("12a34", "")).toBe("1234");
  });
});

describe("splitPastedCard()", () => {
  it("splits a whole card", () => {
    const parts = { number: "4242 4242 4242 4242", expiry: "12/30", cvc: "123" };
    expect(splitPastedCard("4242 4242 4242 4242 12/30 123")).toEqual(parts);
    expect(splitPastedCard("4242 4242 4242 4242, 12/30, 123\n")).toEqual(parts);
  });

  it("returns nothing for a number alone", () => {
    expect(splitPastedCard("4242 4242 4242 4242")).toBeUndefined();
  });
});

describe("caretAfter()", () => {
  it("stays behind the same digits, and passes a separator at the end", () => {
    expect(caretAfter("4242 4242", 2)).toBe(2);
    expect(caretAfter("4242 4242", 4)).toBe(4);
    expect(caretAfter("4242 4242", 6)).toBe(7);
    expect(caretAfter("04 / ", 2)).toBe(5);
    expect(digitsOf("04 / 27").length).toBe(4);
  });
});
