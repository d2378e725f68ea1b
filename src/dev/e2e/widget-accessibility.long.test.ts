/** The widget and the card frame before axe-core in every state, direction, theme and width. */
import { describe, expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { WidgetStage } from "./widget-fixture.ts";
import { openInState, widgetStates } from "./widget-states.ts";

const stage = await forFile(() => WidgetStage.build());

const looks = ["en", "ar"].flatMap((locale) =>
  (["light", "dark"] as const).flatMap((colorScheme) =>
    (["desktop", "narrow", "zoomed", "forced"] as const).map((window) => ({ locale, colorScheme, window })),
  ),
);

describe.each(widgetStates)("the widget before axe-core, %s", (state) => {
  it.each(looks)("breaks no rule of WCAG 2.2 AA in $locale, $colorScheme, $window", async (look) => {
    const fixture = await openInState(stage, state, look);
    expect(await findViolations(fixture.page)).toEqual([]);
    await fixture.close();
  });
});
