/** Tests that what is typed into a case's form becomes a condition, or stops the save and says why. */
import { expect, it } from "vitest";
import { TimeCondition_Day } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import {
  type Conditions,
  casesContentOf,
  kindsIn,
  noConditions,
  problemsOfCases,
  rangesIn,
  splitsBelow,
  type Typed,
  textOfAmount,
  textOfCases,
  withCondition,
  withCurrencies,
  withoutCondition,
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

it.each<[string, Typed, string[]]>([
  ["EUR from 100.01 and card brand is Amex", { lowest: "100.01" }, ["EUR"]],
  ["EUR or CHF from 100.01 to 500.00 and card brand is Amex", { lowest: "100.01", highest: "500" }, ["EUR", "CHF"]],
  ["EUR up to 500.00 and card brand is Amex", { highest: "500" }, ["EUR"]],
  ["currency is EUR and card brand is Amex", {}, ["EUR"]],
  ["card brand is Amex and tier is gold or silver", { metadata: "tier = gold | silver" }, []],
])("reads as a sentence: %s", (sentence, typed, currencies) => {
  expect(wordsOf(casesWith(typed, currencies).list[0]!.conditions, known)).toBe(sentence);
});

it("does not save a case with a condition that was added and has no value, or with a time zone that is none", () => {
  const problems = (conditions: Conditions) =>
    problemsOfCases({ list: [{ name: "x", conditions, connectionIds: ["gc_a"] }], cardRanges: [] });
  const brand = withCondition({ ...noConditions, cardBrands: ["visa"] }, "type", {});
  expect(kindsIn(brand)).toEqual(["brand", "type"]);
  expect(problems(brand)).toEqual(["Case 1: Card type: Enter a value, or remove the condition."]);
  expect(problems(withoutCondition(brand, "type"))).toEqual([]);
  expect(kindsIn(withoutCondition(brand, "type"))).toEqual(["brand"]);
  const time = { timeZone: "Europe/Berlin", days: [TimeCondition_Day.SATURDAY], from: undefined, until: undefined };
  expect(problems(withCondition(noConditions, "time", { time }))).toEqual([]);
  expect(problems(withCondition(noConditions, "time", { time: { ...time, timeZone: "Berlin" } }))).toEqual([
    "Case 1: Time zone: Choose one of the list, such as Europe/Berlin.",
  ]);
});

it("removes a condition with what was typed for it", () => {
  const typed = withTyped(
    withCondition({ ...noConditions, currencies: ["EUR"] }, "money", { typed: { lowest: "ten" } }),
    known,
  );
  expect(typed.unreadAmounts).toHaveLength(1);
  const removed = withoutCondition(typed, "money");
  expect(withTyped(removed, known)).toMatchObject({ currencies: [], unreadAmounts: [], amountFromMinor: undefined });
  expect(kindsIn(removed)).toEqual([]);
});

it("names the splits that a case takes payments from: those of later cases and of the default order", () => {
  const split = { percent: 10, connectionIds: ["gc_b"] };
  const list = [
    { name: "One", connectionIds: ["gc_a"], split },
    { name: "Two", connectionIds: ["gc_a"] },
    { name: "Three", connectionIds: ["gc_a"], split },
  ];
  expect(splitsBelow(list, 1, split)).toEqual(["the case “Three”", "the default order"]);
  expect(splitsBelow(list, 2, undefined)).toEqual([]);
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
