import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { findQueryProblems, readQuery, seriesLabels } from "../dev/testing/metrics/query-facts.ts";
import { addProcessFigures, createProcessMetrics } from "./process-metrics.ts";

type Grid = { x: number; y: number; w: number; h: number };
type Panel = {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: Grid;
  datasource?: { type: string; uid: string };
  targets?: { refId: string; expr: string; datasource: { uid: string } }[];
};
type Variable = { name: string; type: string; query: string | { query: string } };
type Dashboard = { uid: string; schemaVersion: number; panels: Panel[]; templating: { list: Variable[] } };

const path = join(import.meta.dirname, "..", "..", "deploy", "grafana", "switchyard.json");
const dashboard = JSON.parse(readFileSync(path, "utf8")) as Dashboard;
const metrics = createProcessMetrics("switchyard");
addProcessFigures(metrics);
const known = seriesLabels(metrics.registry);
const shown = dashboard.panels.filter(({ type }) => type !== "row");
const gridColumns = 24;

const overlaps = (one: Grid, other: Grid) =>
  one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;

describe("deploy/grafana/switchyard.json", () => {
  it("queries only metrics and labels that the processes have", () => {
    const problems = shown.flatMap(({ title, targets = [] }) =>
      targets.flatMap(({ expr }) => findQueryProblems(expr, known).map((problem) => `${title}: ${problem}`)),
    );
    expect(problems).toEqual([]);
  });

  it("has a section for everything that an operator looks for", () => {
    const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
    expect(rows).toEqual(
      expect.arrayContaining(["Payments", "Failover", "Gateways", "Webhooks", "Recovery", "Database", "Processes"]),
    );
  });

  it("names each panel once, says what it shows, and runs each query once", () => {
    const unique = (values: readonly unknown[]) => new Set(values).size === values.length;
    expect(unique(dashboard.panels.map(({ id }) => id))).toBe(true);
    expect(unique(dashboard.panels.map(({ title }) => title))).toBe(true);
    for (const { description, targets = [] } of shown) {
      expect(description).toMatch(/\w/);
      expect(targets.length).toBeGreaterThan(0);
      expect(unique(targets.map(({ refId }) => refId))).toBe(true);
    }
  });

  it("lays its panels side by side on the grid, none over another", () => {
    const grids = dashboard.panels.map(({ gridPos }) => gridPos);
    expect(grids.filter(({ x, w, h, y }) => x < 0 || y < 0 || w < 1 || h < 1 || x + w > gridColumns)).toEqual([]);
    const over = grids.flatMap((one, at) => grids.slice(at + 1).filter((other) => overlaps(one, other)));
    expect(over).toEqual([]);
  });

  it("works with any Prometheus that its user has", () => {
    expect(dashboard.templating.list.find(({ name }) => name === "datasource")?.type).toBe("datasource");
    const used = shown.flatMap(({ datasource, targets = [] }) => [datasource, ...targets.map((one) => one.datasource)]);
    expect(new Set(used.map((source) => source?.uid))).toEqual(new Set(["$" + "{datasource}"]));
    const environment = dashboard.templating.list.find(({ name }) => name === "environment");
    const [, metric = ""] = /label_values\((\w+), environment\)/.exec(JSON.stringify(environment?.query)) ?? [];
    expect(known.get(metric)).toContain("environment");
  });
});

describe("findQueryProblems()", () => {
  it("finds invalid PromQL, unknown metrics and unknown labels", () => {
    const series = seriesLabels(new Registry());
    expect(findQueryProblems("sum(up) by", series)).toEqual([expect.stringContaining("no PromQL")]);
    expect(findQueryProblems("rate(down[5m])", series)).toEqual(["there is no metric down"]);
    expect(findQueryProblems('sum by (city) (up{merchant="m"})', series)).toEqual([
      "up has no label merchant",
      "no metric of it has the label city",
    ]);
    expect(findQueryProblems("1 + 1", series)).toEqual(["it names no metric"]);
    expect(findQueryProblems('sum by (job) (rate(up{instance=~"$instance"}[$__rate_interval]))', series)).toEqual([]);
  });

  it("reads a histogram only by its parts", () => {
    const parts = ["_bucket", "_sum", "_count"].map((part) => known.has(`switchyard_request_duration_seconds${part}`));
    expect(parts).toEqual([true, true, true]);
    expect(readQuery("histogram_quantile(0.9, a_bucket)").selectors).toEqual([{ metric: "a_bucket", labels: [] }]);
    expect(findQueryProblems("switchyard_request_duration_seconds", known)).toHaveLength(1);
  });
});
