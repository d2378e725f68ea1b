/**
 * The common look of the dashboard, the pages of /docs and the mails: colours, type, spacing and the mark. PURE.
 *
 * Contrast of text on its ground is at least 4.5:1, of edges and marks 3:1, in light and in dark.
 */

/** Each colour in light and in dark. */
export const colors = {
  ground: ["#f6f7f9", "#0e1116"],
  surface: ["#ffffff", "#171b22"],
  raised: ["#ffffff", "#1f242d"],
  sunken: ["#eef0f4", "#11151b"],
  ink: ["#14181f", "#eceff4"],
  "ink-soft": ["#4c5564", "#a7b0be"],
  edge: ["#dde1e8", "#2c333f"],
  "edge-strong": ["#838c9b", "#6d7786"],
  accent: ["#4338ca", "#a5b0ff"],
  "accent-ground": ["#4338ca", "#4f52d6"],
  "accent-ink": ["#ffffff", "#ffffff"],
  "accent-wash": ["#eceefe", "#232747"],
  good: ["#0b6b45", "#5fd3a0"],
  "good-wash": ["#e2f5ec", "#11301f"],
  warn: ["#8a4b00", "#f2b866"],
  "warn-wash": ["#fdf0dc", "#352410"],
  bad: ["#b3261e", "#ff9d94"],
  "bad-ground": ["#b3261e", "#c5352c"],
  "bad-wash": ["#fde9e7", "#3b1714"],
} as const satisfies Readonly<Record<string, readonly [light: string, dark: string]>>;

const others = {
  "text-tiny": "0.8rem",
  "text-small": "0.87rem",
  "text-large": "1.1rem",
  "text-figure": "1.3rem",
  "text-title": "1.55rem",
  "space-1": "4px",
  "space-2": "8px",
  "space-3": "12px",
  "space-4": "16px",
  "space-5": "24px",
  radius: "10px",
  "radius-small": "7px",
  font: 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  mono: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
} as const;

/** The typeface's file, from the project's folder. Its licence is beside it. */
export const fontPath = "vendor/inter/inter-latin-wght-normal.woff2";

/** Returns the style that declares the typeface, loaded from `fontUrl`, and every token as a property such as `--ink`. */
export function brandStyle(fontUrl: string): string {
  const tokens = [
    ...Object.entries(colors).map(([name, [light, dark]]) => `--${name}: light-dark(${light}, ${dark});`),
    ...Object.entries(others).map(([name, value]) => `--${name}: ${value};`),
  ];
  return `@font-face {
  font-family: Inter;
  font-weight: 100 900;
  font-display: swap;
  src: url("${fontUrl}") format("woff2");
}
:root {
  color-scheme: light dark;
  font: 15px / 1.5 var(--font);
  color: var(--ink);
  background: var(--ground);
  ${tokens.join("\n  ")}
}
`;
}

/** The mark, as the path of an SVG of 16 by 16: two lines that cross over, as rails do. */
export const markPath = "M2 12h4l4-8h4M2 4h4l4 8h4";

const svg = (color: string) =>
  `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' stroke='${color}' stroke-width='2' stroke-linecap='round'><path d='${markPath}'/></svg>`;

/** The mark in the colour of the text around it, as HTML; the page puts the name beside it. */
export const markSvg = svg("currentColor").replace("<svg", "<svg aria-hidden='true' width='20' height='20'");

/** The icon of a page, as the `href` of its link. */
export const iconUrl = `data:image/svg+xml,${encodeURIComponent(svg(colors.accent[0]))}`;
