/** The widget and the card frame before axe-core in every state, direction, theme and width. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findViolations } from "./accessibility.ts";
import { WidgetStage } from "./widget-fixture.ts";
import { openInState, widgetStates } from "./widget-states.ts";

let stage: WidgetStage;
beforeAll(async () => {
  stage = await WidgetStage.build();
});
afterAll(() => stage?.close());

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
