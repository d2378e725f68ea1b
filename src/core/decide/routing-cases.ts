/**
 * The cases and splits of a routing rule: decides, from the facts of a payment, which case applies and which arm of its
 * split the payment falls into, and therefore which connections are planned. PURE.
 */
import type { CardDigits } from "../../card-vault/card-vault.ts";
import { unreachable } from "../../platform/errors.ts";
import type {
  CardFacts,
  CardRange,
  CardType,
  DrawnArm,
  RouteConditions,
  RoutedBy,
  RoutingCase,
  RoutingCases,
  Split,
  TimeCondition,
  Weekday,
} from "../rows/entities.ts";
import { leftOut } from "./because.ts";
import { type Candidate, candidatesIn, type Route } from "./plan-route.ts";

/** Facts about a payment, for the conditions of cases. One that is absent is unknown. */
export type PaymentFacts = {
  readonly amountMinor: number;
  readonly currency: string;
  readonly billingCountry?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The time of the submission. */
  readonly at: Date;
  readonly card?: CardFacts | undefined;
  /**
   * A number from 1 to 100: arm B of a split has the payments with the numbers up to its share (`drawOf` in
   * routing-rules.ts).
   */
  readonly draw: number;
};

export const cardTypes: readonly CardType[] = ["CREDIT", "DEBIT", "PREPAID"];

/** Every day of a week, Monday first. */
export const weekdays: readonly Weekday[] = [
  "MONDAY",
  "TUESDAY",
  "WEDNESDAY",
  "THURSDAY",
  "FRIDAY",
  "SATURDAY",
  "SUNDAY",
];

// Numbers that gateways publish for tests (https://docs.stripe.com/testing, 2026). No issuer has them, so no live card
// begins so. Networks license the ranges of live cards; a merchant enters those that it has from its acquirer.
const publishedTestRanges: readonly CardRange[] = [
  { digits: "42424242", country: "US", type: "CREDIT" },
  { digits: "55555555", country: "US", type: "CREDIT" },
  { digits: "40000566", country: "US", type: "DEBIT" },
  { digits: "52008282", country: "US", type: "DEBIT" },
  { digits: "51051051", country: "US", type: "PREPAID" },
  { digits: "378282", country: "US", type: "CREDIT" },
];

/**
 * Returns the facts of a card. Of the ranges that its number begins with, the longest decides; a merchant's own range
 * precedes one of ours.
 */
export function cardFactsOf(digits: CardDigits | undefined, own: readonly CardRange[] = []): CardFacts {
  if (digits === undefined) return {};
  const { brand, firstDigits } = digits;
  const find = (ranges: readonly CardRange[]) => {
    const matching = ranges.filter((range) => firstDigits.startsWith(range.digits));
    return matching.toSorted((one, other) => other.digits.length - one.digits.length)[0];
  };
  const { country, type } = find(own) ?? find(publishedTestRanges) ?? {};
  return { ...(brand !== "unknown" && { brand }), ...(country && { country }), ...(type && { type }) };
}

/** The case that applies to a payment, and the cases that could not be checked. */
type ChosenCase = {
  /** Undefined if none applies: the payment follows the default plan. */
  readonly chosen: RoutingCase | undefined;
  /** The cases above the chosen one that did not apply only because a fact is unknown, with the reason. */
  readonly unknown: NonNullable<RoutedBy["unknown"]>;
};

/** Returns the first case whose conditions all hold. A condition on an unknown fact never holds. */
function chooseCase(cases: readonly RoutingCase[], facts: PaymentFacts): ChosenCase {
  const unknown: { case: string; because: string }[] = [];
  for (const one of cases) {
    const missing = unknownFacts(one.conditions, facts);
    if (missing?.length === 0) return { chosen: one, unknown };
    if (missing !== undefined) unknown.push({ case: one.name, because: leftOut.unknownFacts(missing) });
  }
  return { chosen: undefined, unknown };
}

/** Returns the names of the unknown facts that conditions ask for; undefined if one of the conditions does not hold. */
function unknownFacts(conditions: RouteConditions, facts: PaymentFacts): string[] | undefined {
  const missing: string[] = [];
  for (const name of conditionNames) {
    const verdict = check(name, conditions, facts);
    if (verdict === false) return undefined;
    if (verdict !== true) missing.push(verdict);
  }
  return missing;
}

/** The newest rule of a merchant; `candidates` are those of the default plan. */
export type CasedRoute = Route & {
  readonly cases?: RoutingCases | null | undefined;
  /** The split of the default plan. */
  readonly split?: Split | null | undefined;
  /** The candidates of every plan of the rule. */
  readonly all: readonly Candidate[];
};

/** Returns the route of each plan: the default plan, those of the cases, and those of their splits. */
export function routesOf(route: CasedRoute): readonly Route[] {
  const { cases, split, all } = route;
  const list = cases?.list ?? [];
  const arms = [{ split, authentication: undefined }, ...list].flatMap(({ split, authentication }) =>
    split ? [{ connectionIds: split.connectionIds, authentication }] : [],
  );
  const others = [...list, ...arms].map(({ connectionIds, authentication = route.authentication }) => {
    return { ...route, authentication, candidates: candidatesIn(all, connectionIds) };
  });
  return [route, ...others];
}

/**
 * Returns the route that a payment follows, and what decided on it. A rule without cases and splits leaves nothing to
 * record.
 */
export function followCases(
  route: CasedRoute,
  facts: PaymentFacts,
): { readonly route: Route; readonly routedBy?: RoutedBy } {
  const list = route.cases?.list ?? [];
  const { chosen, unknown } = chooseCase(list, facts);
  const split = (chosen ?? route).split ?? undefined;
  if (list.length === 0 && split === undefined) return { route };
  const drawn = split && drawArm(split, facts);
  const { card = {} } = facts;
  const routedBy: RoutedBy = {
    ...(chosen && { case: chosen.name }),
    ...(unknown.length > 0 && { unknown }),
    ...(Object.keys(card).length > 0 && { card }),
    ...(list.length === 0 && { isWithoutCases: true }),
    ...(drawn && { split: drawn }),
    ...(chosen?.authentication && { authentication: chosen.authentication }),
  };
  const other = drawn?.arm === "B" ? split : chosen;
  if (other === undefined) return { route, routedBy };
  const { authentication = route.authentication } = routedBy;
  return { route: { ...route, authentication, candidates: candidatesIn(route.all, other.connectionIds) }, routedBy };
}

function drawArm({ percent }: Split, { draw }: PaymentFacts): DrawnArm {
  return { arm: draw <= percent ? "B" : "A", percent, draw };
}

/** True if a condition holds, false if not; the name of the fact if that is unknown. */
type Verdict = boolean | string;

const conditionNames = [
  "currencies",
  "amountFromMinor",
  "amountToMinor",
  "cardBrands",
  "cardTypes",
  "issuingCountries",
  "billingCountries",
  "metadata",
  "time",
] as const satisfies readonly (keyof RouteConditions)[];

function check(name: keyof RouteConditions, conditions: RouteConditions, facts: PaymentFacts): Verdict {
  const { card = {} } = facts;
  switch (name) {
    case "currencies":
      return isOneOf(conditions.currencies, facts.currency, "the currency");
    case "amountFromMinor":
      return facts.amountMinor >= (conditions.amountFromMinor ?? 0);
    case "amountToMinor":
      return facts.amountMinor <= (conditions.amountToMinor ?? Number.POSITIVE_INFINITY);
    case "cardBrands":
      return isOneOf(conditions.cardBrands, card.brand, "the card’s brand");
    case "cardTypes":
      return isOneOf(conditions.cardTypes, card.type, "the card’s type");
    case "issuingCountries":
      return isOneOf(conditions.issuingCountries, card.country, "the card’s issuing country");
    case "billingCountries":
      return isOneOf(conditions.billingCountries, facts.billingCountry, "the billing country");
    case "metadata":
      return (conditions.metadata ?? []).every(({ key, values }) => {
        const value = facts.metadata?.[key];
        return value !== undefined && values.includes(value);
      });
    case "time":
      return conditions.time === undefined || isWithin(conditions.time, facts.at);
    default:
      return unreachable(name);
  }
}

/**
 * Reports whether each payment that meets the first conditions also meets the others. Hours are compared only if both
 * are equal, so false may be wrong, but true never is.
 */
export function implies(conditions: RouteConditions, others: RouteConditions): boolean {
  return conditionNames.every((name) => impliesOne(name, conditions, others));
}

function impliesOne(name: keyof RouteConditions, conditions: RouteConditions, others: RouteConditions): boolean {
  if (others[name] === undefined) return true;
  switch (name) {
    case "amountFromMinor":
      return (conditions.amountFromMinor ?? 0) >= (others.amountFromMinor ?? 0);
    case "amountToMinor":
      return (conditions.amountToMinor ?? Number.POSITIVE_INFINITY) <= (others.amountToMinor ?? 0);
    case "currencies":
    case "cardBrands":
    case "cardTypes":
    case "issuingCountries":
    case "billingCountries":
      return isWithinList(conditions[name], others[name] ?? []);
    case "metadata":
      return (others.metadata ?? []).every(({ key, values }) =>
        isWithinList(conditions.metadata?.find((one) => one.key === key)?.values, values),
      );
    case "time":
      return isWithinTime(conditions.time, others.time);
    default:
      return unreachable(name);
  }
}

function isWithinList(values: readonly string[] | undefined, others: readonly string[]): boolean {
  return values?.every((value) => others.includes(value)) ?? false;
}

function isWithinTime(time: TimeCondition | undefined, other: TimeCondition | undefined): boolean {
  if (time === undefined || other === undefined || time.timeZone !== other.timeZone) return false;
  const isOnDays = other.days === undefined || isWithinList(time.days, other.days);
  return isOnDays && (other.from === undefined || (time.from === other.from && time.until === other.until));
}

function isOneOf<Value extends string>(
  wanted: readonly Value[] | undefined,
  fact: Value | undefined,
  name: string,
): Verdict {
  if (wanted === undefined) return true;
  return fact === undefined ? name : wanted.includes(fact);
}

// A formatter costs a hundred times what it takes to use it, and a simulation uses one for each payment and case.
const clocks = new Map<string, Intl.DateTimeFormat>();
// More than the zones of the database: members can write a zone in upper and lower case.
const clocksMax = 1_000;

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  if (clocks.size >= clocksMax) clocks.clear();
  const options = { weekday: "long", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const made = new Intl.DateTimeFormat("en-GB", { timeZone, ...options });
  clocks.set(timeZone, made);
  return made;
}

/** Reports whether a moment is on one of the days and within the hours, in the condition's time zone. */
function isWithin({ timeZone, days, from, until }: TimeCondition, at: Date): boolean {
  const parts = clockOf(timeZone).formatToParts(at);
  const partOf = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
  const day = partOf("weekday").toUpperCase() as Weekday;
  const time = `${partOf("hour")}:${partOf("minute")}`;
  if (days !== undefined && !days.includes(day)) return false;
  if (from === undefined || until === undefined) return true;
  return from < until ? from <= time && time < until : from <= time || time < until;
}
