/** Describes the cases of a routing rule, and the differences between two rules' cases, in sentences. PURE. */
import type { RouteConditions, RoutingCase, RoutingCases, Split, TimeCondition } from "../core/rows/entities.ts";
import { amountInWords, decimalOf, isCurrency, isoExponent } from "../platform/money.ts";
import { nameOfBrand } from "./card-brand-name.ts";

const none: RoutingCases = { list: [], cardRanges: [] };

/** Returns one sentence for each difference, none if the cases are equal. */
export function describeCases(
  before: RoutingCases | null | undefined,
  after: RoutingCases | null | undefined,
  nameOf: (connectionId: string) => string,
): string[] {
  const [old, new_] = [before ?? none, after ?? none];
  const named = ({ list }: RoutingCases, name: string) => list.find((one) => one.name === name);
  const stayed = old.list.filter(({ name }) => named(new_, name)).map(({ name }) => name);
  const reordered = new_.list.map(({ name }) => name).filter((name) => stayed.includes(name));
  const moved = reordered.filter((name, index) => stayed[index] !== name);
  const place = (name: string) => new_.list.findIndex((one) => one.name === name) + 1;
  return [
    ...new_.list
      .filter(({ name }) => !named(old, name))
      .map((one) => `The case “${one.name}” is added at place ${place(one.name)}: ${describeCase(one, nameOf)}.`),
    ...old.list.filter(({ name }) => !named(new_, name)).map(({ name }) => `The case “${name}” is removed.`),
    ...moved.map((name) => `The case “${name}” moves to place ${place(name)}.`),
    ...new_.list.flatMap((one) => describeChange(named(old, one.name), one, nameOf)),
    ...describeRanges(old, new_),
  ];
}

function describeChange(
  old: RoutingCase | undefined,
  one: RoutingCase,
  nameOf: (connectionId: string) => string,
): string[] {
  // Cases are not compared by their words: “a or b” may be one value of metadata, or two.
  if (old === undefined || contentOf(old) === contentOf(one)) return [];
  return [`The case “${one.name}” is now: ${describeCase(one, nameOf)}.`];
}

/** Returns what a case says, without its place, as a text: two texts are the same exactly if the cases say the same. */
function contentOf({ conditions, connectionIds, split, authentication }: RoutingCase): string {
  // PostgreSQL reorders the keys of a stored case.
  const inOrder = (_: string, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : value;
  return JSON.stringify({ conditions, connectionIds, split, authentication }, inOrder);
}

function describeCase({ conditions, connectionIds, split, authentication }: RoutingCase, nameOf: NameOf): string {
  const plan = connectionIds.map(nameOf).join(", then ");
  const arm = split ? `; ${describeArm(split, nameOf)}` : "";
  const demand = authentication === "ALWAYS" ? "; each of its payments has to be authenticated" : "";
  return `${describeConditions(conditions)}; it plans ${plan}${arm}${demand}`;
}

type NameOf = (connectionId: string) => string;

/** Returns the differences of the default plan's split, one sentence; none if the splits are equal. */
export function describeSplit(
  before: Split | null | undefined,
  after: Split | null | undefined,
  nameOf: NameOf,
): string[] {
  const words = (split: Split | null | undefined, name: NameOf) => (split ? describeArm(split, name) : undefined);
  if (words(before, (id) => id) === words(after, (id) => id)) return [];
  if (before && after && before.connectionIds.join() === after.connectionIds.join())
    return [`Variant B of the default plan gets ${after.percent}% instead of ${before.percent}%.`];
  const arm = words(after, nameOf);
  return [arm === undefined ? "The default plan is no longer split." : `Split of the default plan: ${arm}.`];
}

/** Returns the other plan of a split in words, such as `20% goes to variant B, which plans SANDBOX_B (1)`. */
function describeArm({ percent, connectionIds }: Split, nameOf: NameOf): string {
  return `${percent}% goes to variant B, which plans ${connectionIds.map(nameOf).join(", then ")}`;
}

function describeRanges(old: RoutingCases, new_: RoutingCases): string[] {
  const ranges = ({ cardRanges }: RoutingCases) =>
    cardRanges.map(({ digits, country = "", type = "" }) => `${digits} ${country} ${type}`).toSorted();
  const [before, after] = [ranges(old), ranges(new_)];
  if (before.join() === after.join()) return [];
  const count = after.length === 1 ? "1 card range is" : `${after.length || "No"} card ranges are`;
  return [`${count} entered; before, there ${before.length === 1 ? "was 1" : `were ${before.length || "none"}`}.`];
}

/** Returns the conditions of a case as words that read after its name, such as `currency EUR, card type debit`. */
function describeConditions(conditions: RouteConditions): string {
  const { amountFromMinor: from, amountToMinor: to, time, metadata = [] } = conditions;
  const [currency = "", another] = conditions.currencies ?? [];
  const inWords = (amountMinor: number) =>
    another === undefined || !isCurrency(currency)
      ? amountInWords(amountMinor, currency)
      : decimalOf(amountMinor, isoExponent(currency));
  const list = (name: string, values: readonly string[] = []) =>
    values.length === 0 ? [] : [`${name} ${values.join(" or ")}`];
  return [
    ...list("currency", conditions.currencies),
    ...(from === undefined ? [] : [`amount from ${inWords(from)}`]),
    ...(to === undefined ? [] : [`amount up to ${inWords(to)}`]),
    ...list("card brand", conditions.cardBrands?.map(nameOfBrand)),
    ...list("card type", conditions.cardTypes?.map(lowerCase)),
    ...list("issued in", conditions.issuingCountries),
    ...list("billed in", conditions.billingCountries),
    ...metadata.flatMap(({ key, values }) => list(`metadata ${key}`, values)),
    ...(time ? [describeTime(time)] : []),
  ].join(", ");
}

function describeTime({ timeZone, days = [], from, until }: TimeCondition): string {
  const hours = from === undefined ? "" : ` from ${from} to ${until}`;
  const on = days.length === 0 ? "" : ` on ${days.map(lowerCase).join(" or ")}`;
  return `time${on}${hours} in ${timeZone}`;
}

function lowerCase(word: string): string {
  return word.toLowerCase();
}
