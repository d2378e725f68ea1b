/** Row 12: the widget's size, its time until it is usable, and its behaviour in trouble, in Chromium. */
import { findViolations } from "../e2e/accessibility.ts";
import { enterCard, playTrouble, type Trouble } from "../e2e/trouble-runs.ts";
import { payImpatiently } from "./widget-clicks.ts";
import { startWidgetHarness, type WidgetHarness } from "./widget-harness.ts";
import { countLeftBehind } from "./widget-leaks.ts";
import { measureOpenings } from "./widget-opening.ts";
import type { WidgetFigures } from "./widget-report.ts";
import { measureOurs } from "./widget-sizes.ts";

export type WidgetBenchOptions = {
  readonly openings: number;
  readonly cycles: number;
  readonly payments: number;
};

// A task that blocks the page does so each time; a few show it.
const tracedTimes = 3;
const troubles: readonly Trouble[] = ["offline", "reload", "restart"];

export async function measureWidget(
  { openings, cycles, payments }: WidgetBenchOptions,
  onDone: () => void,
): Promise<WidgetFigures> {
  const sizes = await measureOurs();
  onDone();
  const harness = await startWidgetHarness();
  try {
    const opened = await measureOpenings(harness, { conditions: "as it is", times: openings, onDone });
    const traced = await measureOpenings(harness, { conditions: "traced", times: tracedTimes, onDone });
    const slowly = await measureOpenings(harness, { conditions: "slow phone", times: openings, onDone });
    const violations = await violationsIn(harness);
    onDone();
    const impatience = await payImpatiently(harness);
    onDone();
    const leftBehind = await countLeftBehind(harness, cycles);
    onDone();
    const runs = [];
    for (const trouble of troubles) {
      runs.push(...(await playTrouble(harness, trouble, payments)));
      onDone();
    }
    return {
      sizes,
      openings: opened,
      tracedOpenings: traced,
      slowOpenings: slowly,
      violations,
      impatience,
      leftBehind,
      cycles,
      troubles: runs,
    };
  } finally {
    await harness.close();
  }
}

/** Checks the form empty, with errors and paid, light and dark; npm run test:long has the other states. */
async function violationsIn({ shop, browser }: WidgetHarness): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    await page.goto((await shop.sell()).url);
    const pay = page.getByRole("button", { name: "Pay €49.00" });
    await pay.waitFor();
    found.push(...(await findViolations(page)));
    await pay.click();
    await page.frameLocator("iframe").locator("[aria-invalid=true]").first().waitFor();
    found.push(...(await findViolations(page)));
    await enterCard(page, "4242424242424242");
    await pay.click();
    await page.getByText("Payment complete.").waitFor();
    found.push(...(await findViolations(page)));
    await context.close();
  }
  return found;
}
