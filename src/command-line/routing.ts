/**
 * `switchyard routing`: the order in which a merchant's gateways are called, the failures that lead to the next one,
 * and past versions.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import type { DashboardClient, RoutingRuleView } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { type ConnectionNames, readConnectionNames } from "./connection-names.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";
import {
  authenticationHelp,
  casesHelp,
  describeCases,
  describePolicy,
  describeSplit,
  exemptionsHelp,
  type NamedRule,
  nameOfAuthentication,
  parseAuthentication,
  parseExemptions,
  parseSplit,
  providerHelp,
  readRule,
  resendOption,
  retryOption,
  splitHelp,
  switchesHelp,
  whenSavingOption,
  withoutBrowserOption,
} from "./routing-draft.ts";
import { routeTestCommand, whatIfCommand } from "./routing-trial.ts";

type ExpectingOptions = MerchantOptions & { readonly expectedVersion?: number };

export function routingCommand(): Command {
  return new Command("routing")
    .addCommand(setCommand())
    .addCommand(showCommand())
    .addCommand(versionsCommand())
    .addCommand(restoreCommand())
    .addCommand(routeTestCommand())
    .addCommand(whatIfCommand());
}

function addExpectedVersion(command: Command): Command {
  return command.option(
    "--expected-version <version>",
    "version that you change; fails if a newer version was set since",
    parseVersion,
  );
}

function setCommand(): Command {
  const command = merchantCommand("set", {
    description: "set a new version of the rule; it applies to payments submitted from then on",
    example:
      "switchyard routing set --connections gc_01h455…,gc_01h9zz… --failover-on HARD_DECLINE,TIMEOUT --authentication always",
  })
    .option(
      "--connections <ids>",
      "ids of verified connections by priority, comma-separated (default: as in the newest version)",
    )
    .option("--failover-on <kinds>", switchesHelp)
    .option("--authentication <when>", authenticationHelp, parseAuthentication)
    .option("--provider <connection>", providerHelp)
    .option("--exemptions <kinds>", exemptionsHelp, parseExemptions)
    .addOption(
      new Option(
        "--on-unavailable <policy>",
        "with --authentication always, if the provider cannot authenticate: let the gateways do so, or stop the payment",
      ).choices(["proceed", "stop"]),
    )
    .addOption(
      new Option("--second-challenge <policy>", "a second gateway may ask a customer who was asked before").choices([
        "allow",
        "forbid",
      ]),
    )
    .addOption(withoutBrowserOption())
    .addOption(whenSavingOption())
    .option("--cases <file>", casesHelp)
    .option("--split <share>", splitHelp, parseSplit)
    .addOption(retryOption())
    .addOption(resendOption());
  return addExpectedVersion(command).action(async (options: ExpectingOptions & NamedRule) => {
    const { expectedVersion } = options;
    const { authentication, provider, exemptions, onUnavailable, secondChallenge, withoutBrowser, whenSaving } =
      options;
    const ofAuthentication = [
      authentication,
      provider,
      exemptions,
      onUnavailable,
      secondChallenge,
      withoutBrowser,
      whenSaving,
    ];
    const { connections, failoverOn, cases, split, retrySameGateway, cryptogramResend } = options;
    const ofRule = [connections, failoverOn, cases, split, retrySameGateway, cryptogramResend, ...ofAuthentication];
    if (ofRule.every((named) => named === undefined))
      throw new UsageError("Give a part of the rule, such as --connections or --authentication; see --help.");
    await administerRule(options, async ({ routingRules }) => {
      const rule = await readRule(routingRules, scopeOf(options), options);
      const request = { ...scopeOf(options), ...rule, ...(expectedVersion !== undefined && { expectedVersion }) };
      return routingRules.setRoutingRule(request);
    });
  });
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show the rule in force: the newest version, or the default rule",
    example: "switchyard routing show --environment live",
  }).action(async (options: MerchantOptions) => {
    await administerRule(options, ({ routingRules }) => routingRules.getRoutingRule(scopeOf(options)));
  });
}

function versionsCommand(): Command {
  const command = merchantCommand("versions", {
    description: "list the versions of the rule, newest first: who set each, when, and what it changed",
    example: "switchyard routing versions --count 5",
  });
  return addPaging(command).action(async (options: MerchantOptions & PagingOptions) => {
    await administer(
      options,
      ({ routingRules }) => routingRules.listRoutingRuleVersions({ ...scopeOf(options), ...pageOf(options) }),
      ({ versions = [], nextPageToken }) => {
        const lines = versions.flatMap(({ routingRule, changes = [] }) => {
          const { version, createdAt, setBy = "set-up", restoredFrom } = routingRule ?? {};
          const origin = restoredFrom === undefined ? "" : `, restored from version ${restoredFrom}`;
          return [
            `Version ${version}, set at ${createdAt} by ${setBy}${origin}`,
            ...changes.map((change) => `  ${change}`),
          ];
        });
        return withNextPage(lines.length === 0 ? [noVersion] : lines, nextPageToken);
      },
    );
  });
}

function restoreCommand(): Command {
  const command = merchantCommand("restore", {
    description: "set a new version with the content of an older one",
    example: "switchyard routing restore 3 --expected-version 5",
  }).argument("<version>", "version to restore", parseVersion);
  return addExpectedVersion(command).action(async (version: number, options: ExpectingOptions) => {
    const { expectedVersion } = options;
    const request = { ...scopeOf(options), version, ...(expectedVersion !== undefined && { expectedVersion }) };
    await administerRule(options, ({ routingRules }) => routingRules.restoreRoutingRule(request));
  });
}

function parseVersion(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number.");
}

/** Makes a call that returns a rule, and prints the rule with the names of its connections. */
async function administerRule(
  options: MerchantOptions,
  call: (dashboard: DashboardClient) => Promise<{ routingRule?: RoutingRuleView }>,
): Promise<void> {
  let nameOf: ConnectionNames = () => undefined;
  await administer(
    options,
    async (dashboard) => {
      nameOf = await readConnectionNames(dashboard.connections, scopeOf(options));
      return call(dashboard);
    },
    ({ routingRule }) => describeRule(routingRule, nameOf),
  );
}

const noVersion = "No rule was set, so payments follow the default rule: switchyard routing show";
const noRule = "No gateway is verified, so payments cannot be routed: switchyard connection verify --help";

function describeRule(rule: RoutingRuleView | undefined, nameOf: ConnectionNames): string[] {
  if (rule === undefined) return [noRule];
  const { version, connectionIds = [], failoverOn = [] } = rule;
  const gatewayWidth = Math.max(...connectionIds.map((id) => nameOf(id)?.gateway.length ?? 0));
  return [
    version
      ? `Version ${version}`
      : "The default rule, in force because no rule is set. `switchyard routing set` makes version 1.",
    ...connectionIds.map((connectionId, index) => {
      const { gateway = "", account = "" } = nameOf(connectionId) ?? {};
      return `  priority ${index + 1}  ${connectionId}  ${gateway.padEnd(gatewayWidth)}  ${account}`.trimEnd();
    }),
    ...describeSplit(rule.split, nameOf).map((line) => `  split  ${line}`),
    ...describeCases(rule, nameOf),
    `  failover on ${failoverOn.join(", ") || "nothing"} (never on fraud)`,
    `  retry at the same gateway ${rule.retriesSameGateway ? "once, if it asks to try again" : "off"}`,
    `  cryptogram resend ${(rule.cryptogramResend ?? "UNANSWERED").toLowerCase().replace("_", "-")}`,
    `  customer authentication ${nameOfAuthentication(rule)}`,
    ...describePolicy(rule).map((line) => `  ${line}`),
    ...(rule.providerId ? [`  authenticated by ${rule.providerId}  ${nameOf(rule.providerId)?.gateway ?? ""}`] : []),
  ];
}
