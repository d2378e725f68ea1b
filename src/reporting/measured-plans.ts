/** Finds the splits' measurements of the plans by which a draft rule would send past payments. PURE. */

import type { RuleContent } from "../core/record/routing-rules.ts";
import type { Arm, RoutingCases, RoutingRule } from "../core/rows/entities.ts";
import type { ConnectionId } from "../platform/ids.ts";
import { approvedOf, type Estimate, rateOf, type SplitComparison } from "./analytics/compare-arms.ts";
import { describeRuleChanges } from "./rule-changes.ts";

export type MeasuredPlan = { readonly rate: Estimate; readonly payments: number };

export type FollowedArm = {
  readonly ruleVersion: number;
  /** Undefined for the default plan. */
  readonly case: string | undefined;
  readonly arm: Arm;
};

/**
 * Returns a function from the arm that a past payment followed, and the plan of the draft for it, to the other arm's
 * measurement of this plan. Chance chose the arms, so the payments of one would have fared like those of the other. A
 * rule that differs from the draft in more than its plans has measured something else.
 */
export function measuredBy(
  comparisons: readonly SplitComparison[],
  draft: RuleContent,
): (followed: FollowedArm, connectionIds: readonly ConnectionId[]) => MeasuredPlan | undefined {
  const isComparable = (rule: RoutingRule) => {
    const { connectionIds, cases, split } = draft;
    if (demandsOf(rule.cases) !== demandsOf(cases)) return false;
    return describeRuleChanges({ ...rule, connectionIds, cases, split }, draft, String).length === 0;
  };
  const known = new Map<string, SplitComparison>();
  const comparable = new Set<number>();
  for (const comparison of comparisons) {
    for (const { version } of comparison.rules.filter(isComparable)) {
      comparable.add(version);
      known.set(`${version} ${comparison.case}`, comparison);
    }
  }
  return ({ ruleVersion, arm, case: name }, connectionIds) => {
    const other = known.get(`${ruleVersion} ${name}`)?.arms[arm === "A" ? "B" : "A"];
    if (other === undefined || other.connectionIds.join() !== connectionIds.join()) return undefined;
    // Another version with the same split may have differed in more.
    const approved = approvedOf({ ...other, counts: other.counts.filter((row) => comparable.has(row.ruleVersion)) });
    const rate = rateOf(approved);
    return rate && { rate, payments: approved.of };
  };
}

function demandsOf(cases: RoutingCases | null | undefined): string {
  const demanding = (cases?.list ?? []).filter(({ authentication }) => authentication !== undefined);
  return JSON.stringify(demanding.map(({ name }) => name));
}
