/** Reads the merchant's newest rule with its connections, over which a payment can be routed. */

import { whyNotForwardable } from "../card-vault/card-vault.ts";
import type { Amount } from "../gateways/amounts.ts";
import type { Connection } from "../gateways/connections.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { Core } from "./core.ts";
import type { FailoverSwitch } from "./entities.ts";
import type { FailoverRule } from "./failover.ts";
import type { Candidate, Route } from "./routing.ts";

const selectRoute: Statement = {
  name: "select_route",
  text: `
    SELECT r.version, r.failover_on AS "failoverOn", c.id AS "connectionId", c.gateway,
      c.credential_version AS "credentialVersion", c.paused
    FROM (SELECT * FROM routing_rule WHERE merchant_id = $1 ORDER BY version DESC LIMIT 1) r
    CROSS JOIN LATERAL unnest(r.connection_ids) WITH ORDINALITY AS planned (connection_id, priority)
    JOIN connection c ON c.id = planned.connection_id AND c.merchant_id = $1
    ORDER BY planned.priority`,
};

type RouteRow = {
  version: number;
  failoverOn: FailoverSwitch[];
  connectionId: string;
  gateway: string;
  credentialVersion: number | null;
  paused: boolean;
};

/**
 * Loads the merchant's newest rule. Without a rule it returns version 0 with no candidates, which can route nothing.
 */
export async function loadRoute(
  core: Core,
  payment: { merchantId: string; amountMinor: number; currency: string },
): Promise<Route> {
  const rows = await core.database.query<RouteRow>(selectRoute, [payment.merchantId]);
  const [first] = rows;
  if (first === undefined) return { version: 0, failoverOn: [], candidates: [] };
  const candidates = rows.map(({ connectionId, gateway, credentialVersion, paused }): Candidate => {
    const failing = core.circuitBreaker.isFailing(connectionId, core.runtime.now());
    return { ...candidateOf(core, { id: connectionId, gateway, credentialVersion, paused }, payment), failing };
  });
  return { version: first.version, failoverOn: first.failoverOn, candidates };
}

/** The parts of the core that decide whether a gateway can take a payment. */
export type RouteParts = Pick<Core, "connectorOf"> & { readonly vault: Pick<Core["vault"], "forwarding"> };

/** Describes a connection as a candidate for this payment, without the circuit breaker's state. */
export function candidateOf(
  { connectorOf, vault }: RouteParts,
  { id, gateway, credentialVersion, paused }: Pick<Connection, "id" | "gateway" | "credentialVersion" | "paused">,
  payment: Amount,
): Candidate {
  const connector = connectorOf(gateway);
  return {
    connectionId: id,
    gateway,
    credentialVersion: credentialVersion ?? undefined,
    paused,
    failing: false,
    notPayable: connector
      ? (whyNotForwardable(vault.forwarding, connector) ?? connector.whyNotPayable(payment))
      : `This installation has no connector for ${gateway}.`,
  };
}

const selectRule: Statement = {
  name: "select_failover_rule",
  text: `SELECT version, failover_on AS "failoverOn" FROM routing_rule WHERE merchant_id = $1 AND version = $2`,
};

/** Loads the rule by which a session was planned, which may no longer be the newest. */
export async function loadFailoverRule(
  queryable: Queryable,
  options: { merchantId: string; version: number },
): Promise<FailoverRule> {
  const [rule] = await queryable.query<FailoverRule>(selectRule, [options.merchantId, options.version]);
  return rule ?? { version: options.version, failoverOn: [] };
}
