import { describe, expect, it } from "vitest";
import { passesLuhn } from "../platform/luhn.ts";
import { type Card, findCardProblems, isNetworkNumber, shownOf } from "./card.ts";

const card: Card = { number: "4242424242424242", expMonth: 4, expYear: 2030, cvc: "123" };
const now = new Date("2030-04-15T12:00:00Z");
const fieldsOf = (change: Partial<Card>, at = now) =>
  findCardProblems({ ...card, ...change }, at).map(({ field }) => field);

describe("shownOf()", () => {
  // Test numbers that the networks and gateways publish.
  it.each([
    ["4242424242424242", "visa"],
    ["5555555555554444", "mastercard"],
    ["2223003122003222", "mastercard"],
    ["378282246310005", "amex"],
    ["6011111111111117", "discover"],
    ["3056930009020004", "diners"],
    ["36227206271667", "diners"],
    ["3566002020360505", "jcb"],
    ["6200000000000005", "unionpay"],
    ["6759649826438453", "maestro"],
    ["6771798021000008", "maestro"],
    ["5018000000000009", "maestro"],
    ["9999999999999995", "unknown"],
  ])("recognizes %s as %s", (number, brand) => {
    expect(shownOf({ ...card, number })).toEqual({ brand, last4: number.slice(-4) });
    expect(passesLuhn(number)).toBe(true);
  });
});

/** Ranges of networks of one country, which lie within those of the networks that are shown. */
const ranges: readonly (readonly [string, readonly string[]])[] = [
  ["Elo", ["401178 401179", "431274", "438935", "451416", "457393", "457631 457632", "504175", "506699 506778"]],
  ["Elo", ["509000 509999", "627780", "636297", "636368", "650031 650033", "650035 650051", "650405 650439"]],
  ["Elo", ["650485 650538", "650541 650598", "650700 650718", "650720 650727", "650901 650978", "651652 651679"]],
  ["Elo", ["655000 655019", "655021 655058"]],
  ["Hipercard", ["384100", "384140", "384160", "606282", "637095", "637568", "637599 637600", "637609", "637612"]],
  ["Dankort", ["501900 501999"]],
  ["Verve", ["506099 506198", "507865 507964", "650002 650027"]],
  ["RuPay", ["508500 508999", "600000 601099"]],
  ["InterPayment and InstaPayment", ["636000", "638000 639999"]],
];

describe.each(ranges)("a card of %s", (_, given) => {
  it.each(given)("in %s is of no network that is known here, and is accepted", (range) => {
    const [first, last = first] = range.split(" ").map(Number) as [number, number?];
    for (let start = first; start <= last; start++) {
      const body = `${start}000000000`;
      const number = `${body}${[..."0123456789"].find((digit) => passesLuhn(body + digit))}`;
      expect(shownOf({ ...card, number }).brand).toBe("unknown");
      expect(fieldsOf({ number })).toEqual([]);
      // It is masked like any other.
      expect(isNetworkNumber(number)).toBe(true);
    }
  });
});

describe("findCardProblems()", () => {
  it("finds nothing wrong with a plausible card", () => {
    expect(fieldsOf({ holder: "Ada Lovelace" })).toEqual([]);
  });

  it("finds a wrong check digit, a wrong length and letters", () => {
    for (const number of ["4242424242424241", "424242424242424", "4242 4242 4242 4242", ""]) {
      expect(fieldsOf({ number })).toEqual(["number"]);
    }
  });

  it("accepts a card through the last hour of its month in every time zone", () => {
    expect(fieldsOf({}, new Date("2030-05-01T11:59:59Z"))).toEqual([]);
    expect(fieldsOf({}, new Date("2030-05-01T12:00:00Z"))).toEqual(["expYear"]);
  });

  it("finds a month outside the year and an implausible year", () => {
    expect(fieldsOf({ expMonth: 0 })).toEqual(["expMonth"]);
    expect(fieldsOf({ expMonth: 13 })).toEqual(["expMonth"]);
    expect(fieldsOf({ expYear: 30 })).toEqual(["expYear"]);
    expect(fieldsOf({ expYear: 2051 })).toEqual(["expYear"]);
  });

  it("requires as many security digits as the network prints", () => {
    expect(fieldsOf({ cvc: "1234" })).toEqual(["cvc"]);
    expect(fieldsOf({ number: "378282246310005", cvc: "1234" })).toEqual([]);
    expect(fieldsOf({ number: "378282246310005", cvc: "123" })).toEqual(["cvc"]);
  });

  it("accepts no card number as a name", () => {
    expect(fieldsOf({ holder: "4242 4242 4242 4242" })).toEqual(["holder"]);
    expect(fieldsOf({ holder: "４２４２ ４２４２ ４２４２ ４２４２" })).toEqual(["holder"]);
    expect(fieldsOf({ holder: " " })).toEqual(["holder"]);
    expect(fieldsOf({ holder: "Ada\nLovelace" })).toEqual(["holder"]);
  });

  it("accepts postal codes of every country, and nothing else in their place", () => {
    for (const postalCode of ["10115", "SW1A 1AA", "94043-1351", "D02 X285", "1234567890", "00"])
      expect(fieldsOf({ postalCode })).toEqual([]);
    for (const postalCode of ["", " 10115", "1", "12345678901", "4242 4242 4242 4242", "10115\n", "{{card.cvc}}"])
      expect(fieldsOf({ postalCode })).toEqual(["postalCode"]);
  });

  it("accepts the brands that a card can share, and no other", () => {
    for (const [number, brand] of [
      ["4000002500001001", "cartes_bancaires"],
      ["4000002500001001", "visa"],
      ["5555552500001001", "cartes_bancaires"],
      ["5555552500001001", "mastercard"],
      ["4571000000000001", "dankort"],
    ] as const)
      expect(fieldsOf({ number, brand })).toEqual([]);
    for (const [number, brand] of [
      ["4000002500001001", "mastercard"],
      ["5555552500001001", "dankort"],
      ["378282246310005", "amex"],
      ["4000002500001001", ""],
      ["4000002500001001", "{{card.cvc}}"],
    ] as const)
      expect(fieldsOf({ number, brand, cvc: number.startsWith("3") ? "1234" : "123" })).toEqual(["brand"]);
  });

  it("shows the chosen brand, and that of the number without a choice", () => {
    const coBadged = { number: "4000002500001001", expMonth: 4, expYear: 2030, cvc: "123" };
    expect(shownOf(coBadged)).toEqual({ brand: "visa", last4: "1001" });
    expect(shownOf({ ...coBadged, brand: "cartes_bancaires" })).toEqual({ brand: "cartes_bancaires", last4: "1001" });
  });

  it("repeats no value", () => {
    const problems = findCardProblems({ number: "1111", expMonth: 77, expYear: 1, cvc: "9", holder: "\u0000x" }, now);
    expect(JSON.stringify(problems)).not.toMatch(/1111|77|\bx\b/);
  });
});
