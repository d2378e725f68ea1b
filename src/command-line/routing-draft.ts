/** A routing rule as commands take it. */
import type { DashboardClient } from "../client/dashboard-client.ts";
import { UsageError } from "./attachment.ts";

const switches = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;

type Switch = (typeof switches)[number];
type Rules = DashboardClient["routingRules"];

/** What the help says of --failover-on. */
export const switchesHelp = `comma-separated: ${switches.join(",")}; or none. Not given, they stay as in the newest version; all are on in the first`;

/** The kinds that a person named. Throws UsageError for one that does not exist. */
export function parseSwitches(text: string): Switch[] {
  const asked = text === "none" ? [] : text.split(",");
  const unknown = asked.filter((name) => !switches.some((known) => known === name));
  if (unknown.length > 0) throw new UsageError(`Unknown failure kind: ${unknown.join(", ")}.`);
  return switches.filter((name) => asked.includes(name));
}

/** The kinds of the newest version, and its number, for a rule that is made from it; all kinds before the first one. */
export async function keptSwitches(rules: Rules, scope: Parameters<Rules["getRoutingRule"]>[0]) {
  const { routingRule } = await rules.getRoutingRule(scope);
  const failoverOn = routingRule === undefined ? [...switches] : (routingRule.failoverOn ?? []);
  return { failoverOn, expectedVersion: routingRule?.version ?? 0 };
}
