/** Lines over points, drawn on a canvas. The table beside it has the same data for people who cannot see it. */
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { rangeOf } from "./axis-range.ts";
import { type ChartLine, type LineLook, lookOf } from "./line-look.ts";

// The heights in pixels.
const heights = { wide: 216, tall: 172, small: 110 };

export type LineChartProps = {
  readonly label: string;
  readonly names: readonly string[];
  readonly lines: readonly ChartLine[];
  readonly formatAxis: (value: number) => string;
  readonly isWhole?: boolean | undefined;
  readonly isRate?: boolean | undefined;
  readonly isClose?: boolean | undefined;
  readonly size: keyof typeof heights;
  /** True if the last point's time is not over: its ground is shaded. */
  readonly isLastPartial?: boolean | undefined;
  /** The point under the pointer, or none. */
  readonly onPoint: (point: number | undefined) => void;
};

// Marks are shown up to this number of points.
const markedPointsMax = 45;

// Steps between the lines of an axis of counts.
const wholeSteps = [0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power));

// Steps between the lines of an axis of rates, in hundredths.
const rateSteps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/** The chart. It follows its container's width, and the page's colours when they change. */
export default function LineChart(props: LineChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const { names, lines, onPoint, formatAxis, isWhole, isRate, isClose, size, isLastPartial, label } = props;
  useEffect(() => {
    const element = container.current!;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(
        optionsOf(element, { names, lines, onPoint, formatAxis, isWhole, isRate, isClose, size, isLastPartial }),
        dataOf(names, lines),
        element,
      );
    };
    draw();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const observer = new ResizeObserver(() => plot?.setSize(sizeOf(element, size)));
    scheme.addEventListener("change", draw);
    observer.observe(element);
    return () => {
      scheme.removeEventListener("change", draw);
      observer.disconnect();
      plot?.destroy();
    };
  }, [names, lines, onPoint, formatAxis, isWhole, isRate, isClose, size, isLastPartial]);
  return <div className="plot" role="img" aria-label={label} ref={container} />;
}

type Drawn = Omit<LineChartProps, "label">;

function dataOf(names: Drawn["names"], lines: Drawn["lines"]): uPlot.AlignedData {
  return [names.map((_, index) => index), ...lines.map(({ values }) => values.map((value) => value ?? null))];
}

function optionsOf(element: HTMLElement, drawn: Drawn): uPlot.Options {
  const { names, lines, onPoint, formatAxis, isWhole, isRate, isClose, size, isLastPartial } = drawn;
  const [ink, edge] = [colorOf(element, "--ink-soft"), colorOf(element, "--edge")];
  const font = "12px Inter, system-ui, sans-serif";
  const axis = { stroke: ink, font, ticks: { stroke: edge, size: 4 }, grid: { stroke: edge, width: 1 } };
  return {
    ...sizeOf(element, size),
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 8 } },
    scales: { x: { time: false }, y: { range: (_, lowest, highest) => rangeOf(lowest, highest, { isRate, isClose }) } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 32,
        incrs: [1, 2, 3, 4, 6, 7, 12, 14, 24, 28, 48, 56, 84, 168],
        space: size === "wide" ? 90 : 64,
        values: (_, splits) => splits.map((split) => names[split] ?? ""),
      },
      {
        ...axis,
        size: (_: uPlot, labels: string[] | null) => axisWidthOf(labels, size === "wide" ? 62 : 46),
        values: (_: uPlot, splits: number[]) => splits.map((split) => formatAxis(split)),
        ...(isWhole && { incrs: wholeSteps }),
        ...(isRate && { incrs: rateSteps }),
        ...(size !== "wide" && { space: 26 }),
      },
    ],
    series: [{}, ...lines.map(({ name, look }, index) => seriesOf(element, name, lookOf(look ?? index), names.length))],
    hooks: {
      setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)],
      drawClear: isLastPartial ? [(plot) => shadeLast(plot, colorOf(element, "--sunken"))] : [],
    },
  };
}

// The width of the widest character in the chart's font, and that of the ticks with their gap, in pixels.
const [characterWidth, besideLabel] = [7, 14];

/** Returns the width of the axis at the side: the least, or what its longest label needs. */
function axisWidthOf(labels: readonly string[] | null, least: number): number {
  const longest = Math.max(0, ...(labels ?? []).map((label) => label.length));
  return Math.max(least, besideLabel + longest * characterWidth);
}

/** Shades the ground from the last full point to the end, where the values still change. */
function shadeLast({ ctx, bbox, data: [points], valToPos }: uPlot, color: string): void {
  const begin = Math.max(bbox.left, valToPos(Math.max(0, points.length - 2), "x", true));
  ctx.fillStyle = color;
  ctx.fillRect(begin, bbox.top, bbox.left + bbox.width - begin, bbox.height);
}

const sizeOf = (element: HTMLElement, size: keyof typeof heights) => ({
  width: element.clientWidth,
  height: heights[size],
});

function seriesOf(element: HTMLElement, label: string, look: LineLook, points: number): uPlot.Series {
  const stroke = colorOf(element, look.color);
  const marks = points <= markedPointsMax;
  return {
    label,
    stroke,
    width: 2,
    dash: [...look.dash],
    spanGaps: false,
    points: {
      show: marks || undefined,
      size: 6,
      fill: look.mark === "ring" ? colorOf(element, "--surface") : stroke,
      stroke,
    },
  } as uPlot.Series;
}

/** Returns a token's computed colour for the canvas, in the current colour scheme. */
function colorOf(element: HTMLElement, token: string): string {
  const probe = element.ownerDocument.createElement("span");
  probe.style.color = `var(${token})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
