/** Parses a routing rule as commands accept it. */
import type { DashboardClient } from "../client/dashboard-client.ts";
import { UsageError } from "./attachment.ts";

const switches = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;

type Switch = (typeof switches)[number];
type Rules = DashboardClient["routingRules"];

/** The help text of --failover-on. */
export const switchesHelp = `comma-separated: ${switches.join(",")}; or none (default: as in the newest version; all for the first version)`;

/** Parses the named kinds. Throws UsageError for one that does not exist. */
export function parseSwitches(text: string): Switch[] {
  const named = text === "none" ? [] : text.split(",");
  const unknown = named.filter((name) => !switches.some((known) => known === name));
  if (unknown.length > 0)
    throw new UsageError(`Unknown failure kind: ${unknown.join(", ")}. The kinds are ${switches.join(", ")}.`);
  return switches.filter((name) => named.includes(name));
}

/**
 * Reads the kinds of the newest version and its number, for a rule that is based on it; all kinds if there is no
 * version.
 */
export async function keptSwitches(rules: Rules, scope: Parameters<Rules["getRoutingRule"]>[0]) {
  const { routingRule } = await rules.getRoutingRule(scope);
  const failoverOn = routingRule === undefined ? [...switches] : (routingRule.failoverOn ?? []);
  return { failoverOn, expectedVersion: routingRule?.version ?? 0 };
}
