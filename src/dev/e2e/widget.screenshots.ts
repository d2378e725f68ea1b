/** Pictures of the widget in every state, to be looked at: `npm run screenshots -- widget` writes them. */
import { describe, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { WidgetStage } from "./widget-fixture.ts";
import { type Look, openInState, widgetStates } from "./widget-states.ts";

const stage = await forFile(() => WidgetStage.build());

const looks: readonly Look[] = [
  { locale: "en", colorScheme: "light", window: "desktop" },
  { locale: "en", colorScheme: "dark", window: "desktop" },
  { locale: "en", colorScheme: "light", window: "phone" },
  { locale: "ar", colorScheme: "light", window: "phone" },
  { locale: "ar", colorScheme: "dark", window: "phone" },
  { locale: "de", colorScheme: "light", window: "narrow" },
];

describe.each(widgetStates)("%s", (state) => {
  it.each(looks)("in $locale, $colorScheme, $window", async (look) => {
    const fixture = await openInState(stage, state, look);
    const name = [state, look.window, look.colorScheme, look.locale].join("-");
    await fixture.page.screenshot({ path: `screenshots/widget/${name}.png`, fullPage: true, animations: "disabled" });
    await fixture.close();
  });
});
