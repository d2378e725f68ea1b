import { describe, expect, it } from "vitest";
import { declines as declinesOfA } from "./a/declines.ts";
import { authenticationCards } from "./authentication-cards.ts";
import { declines as declinesOfB } from "./b/declines.ts";
import { providerCards } from "./provider-cards.ts";
import { storedCards } from "./stored-cards.ts";
import { testCards } from "./test-cards.ts";
import { walletCards } from "./wallet-cards.ts";

const allCards = [...testCards, ...authenticationCards, ...providerCards, ...storedCards, ...walletCards];

describe("testCards", () => {
  it.each(allCards)("$number passes the Luhn check", ({ number }) => {
    expect(luhnSum(number) % 10).toBe(0);
  });

  it("names every number once", () => {
    const numbers = allCards.map((card) => card.number);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("declines only with codes that a table classifies, except for the unclassified card", () => {
    const unclassified = testCards.filter(
      ({ onA, onB }) =>
        (onA.act === "decline" && !Object.hasOwn(declinesOfA, onA.code)) ||
        (onB.act === "decline" && !Object.hasOwn(declinesOfB, onB.code)),
    );
    expect(unclassified.map((card) => card.name)).toEqual(["Unclassified decline"]);
  });

  it("declines renewals only with codes that a table classifies", () => {
    for (const { renewedAtA, renewedAtB } of storedCards) {
      if (renewedAtA.act === "decline") expect(declinesOfA).toHaveProperty(renewedAtA.code);
      if (renewedAtB.act === "decline") expect(declinesOfB).toHaveProperty(renewedAtB.code);
    }
  });
});

function luhnSum(number: string): number {
  return [...number].reverse().reduce((sum, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return sum + (value > 9 ? value - 9 : value);
  }, 0);
}
