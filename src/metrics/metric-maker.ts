/** Makes metrics with the brand in their names and labels from closed lists only. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Makes metrics that also have these labels, before their own. */
export type MetricMaker<Always extends string = never> = ReturnType<typeof createMetricMaker<Always>>;

type Reading<Label extends string> = () => Iterable<{
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}>;

export function createMetricMaker<Always extends string = never>(
  registers: Registry[],
  brand: string,
  always: readonly Always[] = [],
) {
  const describe = <Label extends string>(name: string, help: string, labels: Label[]) => ({
    name: `${brand}_${name}`,
    help,
    labelNames: [...always, ...labels],
    registers,
  });
  return {
    gauge: <Label extends string>(name: string, help: string, ...labels: Label[]) =>
      new Gauge(describe(name, help, labels)),
    counter: <Label extends string>(name: string, help: string, ...labels: Label[]) =>
      new Counter(describe(name, help, labels)),
    histogram: <Label extends string>(name: string, help: string, buckets: number[], ...labels: Label[]) =>
      new Histogram({ ...describe(name, help, labels), buckets }),
    /** A gauge whose samples are read anew at each scrape; a label set that no longer exists is dropped. */
    collected: <Label extends string>(name: string, help: string, labels: Label[], read: Reading<Always | Label>) => {
      const gauge: Gauge<Always | Label> = new Gauge({
        ...describe(name, help, labels),
        collect() {
          gauge.reset();
          for (const { labels: of, value } of read()) gauge.set(of, value);
        },
      });
    },
    /** A counter kept elsewhere, read at each scrape. */
    collectedCounter: <Label extends string>(
      name: string,
      help: string,
      labels: Label[],
      read: Reading<Always | Label>,
    ) => {
      const counter: Counter<Always | Label> = new Counter({
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

/** Returns a function that replaces every value outside a list by `other`. */
export function closedLabel(values: readonly string[]): (value: string) => string {
  const known = new Set(values);
  return (value) => (known.has(value) ? value : otherValue);
}
