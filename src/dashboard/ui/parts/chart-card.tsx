/** A chart with its legend, its caption and its table, which has the same numbers and can be saved. */
import { lazy, Suspense, useState } from "react";
import { ToggleButton } from "react-aria-components/ToggleButton";
import { CsvButton } from "./csv-button.tsx";
import { type ChartLine, lookOf } from "./line-look.ts";
import { TableScroll } from "./table-scroll.tsx";

const LineChart = lazy(() => import("./line-chart.tsx"));

/** The content of the card. */
export type ChartCardProps = {
  readonly id: string;
  readonly title: string;
  readonly caption: string;
  readonly names: readonly string[];
  readonly lines: readonly ChartLine[];
  /** The names of points, short enough for an axis. */
  readonly shortNames: readonly string[];
  readonly format: (value: number | undefined) => string;
  readonly formatAxis: (value: number) => string;
  readonly isWhole?: boolean | undefined;
  readonly max?: number | undefined;
  /** True if the last point's time is not over. */
  readonly isLastPartial?: boolean | undefined;
};

/** The card. */
export function ChartCard(props: ChartCardProps) {
  const { id, title, caption, names, lines, format } = props;
  const { shortNames, formatAxis, isWhole, max, isLastPartial } = props;
  const [isTable, setTable] = useState(false);
  const [point, setPoint] = useState<number>();
  const rows = () => [
    ["Time", ...lines.map(({ name }) => name)],
    ...names.map((name, index) => [name, ...lines.map(({ values }) => values[index] ?? "")]),
  ];
  return (
    <section className="card chart" aria-labelledby={`chart-${id}`}>
      <div className="chart-head">
        <div>
          <h2 id={`chart-${id}`}>{title}</h2>
          <p className="soft small">{caption}</p>
        </div>
        <div className="row">
          <ToggleButton
            className="button small"
            isSelected={isTable}
            onChange={setTable}
            aria-label={`${title} as a table`}
          >
            Table
          </ToggleButton>
          <CsvButton {...{ title, id, rows }} />
        </div>
      </div>
      {isTable ? (
        <ValueTable {...{ title, names, lines, format }} />
      ) : (
        <figure className="chart-figure">
          <Legend {...{ names, lines, format, point }} />
          <Suspense fallback={<div className="plot" />}>
            <LineChart
              {...{ names: shortNames, lines, formatAxis, isWhole, max, isLastPartial }}
              label={`${title}. ${caption} The table has every value.`}
              onPoint={setPoint}
            />
          </Suspense>
        </figure>
      )}
    </section>
  );
}

type Values = Pick<ChartCardProps, "names" | "lines" | "format">;

function Legend({ names, lines, format, point }: Values & { point: number | undefined }) {
  return (
    <figcaption className="legend">
      <ul>
        {lines.map(({ name, values, look }, index) => (
          <li key={name}>
            <Sample index={look ?? index} />
            {name}
            <strong>{point === undefined ? "" : format(values[point])}</strong>
          </li>
        ))}
      </ul>
      <span className="soft">{point === undefined ? "" : names[point]}</span>
    </figcaption>
  );
}

/** A sample of a line as the chart draws it. */
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
    <TableScroll label={title}>
      <table className="counts">
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map(({ name }) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((name, index) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {lines.map((line) => (
                <td key={line.name}>{format(line.values[index])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
