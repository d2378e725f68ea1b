/** A merchant's routing rules: every change is a new version, and no version ever changes. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { FailoverSwitch, RoutingRule } from "./entities.ts";

const insertRule: Statement = {
  name: "insert_routing_rule",
  text: `
    INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on)
    SELECT $1, coalesce(max(version), 0) + 1, $2, $3 FROM routing_rule WHERE merchant_id = $1
    RETURNING version`,
};

/** Records a new version and returns its number: payments submitted from its commit on follow it. */
export async function recordRoutingRule(
  tx: Tx,
  rule: { merchantId: string; connectionIds: readonly string[]; failoverOn: readonly FailoverSwitch[] },
): Promise<number> {
  const [row] = await tx.query<{ version: number }>(insertRule, [rule.merchantId, rule.connectionIds, rule.failoverOn]);
  return row!.version;
}

const selectNewest: Statement = {
  name: "select_newest_routing_rule",
  text: `
    SELECT merchant_id AS "merchantId", version, connection_ids AS "connectionIds", failover_on AS "failoverOn",
      created_at AS "createdAt"
    FROM routing_rule WHERE merchant_id = $1 ORDER BY version DESC LIMIT 1`,
};

/** A merchant's newest rule, or undefined before the first one. */
export async function findRoutingRule(queryable: Queryable, merchantId: string): Promise<RoutingRule | undefined> {
  const [rule] = await queryable.query<RoutingRule>(selectNewest, [merchantId]);
  return rule;
}
