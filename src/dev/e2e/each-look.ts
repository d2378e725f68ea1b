/** A page in each of its looks: light and dark, wide and narrow. */
import type { Page } from "playwright-core";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    everyLook: boolean;
  }
}

export type Look = readonly [colorScheme: "light" | "dark", width: number];

export const desktopAndPhone: readonly Look[] = [
  ["light", 1440],
  ["dark", 390],
];
export const everyDesktopAndPhone: readonly Look[] = [
  ["light", 1440],
  ["dark", 1440],
  ["light", 390],
  ["dark", 390],
];
export const narrowAtLast: readonly Look[] = [
  ["light", 1280],
  ["dark", 1280],
  ["light", 320],
];

/**
 * Draws a loaded page in each look, and calls `check` with its name and width. `npm test` takes the last look alone, which differs
 * most from what a developer sees; the long run takes each.
 */
export async function inEachLook(
  page: Page,
  looks: readonly Look[],
  check: (name: string, width: number) => Promise<void>,
): Promise<void> {
  for (const [colorScheme, width] of inject("everyLook") ? looks : looks.slice(-1)) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    // After two frames, the parts that depend on the width are drawn.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await check(`${new URL(page.url()).pathname} ${colorScheme} ${width}`, width);
  }
}
