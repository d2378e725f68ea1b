/** `switchyard routing`: in which order a merchant's gateways are asked, and when the next one is. */
import { Command } from "commander";
import type { RoutingRuleView } from "../client/dashboard-client.ts";
import {
  type AttachOptions,
  administer,
  merchantCommand,
  type ScopeOptions,
  scopeOf,
  UsageError,
} from "./attachment.ts";

type RoutingOptions = AttachOptions & ScopeOptions;

const switches = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;

/** Shows and replaces a merchant's routing rule. */
export function routingCommand(): Command {
  return new Command("routing")
    .description("in which order a merchant's gateways are asked, and when the next one is")
    .addCommand(setCommand())
    .addCommand(showCommand());
}

function setCommand(): Command {
  return merchantCommand("set", {
    description: "record a new version of the rule; payments submitted from then on follow it",
    example: "switchyard routing set --connections gc_01h455…,gc_01h9zz… --failover-on HARD_DECLINE,TIMEOUT",
  })
    .requiredOption("--connections <ids>", "verified connections by priority, comma-separated")
    .option("--failover-on <kinds>", `comma-separated: ${switches.join(", ")}; or none`, switches.join(","))
    .action(async (options: RoutingOptions & { connections: string; failoverOn: string }) => {
      const failoverOn = parseSwitches(options.failoverOn);
      const connectionIds = options.connections.split(",");
      await administer(
        options,
        ({ routingRules }) => routingRules.setRoutingRule({ ...scopeOf(options), connectionIds, failoverOn }),
        ({ routingRule }) => describeRule(routingRule),
      );
    });
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show the newest version of the rule",
    example: "switchyard routing show --environment live",
  }).action(async (options: RoutingOptions) => {
    await administer(
      options,
      ({ routingRules }) => routingRules.getRoutingRule(scopeOf(options)),
      ({ routingRule }) => describeRule(routingRule),
    );
  });
}

function describeRule(rule: RoutingRuleView | undefined): string[] {
  if (rule === undefined) return ["There is no rule yet, so no payment can be routed: switchyard routing set --help"];
  const { version, connectionIds = [], failoverOn = [] } = rule;
  return [
    `Version ${version}`,
    ...connectionIds.map((connectionId, index) => `  priority ${index + 1}  ${connectionId}`),
    `  failover on ${failoverOn.join(", ") || "nothing"} (never on fraud)`,
  ];
}

function parseSwitches(text: string): (typeof switches)[number][] {
  const asked = text === "none" ? [] : text.split(",");
  const unknown = asked.filter((name) => !switches.some((known) => known === name));
  if (unknown.length > 0) throw new UsageError(`Unknown failure kind: ${unknown.join(", ")}.`);
  return switches.filter((name) => asked.includes(name));
}
