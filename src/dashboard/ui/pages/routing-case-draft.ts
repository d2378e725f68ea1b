/** The edited cases of a routing rule: their form, their problems, and their conditions in words. */
import {
  RoutingRule_Authentication as Authentication,
  type CardRange,
  CardRange_Type as CardType,
  TimeCondition_Day as Day,
  type MetadataCondition,
} from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { nameOfBrand } from "../parts/card-brand.ts";
import { decimalOf, readAmount, type TypedAmount, typedOf } from "../parts/minor-units.ts";
import { isZone } from "../parts/time-zones.ts";

/** The conditions of a case; an empty list is no condition. */
export type Conditions = {
  readonly currencies: readonly string[];
  readonly amountFromMinor?: bigint | undefined;
  readonly amountToMinor?: bigint | undefined;
  readonly cardBrands: readonly string[];
  readonly cardTypes: readonly CardType[];
  readonly issuingCountries: readonly string[];
  readonly billingCountries: readonly string[];
  readonly metadata: readonly Pick<MetadataCondition, "key" | "values">[];
  readonly time?: Time | undefined;
  /** Present once the form was typed in. */
  readonly typed?: Typed | undefined;
  /** The amounts that were typed and are none, with their fields' names. */
  readonly unreadAmounts?: readonly string[] | undefined;
};

/** Texts of the form as they were typed: one that cannot be read is no condition, and must stop the save. */
export type Typed = {
  readonly lowest?: string | undefined;
  readonly highest?: string | undefined;
  readonly metadata?: string | undefined;
  /** True while a field of the hours has only a part of a time. */
  readonly isPartOfHours?: boolean;
  /** The conditions that the form has shown. One without a value must stop the save. */
  readonly shown?: readonly ConditionKind[];
};

/** The conditions that a case can have, with their names, in the order of its sentence. */
export const conditionKinds = [
  ["money", "Currency and amount"],
  ["brand", "Card brand"],
  ["type", "Card type"],
  ["issuer", "Issuing country"],
  ["billing", "Billing country"],
  ["metadata", "Metadata"],
  ["time", "Day and time"],
] as const;

export type ConditionKind = (typeof conditionKinds)[number][0];

export type Currencies = readonly { readonly code: string; readonly exponent: number }[];

export type Time = {
  readonly timeZone: string;
  readonly days: readonly Day[];
  readonly from?: string | undefined;
  readonly until?: string | undefined;
};

/** The split of a plan; 0 percent while the share is not valid. */
export type SplitContent = { readonly percent: number; readonly connectionIds: readonly string[] };

export type CaseContent = {
  /** Identifies the case while it is edited; its name and place may change. */
  readonly key?: string;
  readonly name: string;
  readonly conditions?: Conditions | undefined;
  readonly connectionIds: readonly string[];
  readonly split?: SplitContent | undefined;
  /** ALWAYS: each payment of the case has to be authenticated. Otherwise as the rule says. */
  readonly authentication?: Authentication | undefined;
};

export type CasesContent = {
  readonly list: readonly CaseContent[];
  readonly cardRanges: readonly Pick<CardRange, "digits" | "country" | "type">[];
};

export const noCases: CasesContent = { list: [], cardRanges: [] };

export const noConditions: Conditions = {
  currencies: [],
  cardBrands: [],
  cardTypes: [],
  issuingCountries: [],
  billingCountries: [],
  metadata: [],
};

export function casesContentOf({ list, cardRanges }: CasesContent) {
  return {
    list: list.map(({ name, conditions = noConditions, connectionIds, split, authentication }) => ({
      name,
      connectionIds: [...connectionIds],
      authentication: authentication ?? Authentication.AUTHENTICATION_UNSPECIFIED,
      ...(split && { split: splitContentOf(split) }),
      conditions: {
        currencies: [...conditions.currencies],
        cardBrands: [...conditions.cardBrands],
        cardTypes: [...conditions.cardTypes],
        issuingCountries: [...conditions.issuingCountries],
        billingCountries: [...conditions.billingCountries],
        metadata: conditions.metadata.map(({ key, values }) => ({ key, values: [...values] })),
        ...(conditions.amountFromMinor !== undefined && { amountFromMinor: conditions.amountFromMinor }),
        ...(conditions.amountToMinor !== undefined && { amountToMinor: conditions.amountToMinor }),
        ...(conditions.time && { time: timeContentOf(conditions.time) }),
      },
    })),
    cardRanges: cardRanges.map(({ digits, country, type }) => ({ digits, country, type })),
  };
}

/** Returns the split of a plan as calls send it; of 0 percent for none. */
export function splitContentOf({ percent, connectionIds }: SplitContent = { percent: 0, connectionIds: [] }) {
  return { percent, connectionIds: [...connectionIds] };
}

/** Returns the problems that keep a split from being saved, one sentence each. */
export function problemsOfSplit(split: SplitContent | undefined, planned: readonly string[], where: string): string[] {
  if (split === undefined) return [];
  const { percent, connectionIds } = split;
  return [
    ...(percent === 0 ? [`Give variant B ${where} a share from 1 to 99 percent.`] : []),
    ...(connectionIds.length === 0 ? [`Add a gateway to variant B ${where}.`] : []),
    ...(connectionIds.length > 0 && connectionIds.join() === planned.join()
      ? [`Change the gateways of variant B ${where}: they are those of variant A.`]
      : []),
  ];
}

function timeContentOf({ timeZone, days, from, until }: Time) {
  return { timeZone, days: [...days], ...(from !== undefined && { from }), ...(until !== undefined && { until }) };
}

/** Returns the cases as a text: two texts are the same exactly if the cases are. */
export function textOfCases(cases: CasesContent = noCases): string {
  const unread = cases.list.map(({ conditions = noConditions }) => problemsOfTyped(conditions));
  const text = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
  return JSON.stringify([casesContentOf(cases), unread], text);
}

/** Returns the problems that keep the cases from being saved, one sentence each. */
export function problemsOfCases({ list }: CasesContent): string[] {
  return list.flatMap(({ name, conditions = noConditions, connectionIds, split }, index) => [
    ...(name.trim() === "" ? [`Name case ${index + 1}.`] : []),
    ...(list.findIndex((one) => one.name === name) < index
      ? [`Rename case ${index + 1}: another one is “${name}”.`]
      : []),
    ...problemsOfTyped(conditions).map((problem) => `Case ${index + 1}: ${problem}`),
    ...emptyKinds(conditions).map((kind) => `Case ${index + 1}: ${kind}: Enter a value, or remove the condition.`),
    ...(wordsOf(conditions) === "" ? [`Give case ${index + 1} a condition.`] : []),
    ...(connectionIds.length === 0 ? [`Add a gateway to case ${index + 1}.`] : []),
    ...problemsOfSplit(split, connectionIds, `of case ${index + 1}`),
  ]);
}

export function findCurrencyProblem(text: string): string | null {
  return listIn(text).every((code) => /^[A-Z]{3}$/.test(code)) ? null : "Three letters each, such as EUR, CHF.";
}

export function findCountryProblem(text: string): string | null {
  return listIn(text).every((code) => /^[A-Z]{2}$/.test(code)) ? null : "Two letters each, such as DE, AT.";
}

/** Returns the error of a text of metadata conditions: every line must have a key and values. */
export function findMetadataProblem(text: string): string | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const wrong = lines.find((line) => metadataIn(line).length === 0);
  if (wrong !== undefined) return `“${wrong.trim()}” is not a line such as tier = gold | silver.`;
  const keys = metadataIn(text).map(({ key }) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  return twice === undefined ? null : `Put all values of ${twice} in one line: a payment has one of them.`;
}

export function findAmountProblem(text: string, chosen: readonly string[], known: Currencies): string | null {
  const read = text.trim() === "" ? undefined : amountIn(text, chosen, known);
  return read?.type === "problem" ? read.problem : null;
}

/** Returns an amount of a case as its field shows it; undefined without one. */
export function textOfAmount(amountMinor: bigint | undefined, chosen: readonly string[], known: Currencies) {
  const unit = unitOf(chosen, known);
  return amountMinor === undefined || unit.type === "problem" ? undefined : typedOf({ amountMinor, ...unit });
}

function amountIn(text: string, chosen: readonly string[], known: Currencies): TypedAmount {
  const unit = unitOf(chosen, known);
  if (unit.type === "problem") return unit;
  const read = readAmount(text, unit);
  const isZero = read.type === "amount" && read.amountMinor === 0n;
  return isZero ? { type: "problem", problem: "Enter an amount above zero." } : read;
}

type Unit =
  | { readonly type: "unit"; readonly currency: string; readonly exponent: number }
  | Extract<TypedAmount, { type: "problem" }>;

/** Returns what an amount of a case is counted in: its currencies have to have the same number of decimals. */
function unitOf(chosen: readonly string[], known: Currencies): Unit {
  const found = chosen.map((one) => known.find(({ code }) => code === one));
  const [first] = found;
  if (first === undefined) return { type: "problem", problem: "Enter the currencies of the amount first." };
  if (found.some((one) => one?.exponent !== first.exponent))
    return { type: "problem", problem: "The currencies have different numbers of decimals: make a case for each." };
  return { type: "unit", currency: chosen.join("/"), exponent: first.exponent };
}

/** Returns conditions with the text that was typed: the currencies decide the meaning of an amount. */
export function withTyped(conditions: Conditions, known: Currencies): Conditions {
  const { currencies, typed = {} } = conditions;
  const { lowest, highest, metadata } = typed;
  const minorIn = (text: string) => {
    const read = amountIn(text, currencies, known);
    return read.type === "amount" ? read.amountMinor : undefined;
  };
  const problemOf = (name: string, text = "") => {
    const problem = findAmountProblem(text, currencies, known);
    return problem === null ? [] : [`${name}: ${problem}`];
  };
  return {
    ...conditions,
    unreadAmounts: [...problemOf("Lowest amount", lowest), ...problemOf("Highest amount", highest)],
    ...(lowest !== undefined && { amountFromMinor: minorIn(lowest) }),
    ...(highest !== undefined && { amountToMinor: minorIn(highest) }),
    ...(metadata !== undefined && { metadata: metadataIn(metadata) }),
  };
}

/** Returns conditions with other currencies: the amounts stay as their fields show them, and are read again. */
export function withCurrencies(conditions: Conditions, currencies: readonly string[], known: Currencies): Conditions {
  const { amountFromMinor, amountToMinor, typed } = conditions;
  const shown = (amountMinor: bigint | undefined) => textOfAmount(amountMinor, conditions.currencies, known);
  const [lowest, highest] = [typed?.lowest ?? shown(amountFromMinor), typed?.highest ?? shown(amountToMinor)];
  const amounts = { ...(lowest !== undefined && { lowest }), ...(highest !== undefined && { highest }) };
  return withTyped({ ...conditions, currencies, typed: { ...typed, ...amounts } }, known);
}

function problemsOfTyped({ typed = {}, unreadAmounts = [], time, ...lists }: Conditions): string[] {
  const named = (name: string, problem: string | null) => (problem === null ? [] : [`${name}: ${problem}`]);
  const isHalf = typed.isPartOfHours || (time?.from === undefined) !== (time?.until === undefined);
  return [
    ...named("Currencies", findCurrencyProblem(lists.currencies.join())),
    ...unreadAmounts,
    ...named("Issuing countries", findCountryProblem(lists.issuingCountries.join())),
    ...named("Billing countries", findCountryProblem(lists.billingCountries.join())),
    ...named("Metadata", findMetadataProblem(typed.metadata ?? "")),
    ...named("From and Until", isHalf ? "Enter both times in full, or neither." : null),
    ...named("Time zone", time && !isZone(time.timeZone) ? "Choose one of the list, such as Europe/Berlin." : null),
  ];
}

/** Returns the kinds of conditions that the form shows: those with a value, and those that were added to it. */
export function kindsIn(conditions: Conditions): readonly ConditionKind[] {
  const words = wordsByKind(conditions, []);
  const kinds = conditionKinds.map(([kind]) => kind);
  return kinds.filter((kind) => words[kind] !== "" || conditions.typed?.shown?.includes(kind));
}

/** Returns conditions whose form shows a kind, with its changed value. */
export function withCondition(conditions: Conditions, kind: ConditionKind, changed: Partial<Conditions>): Conditions {
  const { shown = [], ...typed } = { ...conditions.typed, ...changed.typed };
  return { ...conditions, ...changed, typed: { ...typed, shown: [...new Set([...shown, kind])] } };
}

const removed: Readonly<Record<ConditionKind, Partial<Conditions>>> = {
  money: { currencies: [], amountFromMinor: undefined, amountToMinor: undefined, unreadAmounts: [] },
  brand: { cardBrands: [] },
  type: { cardTypes: [] },
  issuer: { issuingCountries: [] },
  billing: { billingCountries: [] },
  metadata: { metadata: [] },
  time: { time: undefined },
};

/** Returns conditions without those of a kind, and without the text that was typed for it. */
export function withoutCondition({ typed, ...conditions }: Conditions, kind: ConditionKind): Conditions {
  const { shown = [], lowest, highest, metadata, isPartOfHours } = typed ?? {};
  return {
    ...conditions,
    ...removed[kind],
    typed: {
      shown: shown.filter((one) => one !== kind),
      ...(kind !== "money" && { lowest, highest }),
      ...(kind !== "metadata" && { metadata }),
      ...(kind !== "time" && isPartOfHours && { isPartOfHours }),
    },
  };
}

/** Returns the splits that a case takes payments from, as the ends of a sentence: of later cases and the default order. */
export function splitsBelow(list: readonly CaseContent[], index: number, defaultSplit: object | undefined): string[] {
  return [
    ...list.slice(index + 1).flatMap(({ name, split }) => (split ? [`the case “${name}”`] : [])),
    ...(defaultSplit ? ["the default order"] : []),
  ];
}

export const cardTypes = [
  [CardType.CREDIT, "Credit"],
  [CardType.DEBIT, "Debit"],
  [CardType.PREPAID, "Prepaid"],
] as const;

export const days = [
  [Day.MONDAY, "Monday"],
  [Day.TUESDAY, "Tuesday"],
  [Day.WEDNESDAY, "Wednesday"],
  [Day.THURSDAY, "Thursday"],
  [Day.FRIDAY, "Friday"],
  [Day.SATURDAY, "Saturday"],
  [Day.SUNDAY, "Sunday"],
] as const;

export const brands = ["visa", "mastercard", "amex", "discover", "diners", "jcb", "unionpay", "maestro"] as const;

/** Returns the conditions as a sentence, such as `EUR from 100.00 and card brand is Visa`; empty if there are none. */
export function wordsOf(conditions: Conditions, known: Currencies = []): string {
  const words = wordsByKind(conditions, known);
  return conditionKinds.flatMap(([kind]) => words[kind] || []).join(" and ");
}

function emptyKinds(conditions: Conditions): string[] {
  const words = wordsByKind(conditions, []);
  const { shown = [], ...typed } = conditions.typed ?? {};
  // Text of these kinds that cannot be read has a separate problem.
  const isTyped = { money: typed.lowest || typed.highest, metadata: typed.metadata, time: typed.isPartOfHours };
  return conditionKinds.flatMap(([kind, name]) =>
    shown.includes(kind) && words[kind] === "" && !isTyped[kind as keyof typeof isTyped] ? [name] : [],
  );
}

function wordsByKind(conditions: Conditions, known: Currencies): Readonly<Record<ConditionKind, string>> {
  const { currencies, amountFromMinor: from, amountToMinor: to, time } = conditions;
  const unit = unitOf(currencies, known);
  const inWords = (amountMinor: bigint) =>
    unit.type === "problem" ? "an amount" : decimalOf({ amountMinor, ...unit });
  const anyOf = (values: readonly string[], before = "") =>
    values.length === 0 ? "" : `${before}${values.join(" or ")}`;
  const namesIn = <Value>(pairs: readonly (readonly [Value, string])[], values: readonly Value[]) =>
    pairs.filter(([value]) => values.includes(value)).map(([, name]) => name);
  const range = [
    ...(from === undefined ? [] : [`from ${inWords(from)}`]),
    ...(to === undefined ? [] : [`${from === undefined ? "up to" : "to"} ${inWords(to)}`]),
  ].join(" ");
  return {
    money: range === "" ? anyOf(currencies, "currency is ") : `${anyOf(currencies)} ${range}`.trim(),
    brand: anyOf(conditions.cardBrands.map(nameOfBrand), "card brand is "),
    type: anyOf(
      namesIn<CardType>(cardTypes, conditions.cardTypes).map((name) => name.toLowerCase()),
      "card type is ",
    ),
    issuer: anyOf(conditions.issuingCountries, "card is issued in "),
    billing: anyOf(conditions.billingCountries, "billing country is "),
    metadata: conditions.metadata.map(({ key, values }) => anyOf(values, `${key} is `)).join(" and "),
    time: time ? timeInWords(time, namesIn<Day>(days, time.days)) : "",
  };
}

function timeInWords({ from, until, timeZone }: Time, names: readonly string[]): string {
  const hours = from === undefined || until === undefined ? [] : [`from ${from} to ${until}`];
  const on = names.length === 0 ? [] : [`on ${names.join(" or ")}`];
  return on.length + hours.length === 0 ? "" : ["submitted", ...on, ...hours, `(${timeZone})`].join(" ");
}

/** Returns the values of a list that a person has typed, in upper case. */
export function listIn(text: string): string[] {
  const values = text.toUpperCase().split(/[\s,;]+/);
  return [...new Set(values.filter((value) => value !== ""))];
}

/** Returns the metadata conditions of a text: a line for each key, such as `tier = gold | silver`. */
function metadataIn(text: string): Conditions["metadata"] {
  return text.split("\n").flatMap((line) => {
    const [, key, values = ""] = /^\s*([^=\s]+)\s*=(.*)$/.exec(line) ?? [];
    return key === undefined ? [] : [{ key, values: [...new Set(values.split("|").map((value) => value.trim()))] }];
  });
}

export function textOfMetadata(metadata: Conditions["metadata"]): string {
  return metadata.map(({ key, values }) => `${key} = ${values.join(" | ")}`).join("\n");
}

/** Returns the card ranges of a text: a line for each, such as `457164 DK debit`. */
export function rangesIn(text: string): CasesContent["cardRanges"] {
  return text.split("\n").flatMap((line) => {
    const [digits, ...rest] = line.trim().split(/[\s,;]+/);
    if (digits === undefined || digits === "") return [];
    const typeOf = (word: string) => cardTypes.find(([, name]) => name.toLowerCase() === word.toLowerCase())?.[0];
    const type = rest.map(typeOf).find((found) => found !== undefined) ?? CardType.TYPE_UNSPECIFIED;
    // A word that is no type stays with the country, so that a typo is refused and not dropped.
    const country = rest.filter((word) => typeOf(word) === undefined).join(" ");
    return [{ digits, country: country.toUpperCase(), type }];
  });
}

export function textOfRanges(ranges: CasesContent["cardRanges"]): string {
  const nameOf = (type: CardType) => cardTypes.find(([value]) => value === type)?.[1].toLowerCase() ?? "";
  return ranges
    .map(({ digits, country, type }) => [digits, country, nameOf(type)].filter(Boolean).join(" "))
    .join("\n");
}
