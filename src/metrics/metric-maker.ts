/** Makes metrics with the brand in their names and labels from closed lists only. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export type MetricMaker = ReturnType<typeof createMetricMaker>;

/** Returns the current samples of a metric. */
type Reading<Label extends string> = () => Iterable<{
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}>;

export function createMetricMaker(registry: Registry, brand: string) {
  const describe = <Label extends string>(name: string, help: string, labels: Label[]) => ({
    name: `${brand}_${name}`,
    help,
    labelNames: labels,
    registers: [registry],
  });
  return {
    gauge: <Label extends string>(name: string, help: string, ...labels: Label[]) =>
      new Gauge(describe(name, help, labels)),
    counter: <Label extends string>(name: string, help: string, ...labels: Label[]) =>
      new Counter(describe(name, help, labels)),
    histogram: <Label extends string>(name: string, help: string, buckets: number[], ...labels: Label[]) =>
      new Histogram({ ...describe(name, help, labels), buckets }),
    /** A gauge whose samples are read anew at each scrape; a label set that no longer exists is dropped. */
    collected: <Label extends string>(name: string, help: string, labels: Label[], read: Reading<Label>) => {
      const gauge: Gauge<Label> = new Gauge({
        ...describe(name, help, labels),
        collect() {
          gauge.reset();
          for (const { labels: of, value } of read()) gauge.set(of, value);
        },
      });
    },
    /** A counter kept elsewhere, read at each scrape. */
    collectedCounter: <Label extends string>(name: string, help: string, labels: Label[], read: Reading<Label>) => {
      const counter: Counter<Label> = new Counter({
        ...describe(name, help, labels),
        collect() {
          counter.reset();
          for (const { labels: of, value } of read()) counter.inc(of, value);
        },
      });
    },
  };
}

/** The label for every value that is not in a label's list. */
const otherValue = "other";

/**
 * Returns a function that keeps the values of a list and replaces every other one by `other`, so that a label has at
 * most one more.
 */
export function closedLabel(values: readonly string[]): (value: string) => string {
  const known = new Set(values);
  return (value) => (known.has(value) ? value : otherValue);
}
