/** Every text of the checkout in every language, on the narrowest screen. */
import { afterAll, describe, it } from "vitest";
import { translations } from "../../../widget/translations.ts";
import { CardFrameStage } from "./card-frame-fixture.ts";
import { measureCardFrame, measureFloatingLabels, measureWidget } from "./language-measures.ts";
import { WidgetStage } from "./widget-fixture.ts";

const [cardFrame, widget] = await Promise.all([CardFrameStage.build(), WidgetStage.build()]);
afterAll(() => Promise.all([cardFrame.close(), widget.close()]));

describe.each(["en", ...translations])("the checkout on 320 px in %s", (locale) => {
  it("shows every problem of the card within its frame", () => measureCardFrame(cardFrame, locale));

  it("keeps floating labels in their fields", () => measureFloatingLabels(cardFrame, locale));

  it("keeps every text of the widget within the form", () => measureWidget(widget, locale));
});
