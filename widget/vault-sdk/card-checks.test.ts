import { describe, expect, it } from "vitest";
import { type CardFields, cardBodyOf, findProblem } from "./card-checks.ts";

const texts = { number: "4242 4242 4242 4242", expiry: "04 / 31", cvc: "123", holder: "", postalCode: "" };
const now = new Date("2026-05-01");
const problem = (name: "holder" | "postalCode", text: string, fields?: CardFields) =>
  findProblem(name, { ...texts, [name]: text }, { now, fields });

describe("an expiry date", () => {
  const expiry = (text: string, at: string) => findProblem("expiry", { ...texts, expiry: text }, { now: new Date(at) });

  it("is past when the month is over in every time zone, as in the vault", () => {
    expect(expiry("04 / 31", "2031-05-01T11:59:59Z")).toBeUndefined();
    expect(expiry("04 / 31", "2031-05-01T12:00:00Z")).toBe("expiry_past");
  });

  it("is wrong without such a month, and in a year that no issuer prints", () => {
    expect(expiry("13 / 31", "2026-05-01T00:00:00Z")).toBe("expiry_wrong");
    expect(expiry("04 / 47", "2026-05-01T00:00:00Z")).toBe("expiry_wrong");
    expect(expiry("04/30/2031", "2026-05-01T00:00:00Z")).toBe("expiry_incomplete");
  });
});

describe("a card of a network that the form does not know", () => {
  it("is accepted where brands are listed", () => {
    for (const number of ["6550000000000001", "5090000000000000", "6062820000000003"]) {
      expect(findProblem("number", { ...texts, number }, { now, accepted: ["visa", "mastercard"] })).toBeUndefined();
    }
    const discover = { ...texts, number: "6011111111111117" };
    expect(findProblem("number", discover, { now, accepted: ["visa"] })).toBe("brand_not_accepted");
  });
});

describe("the fields beyond the card", () => {
  it("may stay empty where the page asks for none", () => {
    expect(problem("holder", "")).toBeUndefined();
    expect(problem("postalCode", "")).toBeUndefined();
    expect(problem("postalCode", "", { postalCode: false })).toBeUndefined();
  });

  it("are necessary where the page asks for them", () => {
    expect(problem("holder", " ", { holderName: true })).toBe("holder_missing");
    expect(problem("holder", "Ada", { holderName: true })).toBeUndefined();
    expect(problem("postalCode", " ", { postalCode: true })).toBe("postal_code_missing");
    for (const text of ["10115", "SW1A 1AA", "94043-1351", " 8010 ", "１５０−０００１", "١٢٣٤٥"])
      expect(problem("postalCode", text, { postalCode: true })).toBeUndefined();
    for (const text of ["1", "12345678901", "10115!", "東京"])
      expect(problem("postalCode", text, { postalCode: true })).toBe("postal_code_wrong");
  });

  it("are in the card's body only if they are given", () => {
    expect(cardBodyOf(texts)).toEqual({ number: "4242424242424242", expMonth: 4, expYear: 2031, cvc: "123" });
    expect(cardBodyOf({ ...texts, holder: " Ada ", postalCode: " 8010 " })).toMatchObject({
      holder: "Ada",
      postalCode: "8010",
    });
  });

  it("are sent in characters that the vault takes", () => {
    expect(cardBodyOf({ ...texts, holder: "Ada\tLovelace\n", postalCode: "１５０−０００１" })).toMatchObject({
      holder: "Ada Lovelace",
      postalCode: "150-0001",
    });
  });
});
