/** A chart with its legend, its caption and its table, which has the same numbers and can be saved. */
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Button } from "./button.tsx";
import { CsvButton } from "./csv-button.tsx";
import { type ChartLine, lookOf } from "./line-look.ts";
import { Panel } from "./panel.tsx";
import { RecordTable } from "./record-table.tsx";

const LineChart = lazy(() => import("./line-chart.tsx"));

export type ChartData = {
  readonly id: string;
  readonly title: string;
  readonly caption: string;
  readonly lines: readonly ChartLine[];
  readonly format: (value: number | undefined) => string;
  /** Formats a value for an axis, where there is little room. */
  readonly formatAxis: (value: number) => string;
  /** True if values are whole numbers only. */
  readonly isWhole?: boolean;
  /** True for rates: at most 1. */
  readonly isRate?: boolean;
  /** True if the axis shows small differences: it does not begin at zero. */
  readonly isClose?: boolean;
};

type ChartCardProps = ChartData & {
  /** The names of points, and those that are short enough for an axis. */
  readonly names: readonly string[];
  readonly shortNames: readonly string[];
  /** True if the last point's time is not over. */
  readonly isLastPartial?: boolean;
  readonly isWide?: boolean;
  readonly children?: ReactNode;
};

/** The card. Its caption gives the meaning of its points, and names a point while the pointer is over it. */
export function ChartCard({ children, ...props }: ChartCardProps) {
  const { id, title, caption, names, shortNames, lines, format, isWide = false, ...drawn } = props;
  const isTall = drawn.isClose === true;
  const size = isWide ? "wide" : isTall ? "tall" : "small";
  const [isTable, setTable] = useState(false);
  const [point, setPoint] = useState<number>();
  const rows = () => [
    ["Time", ...lines.map(({ name }) => name)],
    ...names.map((name, index) => [name, ...lines.map(({ values }) => values[index] ?? "")]),
  ];
  return (
    <section
      className="card chart"
      data-wide={isWide || undefined}
      data-tall={isTall || undefined}
      aria-labelledby={`chart-${id}`}
    >
      <div className="chart-head">
        <h2 id={`chart-${id}`}>{title}</h2>
        {children}
        <Panel className="card-menu" name={<Dots />} label={`Menu of ${title}`}>
          {(close) => (
            <>
              <Button
                onPress={() => {
                  setTable(!isTable);
                  close();
                }}
                aria-label={`${title} as a ${isTable ? "chart" : "table"}`}
              >
                {isTable ? "As a chart" : "As a table"}
              </Button>
              <CsvButton title={title} id={id} rows={rows} />
            </>
          )}
        </Panel>
      </div>
      <p className="soft small caption">{point === undefined ? caption : names[point]}</p>
      {isTable ? (
        <ValueTable title={title} names={names} lines={lines} format={format} />
      ) : (
        <figure className="chart-figure">
          <Legend lines={lines} format={format} point={point} />
          <Suspense fallback={<div className="plot" />}>
            <LineChart
              {...drawn}
              names={shortNames}
              lines={lines}
              size={size}
              label={`${title}. ${caption} The table has every value.`}
              onPoint={setPoint}
            />
          </Suspense>
        </figure>
      )}
    </section>
  );
}

function Dots() {
  return (
    <svg viewBox="0 0 16 16" width="16" aria-hidden="true" fill="currentColor">
      <circle cx="3" cy="8" r="1.5" />
      <circle cx="8" cy="8" r="1.5" />
      <circle cx="13" cy="8" r="1.5" />
    </svg>
  );
}

type Values = Pick<ChartCardProps, "names" | "lines" | "format">;

function Legend({ lines, format, point }: Pick<Values, "lines" | "format"> & { point: number | undefined }) {
  return (
    <figcaption className="legend">
      <ul>
        {lines.map(({ name, values, look }, index) => (
          <li key={name}>
            <Sample index={look ?? index} />
            {name}
            {point !== undefined && <strong>{format(values[point])}</strong>}
          </li>
        ))}
      </ul>
    </figcaption>
  );
}

function Sample({ index }: { index: number }) {
  const { color, dash, mark } = lookOf(index);
  return (
    <svg className={`sample ${color.slice("--".length)}`} viewBox="0 0 30 10" aria-hidden="true">
      <line x1="0" y1="5" x2="30" y2="5" strokeDasharray={dash.join(" ")} />
      <circle cx="15" cy="5" r="3" className={mark === "ring" ? "ring" : "filled"} />
    </svg>
  );
}

function ValueTable({ title, names, lines, format }: Values & { title: string }) {
  return (
    <RecordTable
      label={title}
      className="counts"
      columns={["Time", ...lines.map(({ name }) => name)].map((name) => ({ name }))}
      rows={names.map((name, index) => ({
        key: name,
        cells: [name, ...lines.map(({ values }) => format(values[index]))],
      }))}
    />
  );
}
