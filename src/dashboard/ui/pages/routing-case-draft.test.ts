/** Tests that what is typed into a case's form becomes a condition, or stops the save and says why. */
import { expect, it } from "vitest";
import {
  casesContentOf,
  noConditions,
  problemsOfCases,
  rangesIn,
  type Typed,
  textOfCases,
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
  ["10001", ["EUR", "CHF"], 10_001n],
  ["100.01", ["EUR"], 10_001n],
  ["100,5", ["EUR"], 10_050n],
])("reads the amount %j in %j", (lowest, currencies, amountFromMinor) => {
  const cases = casesWith({ lowest }, currencies);
  expect(casesContentOf(cases).list[0]?.conditions.amountFromMinor).toBe(amountFromMinor);
  expect(problemsOfCases(cases)).toEqual([]);
});

it.each<[string, Typed, string[]]>([
  ["Lowest amount", { lowest: "100.00" }, ["EUR", "CHF"]],
  ["Lowest amount", { lowest: "100.00" }, []],
  ["Lowest amount", { lowest: "100.00" }, ["JPY"]],
  ["Lowest amount", { lowest: "0.00" }, ["EUR"]],
  ["Lowest amount", { lowest: "1,000" }, ["EUR"]],
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
    wordsOf(casesWith({ lowest: "10001" }, currencies).list[0]!.conditions, known);
  expect(words(["EUR"])).toBe("EUR · from €100.01 · Amex");
  expect(words(["EUR", "CHF"])).toBe("EUR or CHF · from 10001 minor units · Amex");
});

it("keeps a mistyped word of a card range, so that it is refused", () => {
  expect(rangesIn("457164 DK debti")).toMatchObject([{ country: "DK DEBTI" }]);
});
