import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { createDashboardClient } from "../../client/dashboard-client.ts";
import { Secret } from "../../platform/secrets.ts";
import { findViolations } from "./accessibility.ts";
import { addPasskeyDevice, expectSound, openDashboard } from "./dashboard-page.ts";
import type { Look } from "./each-look.ts";

// So that a failure names the step and not the test; a busy machine takes many seconds for some.
const stepMs = 60_000;

// Every card of a page is loaded by then, on a busy machine too.
const pageWaitMs = 30_000;

const { demo, browser, context, open, urlOf } = await openDashboard({ statuses: /40[139]|400|ERR_FAILED/ });
context.setDefaultTimeout(stepMs);

async function enter(page: Page, password = demo.file.member.password): Promise<void> {
  await page.getByLabel("E-mail").fill(demo.file.member.email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const looks: Look[] = [
  ["light", 320],
  ["dark", 1_280],
];

describe("a passkey", () => {
  it("is added after a proof, named, signs in, stands for the password, and is removed", async () => {
    const browserOfTheirs = await browser.newContext();
    const page = await open("/account", browserOfTheirs);
    await addPasskeyDevice(page);
    await enter(page);
    const card = page.getByRole("region", { name: "Passkeys" });
    await card.getByRole("button", { name: "Add a passkey" }).click();
    await card.getByText("Chrome on Linux").waitFor();
    await card.getByRole("button", { name: "Rename Chrome on Linux" }).click();
    await card.getByRole("textbox", { name: "Name" }).fill("Office laptop");
    await card.getByRole("button", { name: "Save the name" }).click();
    await card.getByText("Office laptop").waitFor();
    await card.getByRole("button", { name: "Add a passkey" }).click();
    await card.getByText("already has a passkey for the account").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByRole("heading", { level: 1 }).filter({ hasNotText: "Sign in" }).waitFor();
    // Within the page: the device is this tab's, and a new address would be one without it.
    await page
      .getByRole("link", { name: "Your account" })
      .or(page.getByRole("link", { name: "Demo Owner" }))
      .click();
    await page.getByText("Sign in with passkey").waitFor();
    await demo.accountsQuery("UPDATE sign_in SET proved_at = proved_at - interval '15 minutes'");
    await card.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
    const proof = page.getByRole("dialog", { name: "Confirm that it is you" });
    await proof.getByRole("button", { name: "Use a passkey" }).click();
    await card.getByText("Office laptop").waitFor({ state: "detached" });
    await browserOfTheirs.close();
    // Adding it has ended the sign-ins from before.
    const before = await open("/account");
    await enter(before);
    await before.getByRole("heading", { level: 1 }).filter({ hasNotText: "Sign in" }).waitFor();
    await before.close();
  });
});

describe("the settings page", () => {
  const barOf = (page: Page) => page.getByRole("region", { name: "Unsaved changes" });

  it("shows the problem at its field, what is not saved, and that another member was first", async () => {
    await demo.accountsQuery("UPDATE sign_in SET proved_at = clock_timestamp()");
    const page = await open("settings");
    const [origins, bar] = [page.getByRole("region", { name: "Checkout origins" }), barOf(page)];
    const field = origins.getByLabel("Origins");
    await field.waitFor();
    expect(await bar.count()).toBe(0);
    await field.fill("https://shop.example.com/cart");
    await bar.getByText("Not saved yet").waitFor();
    await bar.getByRole("button", { name: "Save" }).click();
    await origins.getByText("https://shop.example.com/cart is not an origin").waitFor();
    await bar.getByText(/^Checkout origins: https:\/\/shop\.example\.com\/cart is not an origin/).waitFor();
    await page.getByRole("link", { name: "Live", exact: true }).click();
    const question = page.getByRole("alertdialog", { name: "Leave without saving?" });
    await question.getByText("Checkout origins").waitFor();
    await question.getByRole("button", { name: "Stay" }).click();
    await field.fill("https://shop.example.com\nhttps://www.example.com");
    const other = await open("settings");
    const lifetime = other.getByRole("region", { name: "Session lifetime" });
    await lifetime.getByLabel("Minutes").fill("20");
    await barOf(other).getByRole("button", { name: "Save" }).click();
    await other.getByText("Saved.").waitFor();
    await barOf(other).waitFor({ state: "detached" });
    await other.close();
    await bar.getByRole("button", { name: "Save" }).click();
    await origins.getByText("The settings were changed meanwhile").waitFor();
    await bar.getByText(/^Checkout origins: The settings were changed meanwhile/).waitFor();
    await bar.getByRole("button", { name: "Show the current values" }).click();
    await expect.poll(() => page.getByLabel("Minutes").inputValue()).toBe("20");
    await field.fill("https://shop.example.com");
    await bar.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.reload();
    await expect.poll(() => field.inputValue()).toBe("https://shop.example.com");
    await page.close();
  });

  it("saves all changed rows at once, and keeps the one that the service refuses, with its reason", async () => {
    const page = await open("settings");
    const bar = barOf(page);
    const row = (name: string) => page.getByRole("region", { name });
    await row("Session lifetime").getByLabel("Minutes").fill("40");
    await row("Statement descriptor").getByLabel("Text").fill("ROUNDHOUSE");
    await row("Alerts that are sent").getByText("Card testing").click();
    await expect
      .poll(() => bar.getByRole("listitem").allTextContents())
      .toEqual(["Session lifetime", "Statement descriptor", "Alerts that are sent"]);
    await context.route("**/SetMutedAlerts", (route) => route.abort());
    await bar.getByRole("button", { name: "Save" }).click();
    await expect
      .poll(() => bar.getByRole("listitem").allTextContents())
      .toEqual([expect.stringMatching(/^Alerts that are sent: The service does not answer/)]);
    await context.unroute("**/SetMutedAlerts");
    await expectSound(page, looks);
    await bar.getByRole("button", { name: "Save" }).click();
    await bar.waitFor({ state: "detached" });
    await page.reload();
    await expect.poll(() => row("Session lifetime").getByLabel("Minutes").inputValue()).toBe("40");
    expect(await row("Statement descriptor").getByLabel("Text").inputValue()).toBe("ROUNDHOUSE");
    await expect.poll(() => page.getByRole("switch", { name: /^Card testing/ }).isChecked()).toBe(false);
    // What is changed back is not unsaved.
    await row("Session lifetime").getByLabel("Minutes").fill("41");
    await bar.waitFor();
    await row("Session lifetime").getByLabel("Minutes").fill("40");
    await bar.waitFor({ state: "detached" });
    await page.close();
  });

  it("says that the service does not answer, and continues when it does", async () => {
    await context.route("**/GetSettings", (route) => route.abort());
    const page = await open("settings");
    await page.getByRole("alert").filter({ hasText: "does not answer" }).waitFor();
    await context.unroute("**/GetSettings");
    await page.getByRole("button", { name: "Try again" }).click();
    const lifetime = page.getByRole("region", { name: "Session lifetime" });
    const draft = page.getByRole("region", { name: "Checkout origins" }).getByLabel("Origins");
    // What was read before stays when the next reading fails, and with it what was saved and what is being changed.
    await draft.waitFor();
    await context.route("**/GetSettings", (route) => route.abort());
    await lifetime.getByLabel("Minutes").fill("25");
    await barOf(page).getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await barOf(page).waitFor({ state: "detached" });
    await draft.fill("https://not-saved.example.com");
    await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
    await barOf(page).getByText("Checkout origins").waitFor();
    expect(await lifetime.getByLabel("Minutes").inputValue()).toBe("25");
    expect(await draft.inputValue()).toBe("https://not-saved.example.com");
    await context.unroute("**/GetSettings");
    await page.close();
  });
});

describe("the pages of the account and the settings", () => {
  it("break no rule of WCAG 2.2 AA and scroll one way", async () => {
    const page = await open("/account");
    for (const path of [urlOf("/account"), urlOf("settings", "live"), urlOf(await resetPath())]) {
      await page.goto(path);
      await page.getByRole("heading", { level: 1 }).filter({ hasNotText: "Sign in" }).waitFor();
      await expect.poll(() => page.getByText("is loading.").count(), { timeout: pageWaitMs }).toBe(0);
      await expectSound(page, looks);
    }
    await page.close();
  });
});

describe("an operator's link", () => {
  it("lets a member choose a new password, who then signs in with it", async () => {
    const page = await open(await resetPath());
    await page.getByLabel("New password").fill("seven words that belong together");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await enter(page, "seven words that belong together");
    await page.getByRole("heading", { level: 1 }).filter({ hasNotText: "Sign in" }).waitFor();
    await page.close();
  });
});

async function resetPath(): Promise<string> {
  const { grpcAddress, operatorToken, member, dashboardOrigin } = demo.file;
  const client = createDashboardClient(grpcAddress, new Secret(operatorToken));
  const { link } = await client.members.resetMemberPassword({ email: member.email });
  client.close();
  return link!.slice(dashboardOrigin.length);
}

describe("the home page of an environment that is not set up", () => {
  it("names what is missing, with a link to each step", async () => {
    const page = await open(urlOf("home", "live"));
    const setUp = page.getByRole("region", { name: "Set up live" });
    await setUp.waitFor();
    expect(await setUp.getByRole("link").allTextContents()).toEqual([
      "Copy test to live",
      "Connect a gateway",
      "Set up routing",
      "Add an origin",
      "Register an endpoint",
    ]);
    expect(await page.getByText("Nothing needs attention").count()).toBe(0);
    expect(await findViolations(page)).toEqual([]);
    await setUp.getByRole("link", { name: "Add an origin" }).click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await page.close();
  });
});
