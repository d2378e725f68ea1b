/** The comparisons of a merchant's splits: the counts of their arms, joined over the versions of the rule that had them. */

import { findRoutingRule, findRoutingRules } from "../../core/record/routing-rules.ts";
import type { Arm, RoutingRule, Split } from "../../core/rows/entities.ts";
import type { Reads } from "../../platform/database.ts";
import type { ConnectionId } from "../../platform/ids.ts";
import type { ComparedArm, SplitComparison } from "./compare-arms.ts";
import { type ArmCosts, type ArmCounts, type AskedCounts, loadArms } from "./load-counts.ts";

/**
 * Loads the comparisons of which payments were settled in a range, and those of the rule in use, which may have none yet;
 * the newest first.
 */
export async function loadComparisons(reads: Reads, asked: AskedCounts): Promise<SplitComparison[]> {
  const { arms, costs } = await loadArms(reads, asked);
  const newest = await findRoutingRule(reads, asked.merchantId);
  const inUse = newest && newest.createdAt < asked.range.endsAt ? newest : undefined;
  const versions = [...new Set(arms.map(({ ruleVersion }) => ruleVersion))];
  const rules = [
    ...(versions.length === 0 ? [] : await findRoutingRules(reads, { merchantId: asked.merchantId, versions })),
    ...(inUse && !versions.includes(inUse.version) ? [inUse] : []),
  ];
  const plansInUse = inUse
    ? ["", ...(inUse.cases?.list ?? []).map(({ name }) => name)].map((caseName) => ({
        ruleVersion: inUse.version,
        caseName,
      }))
    : [];
  const found = [...arms, ...plansInUse].flatMap(({ ruleVersion, caseName }) => {
    const rule = rules.find(({ version }) => version === ruleVersion);
    const plan = rule && planOf(rule, caseName);
    return rule && plan?.split ? [{ rule, caseName, plan, split: plan.split }] : [];
  });
  const same = Map.groupBy(found, ({ caseName, plan, split }) =>
    JSON.stringify([caseName, split.percent, plan.connectionIds, split.connectionIds]),
  );
  return [...same.values()]
    .map((group): SplitComparison => {
      const { caseName, plan, split } = group[0]!;
      const ofGroup = new Set(group.map(({ rule }) => rule));
      const armOf = (arm: Arm, connectionIds: readonly ConnectionId[]): ComparedArm => {
        const isOfArm = (row: ArmCounts | ArmCosts) =>
          row.arm === arm &&
          row.caseName === caseName &&
          [...ofGroup].some(({ version }) => version === row.ruleVersion);
        return { connectionIds, counts: arms.filter(isOfArm), costs: costs.filter(isOfArm) };
      };
      return {
        case: caseName === "" ? undefined : caseName,
        percent: split.percent,
        rules: [...ofGroup].toSorted((one, other) => one.version - other.version),
        arms: { A: armOf("A", plan.connectionIds), B: armOf("B", split.connectionIds) },
      };
    })
    .toSorted((one, other) => other.rules.at(-1)!.version - one.rules.at(-1)!.version);
}

function planOf(
  rule: RoutingRule,
  caseName: string,
): { readonly connectionIds: readonly ConnectionId[]; readonly split?: Split | null | undefined } | undefined {
  return caseName === "" ? rule : rule.cases?.list.find(({ name }) => name === caseName);
}
