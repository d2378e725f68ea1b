import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { colors } from "../../../brand.ts";
import { lineColors, lookOf } from "./line-look.ts";

const styleOf = (name: string) => readFileSync(new URL(`../style/${name}.css`, import.meta.url), "utf8");
const schemes = ["light", "dark"] as const;

/** Returns a token's colour in each scheme. */
function colorsOf(token: string): { light: string; dark: string } {
  const [, light, dark] = new RegExp(`${token}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(styleOf("analytics")) ?? [];
  return { light: light!, dark: dark! };
}

/** Returns the relative luminance of WCAG 2. */
function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const part = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrastOf(left: string, right: string): number {
  const [darker = 0, lighter = 0] = [luminanceOf(left), luminanceOf(right)].toSorted((one, other) => one - other);
  return (lighter + 0.05) / (darker + 0.05);
}

describe("the lines of a chart", () => {
  const looks = Array.from({ length: lineColors ** 2 }, (_, index) => lookOf(index));

  it("differ by colour and dashes among the first eight, and by one of them for as long as possible", () => {
    const first = looks.slice(0, 8);
    expect(new Set(first.map(({ color }) => color)).size).toBe(8);
    expect(new Set(first.map(({ dash }) => dash.join())).size).toBe(8);
    expect(new Set(looks.map(({ color, dash }) => `${color} ${dash}`)).size).toBe(looks.length);
  });

  it.each(schemes)("contrast with a card, and have colours of their own, in the %s scheme", (scheme) => {
    const surface = colors.surface[scheme === "light" ? 0 : 1];
    const ofLines = looks.slice(0, 8).map(({ color }) => colorsOf(color)[scheme]);
    expect(new Set(ofLines).size).toBe(8);
    for (const color of ofLines) expect(contrastOf(color, surface)).toBeGreaterThanOrEqual(3);
  });

  it("have a sample in the legend in their own colour", () => {
    for (const { color } of looks)
      expect(styleOf("analytics")).toContain(`.${color.slice(2)} {\n  color: var(${color});`);
  });
});
