/** What members do to their own membership: change their role and leave, but never as the only owner. And a keyboard alone. */
import type { BrowserContext, Page } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { expectSound, openDashboard } from "./dashboard-page.ts";

const { demo, browser, open, urlOf } = await openDashboard();

const contexts: BrowserContext[] = [];
afterEach(() => Promise.all(contexts.splice(0).map((context) => context.close())));

async function newContext(): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  contexts.push(context);
  return context;
}

describe("the dashboard in a browser", () => {
  it("has members change their own role and leave, but not the only owner", async () => {
    const page = await open("team");
    await page.getByLabel("E-mail").fill("vera.owner@example.com");
    await page.getByRole("button", { name: "Invite", exact: true }).click();
    const mail = () => demo.mailbox.mails.find(({ to }) => to.includes("vera.owner@example.com"));
    await expect.poll(mail).toBeDefined();
    const guest = await open(mail()!.text.split(demo.file.dashboardOrigin)[1]!.split("\n")[0]!, await newContext());
    await guest.getByLabel("Your name").fill("Vera");
    await guest.getByLabel("Choose a password").fill("seven words that belong together");
    await guest.getByRole("button", { name: "Join" }).click();
    await guest.getByRole("heading", { name: "Home" }).waitFor();
    await page.reload();
    const roleOf = (name: string, on = page) => on.getByRole("combobox", { name: `Role of ${name} in test` });
    const leave = (on: Page) => on.getByRole("button", { name: "Leave", exact: true });
    const expectOnlyOwner = async (name: string, on: Page) => {
      const row = on.getByRole("row").filter({ hasText: name });
      await row.getByRole("cell", { name: "Owner", exact: true }).nth(1).waitFor();
      expect([await roleOf(name, on).count(), await leave(on).count()]).toEqual([0, 0]);
    };
    await expectOnlyOwner("Demo Owner", page);
    await roleOf("Vera").selectOption({ label: "Owner" });
    await page.getByText("The role of Vera is changed.").waitFor();
    await expect.poll(() => roleOf("Demo Owner").isDisabled()).toBe(false);
    await guest.goto(urlOf("team"));
    await roleOf("Vera", guest).selectOption({ label: "Developer" });
    const question = guest.getByRole("alertdialog", { name: "Change your own role to Developer?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
    expect(await roleOf("Vera", guest).inputValue()).toBe(await roleOf("Demo Owner", guest).inputValue());
    await roleOf("Vera", guest).selectOption({ label: "Developer" });
    await question.getByRole("button", { name: "Change my role" }).click();
    await roleOf("Vera", guest).waitFor({ state: "detached" });
    expect(await guest.getByRole("button", { name: "Invite" }).count()).toBe(0);
    await page.reload();
    await expectOnlyOwner("Demo Owner", page);
    const inLive = page.getByRole("combobox", { name: "Role of Vera in live" });
    await inLive.selectOption({ label: "No access" });
    await expect.poll(() => inLive.locator("option:checked").textContent()).toBe("No access");
    await page.getByText("The role of Vera is changed.").first().waitFor();
    await expectSound(page);
    await guest.goto(urlOf("payments", "live"));
    await guest.getByRole("heading", { name: "No access to live" }).waitFor();
    await guest.getByRole("link", { name: "Open test" }).click();
    await guest.getByRole("heading", { name: "Home" }).waitFor();
    await guest.goto(urlOf("team"));
    await roleOf("Vera").selectOption({ label: "Owner" });
    await expect.poll(() => inLive.locator("option:checked").textContent()).toBe("Owner");
    await page.getByText("The role of Vera is changed.").waitFor();
    await guest.reload();
    await leave(guest).click();
    await guest.getByRole("alertdialog").getByRole("button", { name: "Leave" }).click();
    await guest.getByText(/^You have left /).waitFor();
    await guest.getByRole("heading", { name: "No merchant yet" }).waitFor();
    await page.reload();
    await expectOnlyOwner("Demo Owner", page);
    expect(await roleOf("Vera").count()).toBe(0);
  });

  it("is used by keyboard alone", async () => {
    const page = await open("keys", await newContext());
    await page.getByLabel("E-mail").waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("email");
    await page.keyboard.type(demo.file.member.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(demo.file.member.password);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Regenerate" }).first().waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await page.keyboard.press("Tab");
    await expect.poll(focused).toBe("Skip to content");
    await page.keyboard.press("Enter");
    for (const [button, role] of [
      ["Roll", "dialog"],
      ["Regenerate", "alertdialog"],
    ] as const) {
      await page.keyboard.press("Tab");
      await expect.poll(focused).toBe(button);
      await page.keyboard.press("Enter");
      await page.getByRole(role).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole(role).waitFor({ state: "detached" });
      await expect.poll(focused).toBe(button);
    }
  });
});
