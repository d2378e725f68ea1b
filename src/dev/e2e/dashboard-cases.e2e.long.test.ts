import { describe, expect, it } from "vitest";
import { expectSound, openDashboard } from "./dashboard-page.ts";

// Each test goes through several pages, on a machine that may be busy.
const patienceMs = 90_000;

const { checkout, open } = await openDashboard();
const page = await open("routing?tab=cases");

const region = (name: string) => page.getByRole("region", { name });
const cases = () => page.getByRole("grid", { name: "Cases" });
const unsaved = () => region("Unsaved changes");
const expectOrder = (names: string[]) => expect.poll(() => cases().locator("strong").allTextContents()).toEqual(names);
const expectFocus = (label: RegExp) =>
  expect
    .poll(() => page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent"))
    .toMatch(label);

/** Presses Tab until the focus has this label or text. */
async function tabTo(label: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement as HTMLInputElement | null;
      return [element?.ariaLabel, element?.labels?.[0]?.textContent, element?.textContent].find(Boolean) ?? "";
    });
    if (label.test(focused)) return;
  }
  throw new Error(`No Tab leads to ${label}`);
}

describe("the cases on the routing page", () => {
  it(
    "are made by the keyboard alone, and saved as a new version that payments follow",
    async () => {
      await page.getByRole("button", { name: "Add a case" }).focus();
      await page.keyboard.press("Enter");
      await expectFocus(/^Case 1/);
      await unsaved().getByText("Give case 1 a condition.").waitFor();
      await tabTo(/^Name$/);
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.type("American credit");
      // A condition that is added has the focus, and stops the save until it has a value.
      await tabTo(/^Issuing country$/);
      await page.keyboard.press("Enter");
      await unsaved().getByText("Case 1: Issuing country: Enter a value, or remove the condition.").waitFor();
      await page.keyboard.type("us, ca");
      await tabTo(/^Card type$/);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Space");
      await cases()
        .getByText("card type is credit and card is issued in US or CA → Sandbox A, then Sandbox B")
        .waitFor();
      await tabTo(/^Metadata$/);
      await page.keyboard.press("Enter");
      await page.keyboard.type("tier = gold");
      await cases()
        .getByText(/ and tier is gold → /)
        .waitFor();
      await tabTo(/^Remove Metadata$/);
      await page.keyboard.press("Enter");
      await expectFocus(/^Metadata$/);
      await tabTo(/^Sandbox A/);
      await page.keyboard.press("ArrowDown");
      await expectFocus(/^Sandbox B/);
      await tabTo(/^Move Sandbox B .* up$/);
      await page.keyboard.press("Enter");
      await unsaved()
        .getByText(/^The case “American credit” is added at place 1: card type credit/)
        .waitFor();
      await unsaved().getByRole("button", { name: "Save as version 2" }).focus();
      await page.keyboard.press("Enter");
      await page.getByText("Version 2 in use", { exact: true }).waitFor();
      await cases()
        .getByText("card type is credit and card is issued in US or CA → Sandbox B, then Sandbox A")
        .waitFor();
      // A number that is published as that of an American credit card, and one that is in no range.
      const american = await checkout.pay("4242424242424242");
      expect(american).toMatchObject({
        status: "SUCCEEDED",
        capturedVia: "SANDBOX_B",
        routing: { case: { name: "American credit", unknown: [] } },
      });
      expect(american.attempts?.[0]?.because).toBe(
        "First of the plan of the case “American credit” by rule version 2.",
      );
      const other = await checkout.pay("4000000000000002");
      expect(other.attempts?.[0]?.gateway).toBe("SANDBOX_A");
      expect(other.routing?.case).toEqual({
        unknown: [{ case: "American credit", because: "Unknown: the card’s type and the card’s issuing country." }],
      });
    },
    patienceMs,
  );

  it(
    "are put in order by drag and by the keyboard, and the test of a payment follows the first that applies",
    async () => {
      await page.getByRole("button", { name: "Add a case" }).click();
      const form = region("Case 2");
      await form.getByLabel("Name").fill("Large");
      await form.getByRole("button", { name: "Currency and amount", exact: true }).click();
      await form.getByLabel("Currencies").fill("EUR");
      const lowest = form.getByLabel("Lowest amount");
      await lowest.fill("ten");
      await unsaved()
        .getByText(/^Case 2: Lowest amount: /)
        .waitFor();
      expect(await unsaved().getByRole("button", { name: "Save as version 3" }).isDisabled()).toBe(true);
      await lowest.fill("100.00");
      await cases().getByText("EUR from 100.00 → Sandbox A, then Sandbox B").waitFor();
      // Under the bar of unsaved changes, a field comes out as soon as a person types in it.
      await form.getByRole("button", { name: "Metadata", exact: true }).click();
      await form.getByLabel("Metadata", { exact: true }).locator("textarea").focus();
      await page.evaluate(() => {
        window.scrollBy(0, document.activeElement!.getBoundingClientRect().bottom - window.innerHeight);
      });
      await page.keyboard.type("x");
      await expect
        .poll(async () => {
          const [field, bar] = await Promise.all([form.locator("textarea").boundingBox(), unsaved().boundingBox()]);
          return field!.y + field!.height <= bar!.y;
        })
        .toBe(true);
      await page.keyboard.press("Backspace");
      await form.getByRole("button", { name: "Remove Metadata" }).click();
      await form.getByRole("button", { name: "Close" }).click();
      await expectOrder(["American credit", "Large"]);
      const row = (name: RegExp) => cases().getByRole("row", { name });
      await row(/^Large/).dragTo(row(/^American credit/), { targetPosition: { x: 40, y: 2 } });
      await expectOrder(["Large", "American credit"]);
      const press = async (key: string, focused: RegExp) => {
        await page.keyboard.press(key);
        await expectFocus(focused);
      };
      await row(/^Large/).focus();
      await press("Tab", /^Drag Large/);
      await press("Enter", /^Insert/);
      await press("End", /^Insert after American credit/);
      await page.keyboard.press("Enter");
      await expectOrder(["American credit", "Large"]);
      await page.getByRole("button", { name: "Move Large up" }).click();
      await expectOrder(["Large", "American credit"]);
      const tester = region("Test a payment");
      await tester.getByLabel("Amount in EUR").fill("120.00");
      await tester.getByText("Follows the case Large.").waitFor();
      await tester.getByLabel("Amount in EUR").fill("9");
      await tester.getByText(/The case “American credit” is skipped/).waitFor();
      await tester.getByLabel("Card type").selectOption({ label: "Credit" });
      await tester.getByLabel("Issuing country").fill("CA");
      await tester.getByText("Follows the case American credit.").waitFor();
      await page.getByText(/^Card ranges:/).click();
      const ranges = page.getByLabel(/^One range a line/);
      await ranges.focus();
      await page.keyboard.type("457164 dk debit");
      expect(await ranges.inputValue()).toBe("457164 dk debit");
      await unsaved().getByText("1 card range is entered; before, there were none.").waitFor();
      await unsaved().getByRole("button", { name: "Save as version 3" }).click();
      await page.getByText("Version 3 in use", { exact: true }).waitFor();
      await page.getByRole("link", { name: "History", exact: true }).click();
      await region("History")
        .getByText(/^The case “Large” is added at place 1/)
        .waitFor();
    },
    patienceMs,
  );

  it(
    "break no rule of WCAG 2.2 AA and scroll one way, with an open form",
    async () => {
      await page.getByRole("link", { name: "Cases", exact: true }).click();
      await page.getByRole("button", { name: "Edit Large" }).click();
      // Discarded, the form closes: it would show what is no longer so.
      await region("Case 1").getByLabel("Currencies").fill("CHF");
      await unsaved().getByRole("button", { name: "Discard" }).click();
      await region("Case 1").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Edit Large" }).click();
      await region("Case 1").waitFor();
      await region("Case 1")
        .getByRole("switch", { name: /^Split payments/ })
        .press("Space");
      await region("Variant B").getByLabel("Share of variant B in percent").fill("0");
      await unsaved().getByText("Give variant B of case 1 a share from 1 to 99 percent.").waitFor();
      await region("Variant B").getByLabel("Share of variant B in percent").fill("30");
      await region("Variant B")
        .getByRole("button", { name: /^Leave out Sandbox A/ })
        .press("Enter");
      await unsaved()
        .getByText(/^The case “Large” is now: .* 30% goes to variant B, which plans Sandbox B/)
        .waitFor();
      // The case before this one takes payments from its split, and says so.
      await page.getByRole("button", { name: "Move Large down" }).click();
      await cases().getByText("Takes payments from the split of the case “Large”.").waitFor();
      await page.getByRole("button", { name: "Move Large up" }).click();
      await cases()
        .getByText(/^Takes payments/)
        .waitFor({ state: "detached" });
      // Each kind of condition is shown to the checks below.
      for (const kind of ["Card brand", "Card type", "Issuing country", "Billing country", "Metadata", "Day and time"])
        await region("Case 1").getByRole("button", { name: kind, exact: true }).click();
      const zone = region("Case 1").getByLabel("Time zone");
      await zone.fill("Berlin");
      await unsaved().getByText("Case 1: Time zone: Choose one of the list, such as Europe/Berlin.").waitFor();
      expect(await zone.evaluate((field: HTMLInputElement) => field.list?.options.length)).toBeGreaterThan(300);
      await zone.fill("Europe/Berlin");
      await region("Case 1").getByLabel("Saturday").check();
      await cases()
        .getByText(/^EUR from 100\.00 and submitted on Saturday \(Europe\/Berlin\) → /)
        .waitFor();
      for (const kind of ["Card brand", "Card type", "Issuing country", "Billing country", "Metadata", "Day and time"])
        await region("Case 1")
          .getByRole("button", { name: `Remove ${kind}` })
          .click();
      const tester = region("Test a payment");
      await tester.getByLabel("Amount in EUR").fill("120.00");
      await tester.getByLabel(/falls into$/).selectOption({ label: "Variant B" });
      await tester.getByText("Falls into variant B: 30% of the payments of this plan go to variant B.").waitFor();
      for (const kind of ["Card brand", "Card type", "Issuing country", "Billing country", "Metadata", "Day and time"])
        await region("Case 1").getByRole("button", { name: kind, exact: true }).click();
      await page.getByText("Card ranges: 1").click();
      expect(await page.getByLabel(/^One range a line/).inputValue()).toBe("457164 DK debit");
      await expectSound(page, [
        ["light", 320],
        ["dark", 1280],
      ]);
    },
    patienceMs,
  );
});
