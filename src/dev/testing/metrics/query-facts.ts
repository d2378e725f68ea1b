/** Reads PromQL: the metrics and labels that a query names, and its problems against a registry. */
import { parser } from "@prometheus-io/lezer-promql";
import type { Registry } from "prom-client";

export type QueryFacts = {
  /** Metrics with the labels that matchers compare. */
  readonly selectors: readonly { readonly metric: string; readonly labels: readonly string[] }[];
  /** Labels of `by`, `without`, `on` and `group_left`. */
  readonly grouping: readonly string[];
  /** Positions that are no valid PromQL. */
  readonly brokenAt: readonly number[];
};

// Variables that Grafana fills in; the parser requires a value.
const filledIn: readonly (readonly [RegExp, string])[] = [
  [/\$__rate_interval/g, "5m"],
  [/\$__range/g, "1h"],
];

/** The query with Grafana's own variables filled in. */
function fillVariables(query: string): string {
  return filledIn.reduce((text, [pattern, value]) => text.replace(pattern, value), query);
}

export function readQuery(query: string): QueryFacts {
  const text = fillVariables(query);
  const selectors: { metric: string; labels: string[] }[] = [];
  const grouping: string[] = [];
  const brokenAt: number[] = [];
  parser.parse(text).iterate({
    enter({ name, from, to, type, node }) {
      const value = text.slice(from, to);
      if (type.isError) brokenAt.push(from);
      if (name === "VectorSelector") selectors.push({ metric: "", labels: [] });
      if (name === "Identifier" && node.parent?.name === "VectorSelector") selectors.at(-1)!.metric = value;
      if (name !== "LabelName") return;
      if (node.parent?.name === "GroupingLabels") grouping.push(value);
      else selectors.at(-1)?.labels.push(value);
    },
  });
  return { selectors, grouping, brokenAt };
}

// Added by the scraper (scrape-example.yaml), as is `up`.
const scrapeLabels = ["job", "instance", "role"];

export function seriesLabels(registry: Registry): ReadonlyMap<string, readonly string[]> {
  const series = new Map<string, readonly string[]>([["up", scrapeLabels]]);
  for (const metric of registry.getMetricsAsArray()) {
    const { name, type, labelNames } = metric as unknown as { name: string; type: string; labelNames: string[] };
    const labels = [...labelNames, ...scrapeLabels];
    if (type !== "histogram") series.set(name, labels);
    else {
      series.set(`${name}_bucket`, [...labels, "le"]);
      for (const part of ["sum", "count"]) series.set(`${name}_${part}`, labels);
    }
  }
  return series;
}

export function findQueryProblems(query: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const { selectors, grouping, brokenAt } = readQuery(query);
  const problems = brokenAt.map((at) => `no PromQL at ${at}`);
  if (selectors.length === 0) problems.push("it names no metric");
  for (const { metric, labels } of selectors) {
    const own = known.get(metric);
    if (own === undefined) problems.push(`there is no metric ${metric}`);
    for (const label of labels) if (own && !own.includes(label)) problems.push(`${metric} has no label ${label}`);
  }
  const all = new Set(selectors.flatMap(({ metric }) => known.get(metric) ?? []));
  for (const label of grouping) if (!all.has(label)) problems.push(`no metric of it has the label ${label}`);
  return problems;
}
