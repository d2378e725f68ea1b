import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { withParts } from "../dev/e2e/guide-text.ts";
import { findQueryProblems, seriesLabels } from "../dev/testing/metrics/query-facts.ts";
import { addProcessFigures, createProcessMetrics } from "./process-metrics.ts";

type Rule = {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
};
type Rules = { groups: { name: string; rules: Rule[] }[] };

const checkout = join(import.meta.dirname, "..", "..");
const read = (...path: string[]) => readFileSync(join(checkout, ...path), "utf8");
const { groups } = parse(read("deploy", "prometheus", "alerts.yaml")) as Rules;
const rules = groups.flatMap((group) => group.rules);
const metrics = createProcessMetrics("switchyard");
const ownTable = metricsTable(metrics.registry);
addProcessFigures(metrics);
const known = seriesLabels(metrics.registry);

/** Returns the alerts that have a heading of their own among the runbooks. */
function runbooks(): string[] {
  return [...read("docs", "runbooks.md").matchAll(/^## (\w+)$/gm)].map(([, name = ""]) => name);
}

describe("deploy/prometheus/alerts.yaml", () => {
  it("queries only metrics and labels that the processes have", () => {
    const problems = rules.flatMap(({ alert, expr }) =>
      findQueryProblems(expr, known).map((problem) => `${alert}: ${problem}`),
    );
    expect(problems).toEqual([]);
  });

  it("gives each alert a severity, a duration, and a description in one sentence", () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, for: lasting, labels, annotations } of rules) {
      expect(alert).toMatch(/^Switchyard[A-Z]\w+$/);
      expect(lasting).toMatch(/^\d+[mh]$/);
      expect(["critical", "warning", "info"]).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\.$/);
    }
  });

  it("shows only labels of a series that its query keeps", () => {
    for (const { alert, expr, annotations } of rules) {
      const shown = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label);
      const kept = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(", "));
      const aggregates = /\b(sum|max|min|count)\b/.test(expr);
      const missing = aggregates ? shown.filter((label) => !kept.includes(label)) : [];
      expect([alert, missing]).toEqual([alert, []]);
    }
  });

  it("has a runbook for each alert, and no other", () => {
    expect(runbooks().toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
    }
  });
});

describe("docs/metrics.md", () => {
  // `vitest run src/metrics/alert-rules.test.ts --update` writes it.
  it("lists every metric with its labels", async () => {
    const path = join(checkout, "docs", "metrics.md");
    await expect(withParts(readFileSync(path, "utf8"), { metrics: ownTable })).toMatchFileSnapshot(path);
  });
});

type Described = { name: string; help: string; type: string; labelNames: string[] };

/** A row for each metric, in the order of registration; figures of Node.js come last, without rows. */
function metricsTable(registry: Registry): string {
  const metrics = registry.getMetricsAsArray() as unknown as Described[];
  const rows = metrics.map(({ name, type, labelNames, help }) => {
    const labels = labelNames.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
  });
  return ["| metric | type | labels | what |", "|---|---|---|---|", ...rows].join("\n");
}
