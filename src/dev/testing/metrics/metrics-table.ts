/** Formats the table of every metric in docs/metrics.md from the registry. */
import type { Registry } from "prom-client";

type Described = { name: string; help: string; type: string; labelNames: string[] };

/** A row for each metric, in the order of registration; figures of Node.js come last, without rows. */
export function metricsTable(registry: Registry): string {
  const metrics = registry.getMetricsAsArray() as unknown as Described[];
  const rows = metrics.map(({ name, type, labelNames, help }) => {
    const labels = labelNames.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
  });
  return ["| metric | type | labels | what |", "|---|---|---|---|", ...rows].join("\n");
}
