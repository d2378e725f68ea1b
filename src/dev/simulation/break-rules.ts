/** Removes rules from code and schema, and reports the violations that the simulation then finds. */
import { type BrokenCopy, createBrokenCopy, type RuleRemoval } from "./broken-copy.ts";
import type { Rule } from "./rules/rule.ts";
import { rules } from "./rules/rules.ts";
import type { RunResult } from "./run.ts";
import type { SchemaRemoval } from "./schema-removals.ts";
import { replay, simulate } from "./simulate.ts";

/** The part from which a rule is removed. `withOthers`: this rule everywhere, and the rules that cover it. */
export type Variant = "code" | "database" | "both" | "withOthers";

export type Finding = {
  readonly rule: Rule;
  readonly variant: Variant;
  readonly seeds: number;
  /** The number of seeds played, and the shortest history among the first violations; absent when none was found. */
  readonly violation: { readonly seedsNeeded: number; readonly shortest: RunResult } | undefined;
  /** The errors with which PostgreSQL refused statements of the code, with their counts. */
  readonly refused: ReadonlyMap<string, number>;
};

/** Returns the rule with this id; throws when there is none, and lists the existing ones. */
export function findRule(id: string): Rule {
  const rule = rules.find((one) => one.id === id);
  if (rule === undefined)
    throw new Error(`no rule is called ${id}; the rules are ${rules.map((one) => one.id).join(", ")}`);
  return rule;
}

/** Returns the variants that make sense for a rule, the smallest removal first. */
export function variantsOf({ database, code, coveredBy }: Rule): Variant[] {
  const alone: Variant = code.length > 0 ? "code" : "database";
  const variants: Variant[] = database.length > 0 && code.length > 0 ? ["code", "database", "both"] : [alone];
  return coveredBy === undefined ? variants : [...variants, "withOthers"];
}

/** Returns the smallest removal that puts money in danger. */
export function unsafeVariantOf(rule: Rule): Variant {
  return variantsOf(rule).at(-1)!;
}

function removalsOf(
  rule: Rule,
  variant: Variant,
): { readonly code: readonly RuleRemoval[]; readonly database: readonly SchemaRemoval[] } {
  const others = variant === "withOthers" ? (rule.coveredBy ?? []).map(findRule) : [];
  return {
    code:
      variant === "database" ? [] : [rule, ...others].flatMap(({ id, code }) => code.map((one) => ({ ...one, id }))),
    database: variant === "code" ? [] : [rule, ...others].flatMap(({ database }) => database),
  };
}

/** Equal for findings with the same code and the same kind of violation: playing one of them is enough. */
export function experimentOf(rule: Rule, variant: Variant): string {
  const { code, database } = removalsOf(rule, variant);
  const removals = [...code, ...database].map((one) => JSON.stringify(one));
  return JSON.stringify([[...new Set(removals)].toSorted(), rule.harm, rule.seenAt]);
}

/** Plays seeds without a rule until enough of them violate a promise, or all are played. */
export async function playWithout(
  rule: Rule,
  variant: Variant,
  options: {
    serverUrl: string;
    copy: BrokenCopy;
    from: number;
    seeds: number;
    processes: number;
    violationsMax: number;
    signal: AbortSignal;
  },
): Promise<Finding> {
  const { copy } = options;
  const removals = removalsOf(rule, variant);
  await copy.take(removals.code);
  const violated: RunResult[] = [];
  const refused = new Map<string, number>();
  let seeds = 0;
  await simulate({
    ...options,
    root: copy.root,
    withoutInSchema: removals.database,
    onResult: (result) => {
      seeds++;
      for (const refusal of result.refusals) refused.set(refusal, (refused.get(refusal) ?? 0) + 1);
      const isHarm = result.violation?.includes(rule.harm ?? "") ?? false;
      if (isHarm) violated.push(result);
      return isHarm;
    },
  });
  const [shortest] = violated.toSorted((left, right) => left.steps - right.steps);
  const firstSeed = Math.min(...violated.map(({ seed }) => seed));
  const violation = shortest && { seedsNeeded: firstSeed - options.from + 1, shortest };
  return { rule, variant, seeds, violation, refused };
}

/** Plays one seed without a rule and those that cover it, for its history. */
export async function replayWithout(
  rule: Rule,
  options: { serverUrl: string; root: string; seed: number },
): Promise<RunResult> {
  const removals = removalsOf(rule, unsafeVariantOf(rule));
  const copy = await createBrokenCopy(options.root);
  try {
    await copy.take(removals.code);
    return await replay({ ...options, root: copy.root, withoutInSchema: removals.database });
  } finally {
    await copy.remove();
  }
}

const columns: readonly Variant[] = ["code", "database", "both", "withOthers"];

/** Formats the findings of all rules as the table of docs/safety.md. */
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

/** Returns the cell of the table in docs/safety.md: the finding, and the number of seeds. */
export function describeFinding({ rule, variant, violation, seeds, refused }: Finding): string {
  const others = variant === "withOthers" ? `with ${rule.coveredBy?.map((id) => `\`${id}\``).join(" and ")}: ` : "";
  if (violation === undefined)
    return `${others}nothing in ${seeds} seeds${describeRefused(refused)}${variant === unsafeVariantOf(rule) && rule.unseen ? `: ${rule.unseen}` : ""}`;
  const { seedsNeeded, shortest } = violation;
  return `${others}**${shortest.violation}** after ${seedsNeeded} seeds, in ${shortest.steps} steps (seed ${shortest.seed})`;
}

function describeRefused(refused: ReadonlyMap<string, number>): string {
  const [mostFrequent] = [...refused].toSorted((left, right) => right[1] - left[1]);
  const times = [...refused.values()].reduce((sum, count) => sum + count, 0);
  return mostFrequent === undefined ? "" : `; PostgreSQL refused ${times} times, mostly: ${mostFrequent[0]}`;
}
