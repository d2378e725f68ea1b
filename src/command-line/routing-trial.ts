/** `switchyard routing test` and `what-if`: what a rule would do to a payment, and would have done to those of the past. */
import { type Command, InvalidArgumentError } from "commander";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { keptSwitches, parseSwitches, switchesHelp } from "./routing-draft.ts";

type RoutingOptions = AttachOptions & ScopeOptions;
type Rules = DashboardClient["routingRules"];
type Tested = Awaited<ReturnType<Rules["testRoute"]>>;
type Slice = Awaited<ReturnType<Rules["whatIf"]>>;

/** Says what would happen to one payment. */
export function routeTestCommand(): Command {
  return merchantCommand("test", {
    description:
      "say what would happen to a payment: the plan, and what would follow each kind of answer; asks no gateway",
    example: "switchyard routing test --amount-minor 4900 --currency EUR",
  })
    .requiredOption("--amount-minor <amount>", "in minor units: 4900 is 49.00 EUR", parseAmount)
    .requiredOption("--currency <code>", "such as EUR")
    .option("--connections <ids>", "try these instead of the newest version, by priority, comma-separated")
    .option("--failover-on <kinds>", `with --connections: ${switchesHelp}`)
    .action(
      async (
        options: RoutingOptions & { amountMinor: string; currency: string; connections?: string; failoverOn?: string },
      ) => {
        const { amountMinor, currency, connections } = options;
        const request = { ...scopeOf(options), amountMinor, currency };
        const test = async ({ routingRules }: DashboardClient) => {
          const draft =
            connections === undefined ? {} : { draft: await draftOf(routingRules, { ...options, connections }) };
          return routingRules.testRoute({ ...request, ...draft });
        };
        await administer(options, test, describeTest);
      },
    );
}

/** Says what a rule would have done to payments of the past. */
export function whatIfCommand(): Command {
  return merchantCommand("what-if", {
    description:
      "follow a rule through payments of the past by what their gateways said, and say where nobody can know",
    example: "switchyard routing what-if --connections gc_01h9zz…,gc_01h455… --days 7",
  })
    .requiredOption("--connections <ids>", "by priority, comma-separated")
    .option("--failover-on <kinds>", switchesHelp)
    .option("--days <days>", "how far back, 1 to 31; the newest 10 000 sessions at most", parseDays, 7)
    .action(async (options: RoutingOptions & { connections: string; failoverOn?: string; days: number }) => {
      const follow = async ({ routingRules }: DashboardClient) => {
        const draft = await draftOf(routingRules, options);
        return wholeWhatIf(routingRules, { ...scopeOf(options), draft, days: options.days });
      };
      await administer(options, follow, describeWhatIf);
    });
}

async function draftOf(rules: Rules, options: RoutingOptions & { connections: string; failoverOn?: string }) {
  const { connections, failoverOn } = options;
  const kinds =
    failoverOn === undefined ? (await keptSwitches(rules, scopeOf(options))).failoverOn : parseSwitches(failoverOn);
  return { connectionIds: connections.split(","), failoverOn: kinds };
}

/** All slices as one answer. */
async function wholeWhatIf(rules: Rules, request: Parameters<Rules["whatIf"]>[0]) {
  const counts: Record<string, number> = {};
  const examples: NonNullable<Slice["examples"]> = [];
  let slice: Slice = {};
  do {
    slice = await rules.whatIf({ ...request, pageToken: slice.nextPageToken ?? "" });
    for (const [name, value] of Object.entries(slice.counts ?? {})) counts[name] = (counts[name] ?? 0) + value;
    examples.push(...(slice.examples ?? []));
  } while (slice.nextPageToken);
  return { counts, examples: examples.slice(0, examplesShown), sessions: slice.sessionsSoFar ?? 0 };
}

const examplesShown = 10;

const countsInWords: readonly (readonly [string, string])[] = [
  ["payments", "payments that were submitted and have ended"],
  ["same", "the same gateways in the same order, and the same end"],
  ["otherFirst", "another gateway first"],
  ["fewerAttempts", "fewer gateways asked"],
  ["moreAttempts", "at least one gateway more"],
  ["cannotKnow", "nobody can know: a gateway that was not asked then"],
  ["lost", "succeeded then, and would not have"],
  ["notRoutable", "no gateway to be asked"],
];

function describeWhatIf({ counts, examples }: Awaited<ReturnType<typeof wholeWhatIf>>): string[] {
  const { payments = 0, succeededThen = 0, succeeds = 0, cannotKnow = 0 } = counts;
  if (payments === 0) return ["No payment was submitted and has ended in this time."];
  const atMost = succeeds + cannotKnow;
  return [
    ...countsInWords.map(([name, words]) => `${String(counts[name] ?? 0).padStart(6)}  ${words}`),
    `Succeeded then: ${succeededThen}. Would succeed: ${succeeds === atMost ? succeeds : `${succeeds} to ${atMost}`}.`,
    "A gateway that was asked is taken to answer as it did; circuit breakers and the time for a payment are left out.",
    ...examples.map(
      ({ sessionId, statusThen, askedThen = [], askedInstead = [], because }) =>
        `${sessionId} ${statusThen}: ${askedThen.join(" → ")}; instead ${askedInstead.join(" → ") || "nobody"}. ${because}`,
    ),
  ];
}

function describeTest({ version, plan = [], skipped = [], cases = [], changes = [] }: Tested): string[] {
  return [
    `By version ${version}${changes.length > 0 ? `, which would change: ${changes.join(" ")}` : ""}`,
    ...plan.map(({ priority, gateway, connectionId }) => `  priority ${priority}  ${gateway}  ${connectionId}`),
    ...skipped.map(({ gateway, connectionId, because }) => `  left out    ${gateway}  ${connectionId}: ${because}`),
    ...table(
      ["WHEN ALL ANSWER", "ENDS", "ASKED", "BECAUSE"],
      cases.map(({ answer = "", status = "", steps = [] }) => [
        answer,
        status,
        steps.map(({ gateway }) => gateway).join(" → "),
        steps.at(-1)?.because ?? "Nothing can be asked.",
      ]),
      "",
    ),
  ];
}

function parseAmount(text: string): string {
  if (/^[1-9]\d{0,11}$/.test(text)) return text;
  throw new InvalidArgumentError("An amount is a whole number of minor units.");
}

function parseDays(text: string): number {
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= 31) return days;
  throw new InvalidArgumentError("Days are 1 to 31.");
}
