/** Tests that what is typed into a case's form becomes a condition, or stops the save and says why. */
import { expect, it } from "vitest";
import {
  casesContentOf,
  noConditions,
  problemsOfCases,
  rangesIn,
  type Typed,
  textOfAmount,
  textOfCases,
  withCurrencies,
  withTyped,
  wordsOf,
} from "./routing-case-draft.ts";

const known = [
  { code: "EUR", exponent: 2 },
  { code: "CHF", exponent: 2 },
  { code: "JPY", exponent: 0 },
];
const casesWith = (typed: Typed, currencies = ["EUR"]) => {
  const conditions = withTyped({ ...noConditions, currencies, cardBrands: ["amex"], typed }, known);
  return { list: [{ name: "Amex big", conditions, connectionIds: ["gc_a"] }], cardRanges: [] };
};

it.each<[string, string[], bigint]>([
  ["100", ["EUR"], 10_000n],
  ["100.01", ["EUR", "CHF"], 10_001n],
  ["100", ["JPY"], 100n],
  ["100.01", ["EUR"], 10_001n],
  ["100,5", ["EUR"], 10_050n],
])("reads the amount %j in %j", (lowest, currencies, amountFromMinor) => {
  const cases = casesWith({ lowest }, currencies);
  expect(casesContentOf(cases).list[0]?.conditions.amountFromMinor).toBe(amountFromMinor);
  expect(problemsOfCases(cases)).toEqual([]);
});

it.each<[string, Typed, string[]]>([
  ["Lowest amount", { lowest: "100.00" }, ["EUR", "JPY"]],
  ["Lowest amount", { lowest: "100.00" }, []],
  ["Lowest amount", { lowest: "100.00" }, ["JPY"]],
  ["Lowest amount", { lowest: "0.00" }, ["EUR"]],
  ["Lowest amount", { lowest: "1,000" }, ["EUR"]],
  ["Lowest amount", { lowest: "1.000" }, ["JPY"]],
  ["Highest amount", { highest: "ten" }, ["EUR"]],
  ["Metadata", { metadata: "tier = gold\ntier = silver" }, ["EUR"]],
  ["Metadata", { metadata: "tier = gold\nvip: yes" }, ["EUR"]],
  ["From and Until", { isPartOfHours: true }, ["EUR"]],
  ["Currencies", {}, ["EURO"]],
])("does not save a case without the condition that it cannot read: %s %j in %j", (field, typed, currencies) => {
  const cases = casesWith(typed, currencies);
  expect(problemsOfCases(cases)).toEqual([expect.stringMatching(`^Case 1: ${field}: `)]);
  expect(textOfCases(cases)).not.toBe(textOfCases(casesWith({}, ["EUR"])));
});

it("does not save a case with a country or half of the hours that no rule has", () => {
  const time = { timeZone: "UTC", days: [], from: "08:00" };
  const conditions = { ...noConditions, issuingCountries: ["GERMANY"], billingCountries: ["D"], time };
  expect(problemsOfCases({ list: [{ name: "x", conditions, connectionIds: ["gc_a"] }], cardRanges: [] })).toEqual([
    expect.stringMatching("^Case 1: Issuing countries: "),
    expect.stringMatching("^Case 1: Billing countries: "),
    expect.stringMatching("^Case 1: From and Until: "),
  ]);
});

it("puts an amount into words in the currency, if there is one", () => {
  const words = (currencies: string[]) =>
    wordsOf(casesWith({ lowest: "100.01" }, currencies).list[0]!.conditions, known);
  expect(words(["EUR"])).toBe("EUR · from €100.01 · Amex");
  expect(words(["EUR", "CHF"])).toBe("EUR or CHF · from 100.01 · Amex");
});

it("reads a saved amount again in another currency, as its field shows it", () => {
  const saved = { ...noConditions, currencies: ["EUR"], amountFromMinor: 10_000n };
  expect(textOfAmount(10_000n, ["EUR"], known)).toBe("100.00");
  expect(withCurrencies(saved, ["CHF"], known)).toMatchObject({ amountFromMinor: 10_000n });
  const inYen = withCurrencies(saved, ["JPY"], known);
  expect(inYen.amountFromMinor).toBeUndefined();
  expect(
    problemsOfCases({ list: [{ name: "x", conditions: inYen, connectionIds: ["gc_a"] }], cardRanges: [] }),
  ).toEqual(["Case 1: Lowest amount: JPY has no decimals: enter a whole number, such as 49."]);
  expect(withCurrencies(inYen, ["EUR"], known)).toMatchObject({ amountFromMinor: 10_000n, unreadAmounts: [] });
});

it("keeps a mistyped word of a card range, so that it is refused", () => {
  expect(rangesIn("457164 DK debti")).toMatchObject([{ country: "DK DEBTI" }]);
});
