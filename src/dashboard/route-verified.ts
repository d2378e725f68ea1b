/** The answer to "route payments here?" about a connection that is verified for the first time. It is a change of routing. */
import { defaultRuleVersion } from "../core/decide/because.ts";
import { findRuleInForce, recordRoutingRule } from "../core/record/routing-rules.ts";
import { type Connection, setConnectionPaused } from "../gateways/connections.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardEnvironment } from "./dashboard-parts.ts";
import { showRule } from "./routing-messages.ts";
import type { RpcContext } from "./rpc-context.ts";

/** Returns the answer; undefined if there is no question. Throws `missing_field` in live, where it has to be given. */
export function routingAnswer(
  { core, name }: DashboardEnvironment,
  { gateway, credentialVersion }: Connection,
  routePayments: boolean | undefined,
): boolean | undefined {
  const isAsked = credentialVersion === null && core.connectorOf(gateway) !== undefined;
  if (!isAsked) return undefined;
  if (routePayments === undefined && name === "live") {
    const detail = "Decide whether live payments are routed to this account once it is verified.";
    throw new DomainError("missing_field", detail, { field: "routePayments" });
  }
  return routePayments;
}

/**
 * Applies the answer in the transaction that has verified the connection. Yes: a saved rule gets it as its last priority, and the
 * default rule has it already. No: it is paused where the default rule would route to it.
 */
export async function applyRoutingAnswer(
  tx: Tx,
  { core }: DashboardEnvironment,
  rpcContext: RpcContext,
  { connection, routes }: { readonly connection: Connection; readonly routes: boolean },
): Promise<void> {
  const { id, merchantId } = connection;
  const rule = await findRuleInForce(core, tx, merchantId);
  if (rule === undefined) return;
  const isDefault = rule.version === defaultRuleVersion;
  if (!routes) {
    if (!isDefault) return;
    await setConnectionPaused(tx, id, true);
    const subject = encodeId("gc", id);
    return rpcContext.audit(tx, { subject, before: { paused: connection.paused }, after: { paused: true } });
  }
  const others = rule.connectionIds.filter((one) => one !== id);
  const before = { ...rule, connectionIds: others };
  const after = { ...rule, connectionIds: isDefault ? rule.connectionIds : [...others, id] };
  const { restoredFrom: _, ...content } = after;
  const version = isDefault ? rule.version : await recordRoutingRule(tx, { ...content, setBy: rpcContext.actor });
  const subject = `${encodeId("mer", merchantId)}/routing-rule`;
  await rpcContext.audit(tx, { subject, before: showRule(before), after: showRule({ ...after, version }) });
}
