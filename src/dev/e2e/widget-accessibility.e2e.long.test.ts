/** The widget and the card frame before axe-core; widget-accessibility.long.test.ts has all looks. */
import { describe, expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { WidgetStage } from "./widget-fixture.ts";
import { type Look, openInState, type WidgetState } from "./widget-states.ts";

const stage = await forFile(() => WidgetStage.build());

const samples: readonly [WidgetState, Look][] = [
  ["errors", { locale: "en", colorScheme: "dark", window: "narrow" }],
  ["declined", { locale: "he", colorScheme: "light", window: "zoomed" }],
  ["retry", { locale: "ar", colorScheme: "dark", window: "phone" }],
  ["challengeSoonOver", { locale: "he", colorScheme: "dark", window: "narrow" }],
  ["challenge", { locale: "fr", colorScheme: "light", window: "forced" }],
  ["challengeElsewhere", { locale: "de", colorScheme: "light", window: "forced" }],
  ["notAuthenticated", { locale: "ar", colorScheme: "light", window: "forced" }],
];

describe("the widget before axe-core", () => {
  it.each(samples)("breaks no rule of WCAG 2.2 AA: %s, %o", async (state, look) => {
    const fixture = await openInState(stage, state, look);
    expect(fixture.page.frames().length).toBeGreaterThan(1);
    expect(await findViolations(fixture.page)).toEqual([]);
    await fixture.close();
  });
});
