/** Parses a routing rule as commands accept it. */
import { InvalidArgumentError, Option } from "commander";
import type { DashboardClient, RoutingRuleView } from "../client/dashboard-client.ts";
import type { RouteConditions } from "../core/rows/entities.ts";
import { describeConditions } from "../reporting/case-changes.ts";
import { UsageError } from "./attachment.ts";
import { type Cases, readCases } from "./case-file.ts";
import type { ConnectionNames } from "./connection-names.ts";

const switches = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;

type Switch = (typeof switches)[number];
type Rules = DashboardClient["routingRules"];

export const switchesHelp = `comma-separated: ${switches.join(",")}; or none (default: as in the newest version; all for the first version)`;

const authentications = { "as-needed": "AS_NEEDED", always: "ALWAYS", never: "NEVER" } as const;

type Authentication = (typeof authentications)[keyof typeof authentications];

export const authenticationHelp =
  "customer authentication (3-D Secure): as-needed, always or never (default: as in the newest version; as-needed for the first version)";

export const providerHelp =
  "id of a connection of a provider that authenticates customers for the gateways that import its proof, or none (default: as in the newest version)";

const exemptions = { "low-value": "LOW_VALUE", "risk-analysis": "RISK_ANALYSIS" } as const;

type Exemption = (typeof exemptions)[keyof typeof exemptions];
type Policy = NonNullable<RoutingRuleView["policy"]>;

export const exemptionsHelp =
  "comma-separated exemptions from authentication to ask for, where the acquirer has agreed to: low-value, risk-analysis; or none (default: as in the newest version)";

const withoutBrowser = { decline: "DECLINE", pay: "PAY" } as const;

export function withoutBrowserOption(): Option {
  return new Option(
    "--without-browser <policy>",
    "with --authentication always, if the page sends no data of its browser: decline the payment, or make it without authentication (default: as in the newest version; decline for the first version)",
  ).choices(Object.keys(withoutBrowser));
}

export function whenSavingOption(): Option {
  return new Option(
    "--when-saving <when>",
    "authentication of a payment that begins an agreement, and of a set-up: always, with a challenge, or as-rule (default: as in the newest version; always for the first version)",
  ).choices(["always", "as-rule"]);
}

export function parseExemptions(text: string): Exemption[] {
  const named = text === "none" ? [] : text.split(",");
  return named.map((name) => {
    const known = Object.entries(exemptions).find(([word]) => word === name);
    if (known === undefined) throw new InvalidArgumentError("They must be low-value, risk-analysis or none.");
    return known[1];
  });
}

/** Returns the policy of a rule in words as commands name them; empty where it is the default. */
export function describePolicy({ policy = {} }: RoutingRuleView): string[] {
  const { stopsIfUnavailable, forbidsSecondChallenge, savingAsRule } = policy;
  const asked = Object.entries(exemptions).filter(([, value]) => policy.exemptions?.includes(value));
  return [
    ...(asked.length > 0 ? [`exemptions ${asked.map(([word]) => word).join(",")}`] : []),
    ...(stopsIfUnavailable ? ["on-unavailable stop"] : []),
    ...(forbidsSecondChallenge ? ["second-challenge forbid"] : []),
    ...(policy.withoutBrowser === "PAY" ? ["without-browser pay"] : []),
    ...(savingAsRule ? ["when-saving as-rule"] : []),
  ];
}

export const casesHelp =
  "JSON file with the cases and card ranges of docs/routing-cases.md, or - for standard input; or none (default: as in the newest version)";

export function describeCases({ cases = {} }: RoutingRuleView, nameOf: ConnectionNames): string[] {
  const { list = [], cardRanges = [] } = cases;
  const lines = list.flatMap(({ name, conditions = {}, connectionIds = [], split, authentication }, index) => {
    const { amountFromMinor: from, amountToMinor: to, ...rest } = conditions;
    const amounts = { ...(from && { amountFromMinor: Number(from) }), ...(to && { amountToMinor: Number(to) }) };
    const gateways = connectionIds.map((id) => nameOf(id)?.gateway ?? id).join(", then ");
    return [
      `  case ${index + 1}  ${name}: ${describeConditions({ ...(rest as RouteConditions), ...amounts })} → ${gateways}`,
      ...describeSplit(split, nameOf).map((line) => `    split  ${line}`),
      ...(authentication === "ALWAYS" ? ["    customer authentication always"] : []),
    ];
  });
  return [...lines, ...(cardRanges.length > 0 ? [`  card ranges ${cardRanges.length}`] : [])];
}

export const splitHelp =
  "share of the default plan's payments that goes by another plan, as percent:connection ids, such as 20:gc_01h9zz…,gc_01h455…; or none (default: as in the newest version)";

export function retryOption(): Option {
  return new Option(
    "--retry-same-gateway <state>",
    "whether a gateway that asks to try again gets the payment once more (default: as in the newest version; off for the first version)",
  ).choices(["on", "off"]);
}

const resends = { "not-sent": "NOT_SENT", unanswered: "UNANSWERED", declined: "DECLINED" } as const;

export function resendOption(): Option {
  return new Option(
    "--cryptogram-resend <when>",
    "when a wallet’s cryptogram may go to another gateway: only if it was not sent, also if it is unanswered, or also if it is declined (default: as in the newest version; unanswered for the first version)",
  ).choices(Object.keys(resends));
}

type Split = NonNullable<RoutingRuleView["split"]>;

export function parseSplit(text: string): Split {
  if (text === "none") return { percent: 0, connectionIds: [] };
  const [, percent, ids] = /^(\d{1,2}):([^:]+)$/.exec(text) ?? [];
  if (ids !== undefined && Number(percent) > 0) return { percent: Number(percent), connectionIds: ids.split(",") };
  throw new InvalidArgumentError("It must be a share from 1 to 99 and connections, such as 20:gc_…,gc_…, or none.");
}

export function describeSplit(split: Split | undefined, nameOf: ConnectionNames): string[] {
  if (split === undefined) return [];
  const gateways = (split.connectionIds ?? []).map((id) => nameOf(id)?.gateway ?? id).join(", then ");
  return [`${split.percent} % to variant B: ${gateways}`];
}

export function parseAuthentication(text: string): Authentication {
  const named = Object.entries(authentications).find(([name]) => name === text);
  if (named !== undefined) return named[1];
  throw new InvalidArgumentError("It must be as-needed, always or never.");
}

export function nameOfAuthentication({ authentication }: RoutingRuleView): string {
  return Object.entries(authentications).find(([, value]) => value === authentication)?.[0] ?? "as-needed";
}

/** Parses the named kinds. Throws UsageError for one that does not exist. */
function parseSwitches(text: string): Switch[] {
  const named = text === "none" ? [] : text.split(",");
  const unknown = named.filter((name) => !switches.some((known) => known === name));
  if (unknown.length > 0)
    throw new UsageError(`Unknown failure kind: ${unknown.join(", ")}. The kinds are ${switches.join(", ")}.`);
  return switches.filter((name) => named.includes(name));
}

function switchesOf({ failoverOn = [] }: RoutingRuleView): Switch[] {
  return switches.filter((name) => failoverOn.includes(name));
}

export type NamedRule = {
  readonly connections?: string;
  readonly failoverOn?: string;
  readonly authentication?: Authentication;
  readonly provider?: string;
  readonly exemptions?: Exemption[];
  readonly onUnavailable?: "proceed" | "stop";
  readonly secondChallenge?: "allow" | "forbid";
  readonly withoutBrowser?: keyof typeof withoutBrowser;
  readonly whenSaving?: "always" | "as-rule";
  readonly cases?: string;
  readonly split?: Split;
  readonly retrySameGateway?: "on" | "off";
  readonly cryptogramResend?: keyof typeof resends;
};

/** Returns the named parts of the policy over those of the newest version; undefined if none is named. */
function policyOf(named: NamedRule, newest: Policy = {}): Policy | undefined {
  const { exemptions: asked, onUnavailable, secondChallenge, withoutBrowser: unseen, whenSaving } = named;
  if ([asked, onUnavailable, secondChallenge, unseen, whenSaving].every((part) => part === undefined)) return undefined;
  return {
    ...newest,
    ...(asked && { exemptions: asked }),
    ...(onUnavailable && { stopsIfUnavailable: onUnavailable === "stop" }),
    ...(secondChallenge && { forbidsSecondChallenge: secondChallenge === "forbid" }),
    ...(unseen && { withoutBrowser: withoutBrowser[unseen] }),
    ...(whenSaving && { savingAsRule: whenSaving === "as-rule" }),
  };
}

type RuleToSend = {
  readonly connectionIds: string[];
  readonly failoverOn: Switch[];
  readonly authentication?: Authentication;
  readonly providerId?: string;
  readonly policy?: Policy;
  readonly cases?: Cases;
  readonly split?: Split;
  readonly retriesSameGateway?: boolean;
  readonly cryptogramResend?: (typeof resends)[keyof typeof resends];
  readonly expectedVersion?: number;
};

/**
 * Returns the named rule; each part that is not named is as in the newest version, which it is then based on. Throws
 * UsageError without connections.
 */
export async function readRule(
  rules: Rules,
  scope: Parameters<Rules["getRoutingRule"]>[0],
  named: NamedRule,
): Promise<RuleToSend> {
  const { authentication, provider } = named;
  const failoverOn = named.failoverOn === undefined ? undefined : parseSwitches(named.failoverOn);
  const connectionIds = named.connections?.split(",");
  const content = {
    ...(authentication && { authentication }),
    ...(provider !== undefined && { providerId: provider === "none" ? "" : provider }),
    ...(named.cases !== undefined && { cases: await readCases(named.cases) }),
    ...(named.split && { split: named.split }),
    ...(named.retrySameGateway && { retriesSameGateway: named.retrySameGateway === "on" }),
    ...(named.cryptogramResend && { cryptogramResend: resends[named.cryptogramResend] }),
  };
  const isPolicyNamed = policyOf(named) !== undefined;
  if (connectionIds !== undefined && failoverOn !== undefined && !isPolicyNamed)
    return { ...content, connectionIds, failoverOn };
  const { routingRule } = await rules.getRoutingRule(scope);
  const policy = policyOf(named, routingRule?.policy);
  if (connectionIds === undefined && routingRule === undefined)
    throw new UsageError("There is no rule yet: name the connections with --connections.");
  return {
    ...content,
    ...(policy && { policy }),
    connectionIds: connectionIds ?? routingRule?.connectionIds ?? [],
    failoverOn: failoverOn ?? (routingRule === undefined ? [...switches] : switchesOf(routingRule)),
    expectedVersion: routingRule?.version ?? 0,
  };
}
