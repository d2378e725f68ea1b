/** What every page of the dashboard has: the menu of a phone, and no violation of WCAG in any look. */
import { describe, expect, it } from "vitest";
import { findViolations } from "./accessibility.ts";
import { openDashboard } from "./dashboard-page.ts";
import { inEachLook, narrowAtLast } from "./each-look.ts";

// Axe looks at every page in every look, on a machine that may have much else to do.
const patienceMs = 90_000;

// Every card of a page is loaded by then, on a busy machine too.
const pageWaitMs = 30_000;

const dashboard = await openDashboard();

describe("the menu of a phone", () => {
  it("opens by keyboard, leads to a page, and returns the focus", { timeout: patienceMs }, async () => {
    const page = await dashboard.open("keys");
    await page.setViewportSize({ width: 390, height: 844 });
    const menu = page.getByRole("button", { name: "Menu" });
    const drawer = page.getByRole("dialog");
    const expectFocusOnMenu = () =>
      expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Menu");
    await menu.press("Enter");
    await drawer.getByRole("link", { name: "API keys" }).waitFor();
    expect(await drawer.getByRole("link", { name: "API keys" }).getAttribute("aria-current")).toBe("page");
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
    await expectFocusOnMenu();
    await menu.press("Enter");
    await drawer.getByRole("link", { name: "Team" }).press("Enter");
    await page.getByRole("heading", { name: "Team", level: 1 }).waitFor();
    await drawer.waitFor({ state: "detached" });
    await expectFocusOnMenu();
    expect(await page.locator(".bar-page").textContent()).toBe("Team");
    expect(await page.title()).toMatch(/^Team · .+ · test · Switchyard$/);
  });
});

it("leads from a merchant's address without a page to Home", { timeout: patienceMs }, async () => {
  const page = await dashboard.open(".");
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  await page.close();
});

describe("every page of the dashboard", () => {
  it("breaks no rule of WCAG 2.2 AA and scrolls one way", { timeout: patienceMs }, async () => {
    const entrance = await dashboard.open("/account", await dashboard.browser.newContext());
    await entrance.getByRole("heading", { name: "Sign in" }).waitFor();
    await inEachLook(entrance, narrowAtLast, async (name) => expect(await findViolations(entrance), name).toEqual([]));
    await entrance.context().close();
    const page = await dashboard.open("/account");
    const urls = ["keys", "team", "audit"].map((name) => dashboard.urlOf(name, "live"));
    for (const url of ["/account", "/"].map((path) => dashboard.urlOf(path)).concat(urls)) {
      await page.goto(url);
      await page.getByRole("heading", { level: 1 }).waitFor();
      const loading = page.getByRole("status").filter({ hasText: "is loading" });
      await expect.poll(() => loading.count(), { timeout: pageWaitMs }).toBe(0);
      await inEachLook(page, narrowAtLast, async (name, width) => {
        expect(await findViolations(page), name).toEqual([]);
        expect(await page.evaluate(elementsBeyond, width), name).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(width);
      });
    }
  });
});

function elementsBeyond(width: number): string[] {
  return [...document.querySelectorAll("body *")]
    .filter((element) => !element.closest(".table-scroll") && element.getBoundingClientRect().right > width)
    .map(({ outerHTML }) => outerHTML.slice(0, 120));
}
