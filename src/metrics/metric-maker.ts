/** Makes metrics that have the brand in their names and labels of closed lists alone. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Makes metrics of one registry. */
export type MetricMaker = ReturnType<typeof createMetricMaker>;

/** The samples of a metric as they stand. */
type Reading<Label extends string> = () => Iterable<{
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}>;

/** Registers what it makes under the brand's name. */
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
    /** A gauge whose samples are made anew for each scrape; a labelled set that is gone is shown no more. */
    collected: <Label extends string>(name: string, help: string, labels: Label[], read: Reading<Label>) => {
      const gauge: Gauge<Label> = new Gauge({
        ...describe(name, help, labels),
        collect() {
          gauge.reset();
          for (const { labels: of, value } of read()) gauge.set(of, value);
        },
      });
    },
    /** A counter that something else keeps, read for each scrape. */
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

/** What every value is shown as that is not in a label's list. */
export const otherValue = "other";

/** Lets the values of a list through and makes every other one `other`, so that a label has at most one more than these. */
export function closedLabel(values: readonly string[]): (value: string) => string {
  const known = new Set(values);
  return (value) => (known.has(value) ? value : otherValue);
}
