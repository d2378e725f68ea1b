/** Takes rules out of the code, out of the schema, or out of both, and sees what the simulation finds then. */
import { createBrokenCopy } from "./broken-copy.ts";
import type { Removal, Rule } from "./rules/rule.ts";
import { rules } from "./rules/rules.ts";
import type { RunResult } from "./run.ts";
import { replay, simulate } from "./simulate.ts";

/** What is removed at once. `withOthers`: this rule everywhere, and the rules that cover it. */
export type Variant = "code" | "database" | "both" | "withOthers";

/** What came of one removal. */
export type Finding = {
  readonly rule: Rule;
  readonly variant: Variant;
  readonly seeds: number;
  /** How many seeds it took, and the shortest history among the first violations; absent when none was found. */
  readonly violation: { readonly seedsNeeded: number; readonly shortest: RunResult } | undefined;
  /** What PostgreSQL refused of what the code tried, and how often. */
  readonly refused: ReadonlyMap<string, number>;
};

/** The rule with this id; throws, with those that there are, when there is none. */
export function findRule(id: string): Rule {
  const rule = rules.find((one) => one.id === id);
  if (rule === undefined)
    throw new Error(`no rule is called ${id}; there are ${rules.map((one) => one.id).join(", ")}`);
  return rule;
}

/** The variants that make sense for a rule, the least first. */
export function variantsOf({ database, code, coveredBy }: Rule): Variant[] {
  const walls: Variant[] = database.length > 0 && code.length > 0 ? ["code", "database", "both"] : ["code"];
  return coveredBy === undefined ? walls : [...walls, "withOthers"];
}

/** The least that has to be removed for money to be in danger. */
export function unsafeVariantOf(rule: Rule): Variant {
  return variantsOf(rule).at(-1)!;
}

function removalsOf(rule: Rule, variant: Variant): readonly Removal[] {
  if (variant === "code") return rule.code;
  if (variant === "database") return rule.database;
  const others = variant === "withOthers" ? (rule.coveredBy ?? []).map(findRule) : [];
  return [rule, ...others].flatMap(({ code, database }) => [...code, ...database]);
}

/** Plays seeds without a rule until enough of them were violated, or all were played. */
export async function playWithout(
  rule: Rule,
  variant: Variant,
  options: {
    serverUrl: string;
    root: string;
    from: number;
    seeds: number;
    processes: number;
    violationsMax: number;
    signal: AbortSignal;
  },
): Promise<Finding> {
  const copy = await createBrokenCopy(options.root, removalsOf(rule, variant));
  const violated: RunResult[] = [];
  const refused = new Map<string, number>();
  let seeds = 0;
  try {
    await simulate({
      ...options,
      root: copy.root,
      onResult: (result) => {
        seeds++;
        for (const wall of result.walls) refused.set(wall, (refused.get(wall) ?? 0) + 1);
        const isHarm = result.violation?.includes(rule.harm ?? "") ?? false;
        if (isHarm) violated.push(result);
        return isHarm;
      },
    });
  } finally {
    await copy.remove();
  }
  const [shortest] = violated.toSorted((left, right) => left.steps - right.steps);
  const firstSeed = Math.min(...violated.map(({ seed }) => seed));
  const violation = shortest && { seedsNeeded: firstSeed - options.from + 1, shortest };
  return { rule, variant, seeds, violation, refused };
}

/** Plays one seed without a rule, and those that cover it, for its history. */
export async function replayWithout(
  rule: Rule,
  options: { serverUrl: string; root: string; seed: number },
): Promise<RunResult> {
  const copy = await createBrokenCopy(options.root, removalsOf(rule, unsafeVariantOf(rule)));
  try {
    return await replay({ ...options, root: copy.root });
  } finally {
    await copy.remove();
  }
}

const columns: readonly Variant[] = ["code", "database", "both", "withOthers"];

/** The findings of all rules as the table of docs/safety.md. */
export function writeTable(findings: readonly Finding[]): string {
  const head =
    "| # | rule | without it in the code | without it in PostgreSQL | without both | without those that cover it |";
  const rows = [...new Set(findings.map(({ rule }) => rule))].map((rule) => {
    const cells = columns.map((variant) => {
      const finding = findings.find((one) => one.rule === rule && one.variant === variant);
      return finding === undefined ? "" : describeFinding(finding);
    });
    return `| ${[rule.number, `\`${rule.id}\`: ${rule.says}`, ...cells].join(" | ")} |`;
  });
  return [head, "|---|---|---|---|---|---|", ...rows].join("\n");
}

/** The cell of the table in docs/safety.md: what was found, after how many seeds. */
export function describeFinding({ rule, variant, violation, seeds, refused }: Finding): string {
  const others = variant === "withOthers" ? `with ${rule.coveredBy?.map((id) => `\`${id}\``).join(" and ")}: ` : "";
  if (violation === undefined)
    return `${others}nothing in ${seeds} seeds${describeRefused(refused)}${variant === unsafeVariantOf(rule) && rule.harmless ? `: ${rule.harmless}` : ""}`;
  const { seedsNeeded, shortest } = violation;
  return `${others}**${shortest.violation}** after ${seedsNeeded} seeds, in ${shortest.steps} steps (seed ${shortest.seed})`;
}

/** The wall that was met most often, and how often any was. */
function describeRefused(refused: ReadonlyMap<string, number>): string {
  const [most] = [...refused].toSorted((left, right) => right[1] - left[1]);
  const times = [...refused.values()].reduce((sum, count) => sum + count, 0);
  return most === undefined ? "" : `; PostgreSQL refused ${times} times, mostly: ${most[0]}`;
}
