/** `switchyard routing test` and `what-if`: simulates a rule on one payment, and on past payments. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { type Amount, parseAmount } from "./amounts.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import {
  authenticationHelp,
  casesHelp,
  type NamedRule,
  parseAuthentication,
  parseSplit,
  readRule,
  retryOption,
  splitHelp,
  switchesHelp,
} from "./routing-draft.ts";
import { parseTime } from "./times.ts";

type Rules = DashboardClient["routingRules"];
type Tested = Awaited<ReturnType<Rules["testRoute"]>>;
type Slice = Awaited<ReturnType<Rules["whatIf"]>>;

/** Adds the parts of a rule that is not saved. */
function addRuleOptions(command: Command): Command {
  return command
    .option("--connections <ids>", "connection ids by priority, comma-separated (default: as in the newest version)")
    .option("--failover-on <kinds>", switchesHelp)
    .option("--authentication <when>", authenticationHelp, parseAuthentication)
    .option("--cases <file>", casesHelp)
    .option("--split <share>", splitHelp, parseSplit)
    .addOption(retryOption());
}

export function routeTestCommand(): Command {
  const command = merchantCommand("test", {
    description:
      "simulate one payment: show the plan and the outcome for each kind of gateway response; calls no gateway",
    example: "switchyard routing test --amount 49.00EUR",
  }).requiredOption("--amount <amount>", "amount and its currency, such as 49.00EUR", parseAmount);
  return addRuleOptions(command)
    .option("--card-brand <name>", "network of the card, such as visa (default: unknown)")
    .addOption(
      new Option("--card-type <type>", "type of the card (default: unknown)").choices(["credit", "debit", "prepaid"]),
    )
    .option("--issuing-country <code>", "country whose bank issued the card, such as DE (default: unknown)")
    .option("--billing-country <code>", "country of the billing address (default: unknown)")
    .option("--metadata <key=value>", "metadata of the session", addMetadata)
    .addOption(
      new Option("--variant <variant>", "variant of the payment where its plan is split (default: a)").choices([
        "a",
        "b",
      ]),
    )
    .option("--at <time>", "time of the submission, such as 2026-07-01T22:30:00Z (default: now)", parseTime)
    .action(async (options: MerchantOptions & NamedRule & FactOptions & { amount: Amount }) => {
      const { amount, connections, failoverOn, authentication, cases, split, retrySameGateway } = options;
      const payment = { amountMinor: String(amount.amountMinor), currency: amount.currency };
      const request = { ...scopeOf(options), ...payment, facts: factsOf(options) };
      const isDraft = [connections, failoverOn, authentication, cases, split, retrySameGateway].some(
        (named) => named !== undefined,
      );
      const test = async ({ routingRules }: DashboardClient) => {
        const draft = isDraft ? { draft: await draftOf(routingRules, options) } : {};
        return routingRules.testRoute({ ...request, ...draft });
      };
      await administer(options, test, describeTest);
    });
}

export function whatIfCommand(): Command {
  const command = merchantCommand("what-if", {
    description:
      "simulate a rule on past payments, with the responses that their gateways gave; counts payments whose outcome cannot be known",
    example: "switchyard routing what-if --connections gc_01h9zz…,gc_01h455… --days 7",
  });
  return addRuleOptions(command)
    .option("--days <days>", "days of which payments are simulated: today and those before it, 1 to 31", parseDays, 7)
    .option("--time-zone <name>", "time zone of the days, such as Europe/Berlin", "UTC")
    .action(async (options: MerchantOptions & NamedRule & { days: number; timeZone: string }) => {
      const follow = async ({ routingRules }: DashboardClient) => {
        const draft = await draftOf(routingRules, options);
        return wholeWhatIf(routingRules, {
          ...scopeOf(options),
          draft,
          days: options.days,
          timeZone: options.timeZone,
        });
      };
      await administer(options, follow, describeWhatIf);
    });
}

async function draftOf(rules: Rules, options: MerchantOptions & NamedRule) {
  const { expectedVersion: _, ...draft } = await readRule(rules, scopeOf(options), options);
  return draft;
}

type FactOptions = {
  readonly cardBrand?: string;
  readonly cardType?: "credit" | "debit" | "prepaid";
  readonly issuingCountry?: string;
  readonly billingCountry?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly at?: string;
  readonly variant?: "a" | "b";
};

const cardTypes = { credit: "CREDIT", debit: "DEBIT", prepaid: "PREPAID" } as const;

function factsOf({ cardBrand, cardType, issuingCountry, billingCountry, metadata, at, variant }: FactOptions) {
  return {
    ...(cardBrand && { cardBrand }),
    ...(cardType && { cardType: cardTypes[cardType] }),
    ...(issuingCountry && { issuingCountry }),
    ...(billingCountry && { billingCountry }),
    ...(metadata && { metadata }),
    ...(at && { at }),
    ...(variant && { arm: variant.toUpperCase() }),
  };
}

function addMetadata(text: string, others: Record<string, string> = {}): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined)
    throw new InvalidArgumentError("It must be key=value, such as tier=gold.");
  return { ...others, [key]: value };
}

async function wholeWhatIf(rules: Rules, request: Parameters<Rules["whatIf"]>[0]) {
  const counts: Record<string, number> = {};
  const examples: NonNullable<Slice["examples"]> = [];
  let slice: Slice = {};
  do {
    slice = await rules.whatIf({ ...request, pageToken: slice.nextPageToken ?? "" });
    for (const [name, value] of Object.entries(slice.counts ?? {})) counts[name] = (counts[name] ?? 0) + Number(value);
    examples.push(...(slice.examples ?? []));
  } while (slice.nextPageToken);
  return { counts, examples: examples.slice(0, examplesShown), sessions: slice.sessionsSoFar ?? 0 };
}

const examplesShown = 10;

const countsInWords: readonly (readonly [string, string])[] = [
  ["payments", "payments submitted and ended"],
  ["same", "same gateways in the same order, same outcome"],
  ["otherFirst", "different first gateway"],
  ["fewerAttempts", "fewer gateways called"],
  ["moreAttempts", "more gateways called"],
  ["cannotKnow", "outcome unknown: a gateway that was not called then, or a customer at the bank"],
  ["lost", "succeeded then, would not succeed"],
  ["notRoutable", "no gateway available"],
];

function describeWhatIf({ counts, examples }: Awaited<ReturnType<typeof wholeWhatIf>>): string[] {
  const { payments = 0, succeededThen = 0, succeeds = 0, cannotKnow = 0, measured = 0 } = counts;
  if (payments === 0) return ["No payment was submitted and ended in this period."];
  const [low, high] = [Math.round(counts.measuredSucceedsLow ?? 0), Math.round(counts.measuredSucceedsHigh ?? 0)];
  const atLeast = succeeds + low;
  const atMost = succeeds + high + cannotKnow - measured;
  const bySplits = `Of the unknown ones, a split has measured the plan of ${measured}: about ${Math.round(counts.measuredSucceeds ?? 0)} would succeed (${low} to ${high}).`;
  return [
    ...countsInWords.map(([name, words]) => `${String(counts[name] ?? 0).padStart(6)}  ${words}`),
    `Succeeded then: ${succeededThen}. Would succeed: ${atLeast === atMost ? atLeast : `${atLeast} to ${atMost}`}.`,
    ...(measured === 0 ? [] : [bySplits]),
    "Each gateway is assumed to respond as it did then. Circuit breakers and time limits are ignored.",
    ...examples.map(
      ({ sessionId, statusThen, askedThen = [], askedInstead = [], because }) =>
        `${sessionId} ${statusThen}: ${askedThen.join(" → ")}; instead ${askedInstead.join(" → ") || "none"}. ${because}`,
    ),
  ];
}

function describeTest(tested: Tested) {
  const { version, plan = [], skipped = [], cases = [], changes = [], authentication = [], unknownCases = [] } = tested;
  return [
    `By version ${version}${changes.length > 0 ? `, which would change: ${changes.join(" ")}` : ""}`,
    ...(tested.case === undefined ? [] : [`By the case “${tested.case}”`]),
    ...(tested.split === undefined
      ? []
      : [`Variant ${tested.split.arm} of a split: ${tested.split.percent} % go to variant B`]),
    ...unknownCases,
    ...plan.map(({ priority, gateway, connectionId }) => `  priority ${priority}  ${gateway}  ${connectionId}`),
    ...skipped.map(({ gateway, connectionId, because }) => `  skipped     ${gateway}  ${connectionId}: ${because}`),
    "Customer authentication:",
    ...authentication.map((sentence) => `  ${sentence}`),
    ...table(
      ["IF ALL RESPOND", "OUTCOME", "GATEWAYS", "REASON"],
      cases.map(({ answer = "", status = "", steps = [] }) => [
        answer,
        status === "CANNOT_KNOW" ? "cannot know" : status,
        steps.map(({ gateway }) => gateway).join(" → "),
        steps.at(-1)?.because ?? "No gateway is available.",
      ]),
      "",
    ),
  ];
}

function parseDays(text: string): number {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= 31) return days;
  throw new InvalidArgumentError("It must be a number of days from 1 to 31.");
}
