/** A merchant's routing rules. Every change is a new version, and a version never changes. */
import { columnsOf } from "../platform/columns.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { type FailoverSwitch, type RoutingRule, RoutingRuleEntity } from "./entities.ts";

/** The content of a rule. */
export type RuleContent = { readonly connectionIds: readonly string[]; readonly failoverOn: readonly FailoverSwitch[] };

const insertRule: Statement = {
  name: "insert_routing_rule",
  text: `
    INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on, set_by, restored_from)
    SELECT $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5 FROM routing_rule WHERE merchant_id = $1
    RETURNING version`,
};

/** Records a new version and returns its number. Payments that are submitted after its commit follow it. */
export async function recordRoutingRule(
  tx: Tx,
  rule: RuleContent & {
    readonly merchantId: string;
    /** The author, as the audit trail names them. */
    readonly setBy?: string;
    /** The version that it restores. */
    readonly restoredFrom?: number;
  },
): Promise<number> {
  const { merchantId, connectionIds, failoverOn, setBy = null, restoredFrom = null } = rule;
  const values = [merchantId, connectionIds, failoverOn, setBy, restoredFrom];
  const [row] = await tx.query<{ version: number }>(insertRule, values);
  return row!.version;
}

const ruleColumns = columnsOf(RoutingRuleEntity, "r");

const selectNewest: Statement = {
  name: "select_newest_routing_rule",
  text: `SELECT ${ruleColumns} FROM routing_rule r WHERE merchant_id = $1 ORDER BY version DESC LIMIT 1`,
};

/** Finds a merchant's newest rule; undefined before the first one. */
export async function findRoutingRule(queryable: Queryable, merchantId: string): Promise<RoutingRule | undefined> {
  const [rule] = await queryable.query<RoutingRule>(selectNewest, [merchantId]);
  return rule;
}

const selectVersions: Statement = {
  name: "select_routing_rule_versions",
  text: `
    SELECT ${ruleColumns} FROM routing_rule r
    WHERE merchant_id = $1 AND ($2::int IS NULL OR version <= $2) ORDER BY version DESC LIMIT $3`,
};

/** Lists a merchant's versions, newest first, beginning with `newest` where it is given. */
export async function listRoutingRules(
  queryable: Queryable,
  options: { merchantId: string; newest?: number | undefined; count: number },
): Promise<RoutingRule[]> {
  return queryable.query<RoutingRule>(selectVersions, [options.merchantId, options.newest ?? null, options.count]);
}
