/** `npm run bench -- widget`: the whole table of the widget's figures, in one run. */
import { writeFile } from "node:fs/promises";
import { SingleBar } from "cli-progress";
import { Command } from "commander";
import { findViolations } from "../e2e/accessibility.ts";
import { enterCard, playTrouble, type Trouble } from "../e2e/trouble-runs.ts";
import { positive } from "./options.ts";
import { startWidgetBed, type WidgetBed } from "./widget-bed.ts";
import { payImpatiently } from "./widget-clicks.ts";
import { countLeftBehind } from "./widget-leaks.ts";
import { measureOpenings } from "./widget-opening.ts";
import { isOverBudget, rowsOf, type WidgetFigures, writeWidgetReport } from "./widget-report.ts";
import { measureOurs, measureRivals } from "./widget-sizes.ts";

type Options = {
  readonly openings: number;
  readonly cycles: number;
  readonly payments: number;
  readonly json?: string;
};

// A terminal sees a bar; anything else a line so often.
const lineEveryMs = 10_000;
// What blocks the page does so each time; a few show it.
const tracedTimes = 3;
const troubles: readonly Trouble[] = ["offline", "reload", "restart"];

/** The command, for `npm run bench`. */
export function widgetCommand(): Command {
  return new Command("widget")
    .description(
      "What the widget weighs beside others, how soon it can be used, and what it does in trouble, in real Chromium " +
        "before the whole service. Ends with 1 when a budget is broken. Takes about five minutes.",
    )
    .option("--openings <count>", "of the form, under each of two conditions", positive, 20)
    .option("--cycles <count>", "of mount and unmount", positive, 1_000)
    .option("--payments <count>", "in each of three troubles; npm run test:long plays 200", positive, 10)
    .option("--json <file>", "also write every figure to a file")
    .addHelpText("after", "\nExample:\n  npm run bench -- widget --json widget.json")
    .action(play);
}

async function play(options: Options): Promise<void> {
  const bar = new SingleBar({
    format: "widget [{bar}] {value}/{total}, {eta_formatted} left",
    noTTYOutput: true,
    notTTYSchedule: lineEveryMs,
    stream: process.stderr,
    hideCursor: true,
  });
  bar.start(2 * options.openings + tracedTimes + troubles.length + 4, 0);
  const figures = await measureWidget({ ...options, rivals: true }, () => bar.increment()).finally(() => bar.stop());
  const rows = rowsOf(figures);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify({ rows, figures }, null, 2)}\n`);
  console.log(writeWidgetReport(rows, { times: options.openings }));
  if (isOverBudget(rows)) process.exitCode = 1;
}

/** Everything of row 12. Without `rivals` nothing is fetched from the npm registry. */
export async function measureWidget(
  { openings, cycles, payments, ...options }: Omit<Options, "json"> & { readonly rivals: boolean },
  onDone: () => void,
): Promise<WidgetFigures> {
  const [sizes, rivals] = await Promise.all([measureOurs(), options.rivals ? measureRivals() : []]);
  onDone();
  const bed = await startWidgetBed();
  try {
    const opened = await measureOpenings(bed, { conditions: "as it is", times: openings, onDone });
    const traced = await measureOpenings(bed, { conditions: "traced", times: tracedTimes, onDone });
    const slowly = await measureOpenings(bed, { conditions: "slow phone", times: openings, onDone });
    const violations = await violationsIn(bed);
    onDone();
    const impatience = await payImpatiently(bed);
    onDone();
    const leftBehind = await countLeftBehind(bed, cycles);
    onDone();
    const runs = [];
    for (const trouble of troubles) {
      runs.push(...(await playTrouble(bed, trouble, payments)));
      onDone();
    }
    return {
      ...{
        sizes,
        rivals,
        openings: opened,
        tracedOpenings: traced,
        slowOpenings: slowly,
        violations,
        impatience,
        leftBehind,
        cycles,
      },
      troubles: runs,
    };
  } finally {
    await bed.close();
  }
}

/** Empty, with errors and paid, light and dark; the other states and right to left are in npm run test:long. */
async function violationsIn({ shop, browser }: WidgetBed): Promise<string[]> {
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
