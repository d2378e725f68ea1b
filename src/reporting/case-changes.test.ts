import { expect, it } from "vitest";
import type { RouteConditions, RoutingCase, RoutingCases } from "../core/rows/entities.ts";
import { describeCases, describeSplit } from "./case-changes.ts";

const nameOf = (id: string) => id.toUpperCase();
const one = (name: string, conditions: RouteConditions, connectionIds = ["a"]): RoutingCase => {
  return { name, conditions, connectionIds };
};
const euro = one("Euro", { currencies: ["EUR"] }, ["a", "b"]);
const debit = one("Debit", { cardTypes: ["DEBIT"] });
const cases = (list: RoutingCase[], cardRanges: RoutingCases["cardRanges"] = []): RoutingCases => ({
  list,
  cardRanges,
});

it("describes added, removed, moved and changed cases, and nothing of equal ones", () => {
  expect(describeCases(null, cases([]), nameOf)).toEqual([]);
  expect(describeCases(cases([euro]), cases([{ ...euro }]), nameOf)).toEqual([]);
  expect(describeCases(undefined, cases([euro]), nameOf)).toEqual([
    "The case “Euro” is added at place 1: currency EUR; it plans A, then B.",
  ]);
  expect(describeCases(cases([euro, debit]), cases([debit]), nameOf)).toEqual(["The case “Euro” is removed."]);
  expect(describeCases(cases([euro, debit]), cases([debit, euro]), nameOf)).toEqual([
    "The case “Debit” moves to place 1.",
    "The case “Euro” moves to place 2.",
  ]);
  expect(describeCases(cases([euro]), cases([{ ...euro, connectionIds: ["b"] }]), nameOf)).toEqual([
    "The case “Euro” is now: currency EUR; it plans B.",
  ]);
  expect(describeCases(cases([euro]), cases([{ ...euro, authentication: "ALWAYS" }]), nameOf)).toEqual([
    "The case “Euro” is now: currency EUR; it plans A, then B; each of its payments has to be authenticated.",
  ]);
  // A stored case has its keys in another order.
  const stored = one("Euro", { amountToMinor: 5, currencies: ["EUR"], time: { days: ["MONDAY"], timeZone: "UTC" } });
  const drafted = one("Euro", { currencies: ["EUR"], amountToMinor: 5, time: { timeZone: "UTC", days: ["MONDAY"] } });
  expect(describeCases(cases([stored]), cases([drafted]), nameOf)).toEqual([]);
  // One value with these words, and two.
  const tier = (...values: string[]) => cases([one("Tier", { metadata: [{ key: "tier", values }] })]);
  expect(describeCases(tier("gold or silver"), tier("gold", "silver"), nameOf)).toEqual([
    "The case “Tier” is now: metadata tier gold or silver; it plans A.",
  ]);
});

it("counts card ranges that changed", () => {
  const range = { digits: "457164", country: "DK" };
  expect(describeCases(cases([]), cases([], [range]), nameOf)).toEqual([
    "1 card range is entered; before, there were none.",
  ]);
  expect(describeCases(cases([], [range]), cases([], [{ ...range, country: "SE" }]), nameOf)).toEqual([
    "1 card range is entered; before, there was 1.",
  ]);
  expect(describeCases(cases([], [range]), null, nameOf)).toEqual(["No card ranges are entered; before, there was 1."]);
});

it("puts each condition into words", () => {
  const conditions: RouteConditions = {
    currencies: ["EUR", "CHF"],
    amountFromMinor: 1_000,
    amountToMinor: 5_000,
    cardBrands: ["visa"],
    cardTypes: ["DEBIT", "PREPAID"],
    issuingCountries: ["DK"],
    billingCountries: ["DE", "AT"],
    metadata: [{ key: "tier", values: ["gold"] }],
    time: { timeZone: "Europe/Berlin", days: ["SATURDAY", "SUNDAY"], from: "22:00", until: "06:00" },
  };
  expect(describeCases(null, cases([one("A", conditions)]), nameOf)).toEqual([
    "The case “A” is added at place 1: currency EUR or CHF, amount from 10.00, amount up to 50.00, card brand Visa, card type debit or prepaid, issued in DK, billed in DE or AT, metadata tier gold, time on saturday or sunday from 22:00 to 06:00 in Europe/Berlin; it plans A.",
  ]);
});

it("puts an amount into words in the currency, if there is one", () => {
  const conditions = { currencies: ["EUR"], amountFromMinor: 10_001, cardBrands: ["amex"] };
  expect(describeCases(null, cases([one("A", conditions)]), nameOf)).toEqual([
    "The case “A” is added at place 1: currency EUR, amount from 100.01 EUR, card brand American Express; it plans A.",
  ]);
});

it("describes another share of a split by both shares, and another plan of it as a whole", () => {
  const split = (percent: number, connectionIds = ["b"]) => ({ percent, connectionIds });
  expect(describeSplit(split(10), split(10), nameOf)).toEqual([]);
  expect(describeSplit(split(10), split(20), nameOf)).toEqual([
    "Variant B of the default plan gets 20% instead of 10%.",
  ]);
  expect(describeSplit(split(10), split(20, ["a"]), nameOf)).toEqual([
    "Split of the default plan: 20% goes to variant B, which plans A.",
  ]);
});
