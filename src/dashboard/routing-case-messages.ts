/**
 * Maps the cases and splits of a routing rule to messages, and those of a request to the core's; refuses those that make
 * no sense.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  RoutingRule_Authentication as AuthenticationMessage,
  type CardRange as CardRangeMessage,
  CardRange_Type as CardTypeMessage,
  type RoutingCases as CasesMessage,
  type RouteConditions as ConditionsMessage,
  TimeCondition_Day as DayMessage,
  type RoutingCasesSchema,
  type Split as SplitMessage,
  type TimeCondition as TimeMessage,
} from "../../gen/dashboard/v1/routing_rules_pb.ts";
import { cardTypes, implies, weekdays } from "../core/decide/routing-cases.ts";
import type {
  CardRange,
  CardType,
  RouteConditions,
  RoutingCase,
  RoutingCases,
  RoutingRule,
  Split,
  TimeCondition,
} from "../core/rows/entities.ts";
import { isCountry } from "../platform/countries.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { isCurrency, isoExponent } from "../platform/money.ts";

export type NamedCases = RoutingCases;

/**
 * Returns the cases of a request, with the connections' public ids; those of the newest rule if it has none. Throws
 * `invalid_field` for a condition that no payment can meet, or that means nothing.
 */
export function casesOf(
  message: CasesMessage | undefined,
  newest: Pick<RoutingRule, "cases"> | undefined,
): NamedCases | null {
  if (message === undefined) return newest?.cases ? showCases(newest.cases) : null;
  const names = message.list.map(({ name }) => name);
  const conditionsAbove: RouteConditions[] = [];
  const list = message.list.map(({ name, conditions, connectionIds, split, authentication }, index): RoutingCase => {
    const at = `cases.list[${index}]`;
    if (names.indexOf(name) !== index) refuse(`${at}.name`, "Two cases have this name.");
    const read = conditionsOf(conditions, `${at}.conditions`);
    const above = conditionsAbove.findIndex((wider) => implies(read, wider));
    if (above !== -1) {
      const detail = `No payment follows it: “${names[above]}” above it has each of its payments. Move it up, or change one.`;
      refuse(`${at}.conditions`, detail);
    }
    conditionsAbove.push(read);
    const arms = readSplit(split, connectionIds, `${at}.split`);
    const demands = authentication === AuthenticationMessage.ALWAYS && { authentication: "ALWAYS" as const };
    return { name, conditions: read, connectionIds, ...(arms && { split: arms }), ...demands };
  });
  return { list, cardRanges: rangesOf(message.cardRanges) };
}

/**
 * Returns the split of a request's default plan, with the connections' public ids; that of the newest rule if it has
 * none. Throws `invalid_field` for a split that compares nothing.
 */
export function splitOf(
  message: SplitMessage | undefined,
  newest: Pick<RoutingRule, "split"> | undefined,
  connectionIds: readonly string[],
): Split | null {
  const shown = newest?.split ? showSplit(newest.split) : undefined;
  return readSplit(message ?? shown, connectionIds, "split") ?? null;
}

function readSplit(
  split: Pick<SplitMessage, "percent" | "connectionIds"> | Split | undefined,
  planned: readonly string[],
  at: string,
): Split | undefined {
  if (split === undefined) return undefined;
  const { percent, connectionIds } = split;
  if (percent === 0 && connectionIds.length === 0) return undefined;
  if (percent === 0) refuse(`${at}.percent`, "The share of variant B must be 1 to 99 percent.");
  if (connectionIds.length === 0) refuse(`${at}.connectionIds`, "Variant B needs at least one gateway.");
  if (connectionIds.join() === planned.join()) {
    refuse(`${at}.connectionIds`, "Both variants have the same plan, so there is nothing to compare.");
  }
  return { percent, connectionIds };
}

export function showSplit({ percent, connectionIds }: Split): { percent: number; connectionIds: string[] } {
  return { percent, connectionIds: connectionIds.map((id) => encodeId("gc", id)) };
}

/** Throws the refusal of a field of the request, which people read as `Case 2: …`, `Card range 7: …` or `Split: …`. */
function refuse(param: string, detail: string): never {
  const [, list, index] = /^cases\.(list|cardRanges)\[(\d+)\]/.exec(param) ?? [];
  const numbered = `${list === "list" ? "Case" : "Card range"} ${Number(index) + 1}`;
  const place = list === undefined ? "Split" : numbered;
  const pointer = `/${param.replaceAll(/[.[\]]+/g, "/").replace(/\/$/, "")}`;
  const problem = { param, pointer, code: "invalid_field", detail } as const;
  throw new DomainError("invalid_field", `${place}: ${detail}`, { field: param, problems: [problem] });
}

function conditionsOf(message: ConditionsMessage | undefined, at: string): RouteConditions {
  const conditions: RouteConditions = {
    ...listed("currencies", message?.currencies),
    ...(message?.amountFromMinor !== undefined && { amountFromMinor: Number(message.amountFromMinor) }),
    ...(message?.amountToMinor !== undefined && { amountToMinor: Number(message.amountToMinor) }),
    ...listed("cardBrands", message?.cardBrands),
    ...listed("cardTypes", cardTypesOf(message)),
    ...listed("issuingCountries", message?.issuingCountries),
    ...listed("billingCountries", message?.billingCountries),
    ...listed(
      "metadata",
      message?.metadata.map(({ key, values }) => ({ key, values })),
    ),
    ...(message?.time && { time: timeOf(message.time, `${at}.time`) }),
  };
  if (Object.keys(conditions).length === 0) {
    refuse(at, "A case needs a condition; payments without one follow the default plan.");
  }
  refuseImpossible(conditions, at);
  return conditions;
}

function cardTypesOf(message: ConditionsMessage | undefined): CardType[] {
  return cardTypes.filter((name) => message?.cardTypes.includes(CardTypeMessage[name]));
}

function listed<Name extends string, Value>(name: Name, values: readonly Value[] = []) {
  return (values.length === 0 ? {} : { [name]: values }) as { [key in Name]?: readonly Value[] };
}

function refuseImpossible(conditions: RouteConditions, at: string): void {
  const keys = (conditions.metadata ?? []).map(({ key }) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) refuse(`${at}.metadata`, `The key ${twice} is named twice; name all of its values at once.`);
  if (conditions.metadata?.some(({ values }) => values.some((value) => /\p{Cc}/u.test(value)))) {
    refuse(`${at}.metadata`, "No metadata of a session has control characters.");
  }
  const { currencies = [], amountFromMinor, amountToMinor, issuingCountries = [], billingCountries = [] } = conditions;
  if (!currencies.every(isCurrency)) refuse(`${at}.currencies`, "One of these is not a currency in circulation.");
  if (!issuingCountries.every(isCountry)) refuse(`${at}.issuingCountries`, "One of these is not a country.");
  if (!billingCountries.every(isCountry)) refuse(`${at}.billingCountries`, "One of these is not a country.");
  if (amountFromMinor === undefined && amountToMinor === undefined) return;
  if (new Set(currencies.map(isoExponent)).size !== 1) {
    refuse(`${at}.currencies`, "A range of amounts needs currencies, all with the same number of decimals.");
  }
  if ((amountFromMinor ?? 0) > (amountToMinor ?? Number.POSITIVE_INFINITY)) {
    refuse(`${at}.amountToMinor`, "The highest amount is below the lowest.");
  }
}

function timeOf({ timeZone, days, from, until }: TimeMessage, at: string): TimeCondition {
  if (!isTimeZone(timeZone)) refuse(`${at}.timeZone`, "This is not a time zone; one is Europe/Berlin.");
  if ((from === undefined) !== (until === undefined)) refuse(`${at}.until`, "Hours need a beginning and an end.");
  if (from !== undefined && from === until) refuse(`${at}.until`, "Hours must not end when they begin.");
  if (from === undefined && days.length === 0) refuse(at, "A time needs days or hours.");
  const named = weekdays.filter((name) => days.includes(DayMessage[name]));
  return { timeZone, ...listed("days", named), ...(from !== undefined && { from, until }) };
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    // An offset such as +02:00 would not follow the clocks.
    return /^[A-Z]/i.test(name);
  } catch {
    return false;
  }
}

function rangesOf(messages: readonly CardRangeMessage[]): CardRange[] {
  const digits = messages.map((range) => range.digits);
  return messages.map((range, index): CardRange => {
    const at = `cases.cardRanges[${index}]`;
    if (digits.indexOf(range.digits) !== index) refuse(`${at}.digits`, "Two card ranges have these digits.");
    if (range.country !== "" && !isCountry(range.country)) refuse(`${at}.country`, "This is not a country.");
    const type = cardTypes.find((name) => CardTypeMessage[name] === range.type);
    if (range.country === "" && type === undefined) refuse(at, "A card range needs a country or a type.");
    return { digits: range.digits, ...(range.country !== "" && { country: range.country }), ...(type && { type }) };
  });
}

export function showCases({ list, cardRanges }: RoutingCases): NamedCases {
  const shown = list.map((one) => ({
    ...one,
    connectionIds: one.connectionIds.map((id) => encodeId("gc", id)),
    ...(one.split && { split: showSplit(one.split) }),
  }));
  return { list: shown, cardRanges };
}

export function casesMessage(cases: RoutingCases): MessageInitShape<typeof RoutingCasesSchema> {
  const { list, cardRanges } = showCases(cases);
  return {
    list: list.map(({ name, conditions, connectionIds, split, authentication }) => ({
      name,
      connectionIds: [...connectionIds],
      ...(authentication && { authentication: AuthenticationMessage[authentication] }),
      conditions: conditionsMessage(conditions),
      ...(split && { split: { ...split, connectionIds: [...split.connectionIds] } }),
    })),
    cardRanges: cardRanges.map(({ digits, country = "", type }) => ({
      digits,
      country,
      type: type === undefined ? CardTypeMessage.TYPE_UNSPECIFIED : CardTypeMessage[type],
    })),
  };
}

function conditionsMessage({ amountFromMinor, amountToMinor, cardTypes: types = [], time, ...lists }: RouteConditions) {
  const { currencies = [], cardBrands = [], issuingCountries = [], billingCountries = [], metadata = [] } = lists;
  return {
    currencies: [...currencies],
    cardBrands: [...cardBrands],
    issuingCountries: [...issuingCountries],
    billingCountries: [...billingCountries],
    ...(amountFromMinor !== undefined && { amountFromMinor: BigInt(amountFromMinor) }),
    ...(amountToMinor !== undefined && { amountToMinor: BigInt(amountToMinor) }),
    cardTypes: types.map((name) => CardTypeMessage[name]),
    metadata: metadata.map(({ key, values }) => ({ key, values: [...values] })),
    ...(time && { time: { ...time, days: (time.days ?? []).map((name) => DayMessage[name]) } }),
  };
}
