/** Pages of the dashboard in a test's browser. */
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterEach, expect } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { desktopAndPhone, everyDesktopAndPhone, inEachLook, type Look } from "./each-look.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const desktop = { width: 1280, height: 900 };

/**
 * Opens a browser for a test file, with the member signed in at a shared demo. A line in the pages' console fails the
 * test, except for those about refusals of these statuses. A path is below the merchant, or begins with a slash.
 */
export async function openDashboard({
  statuses = /40[0139]/,
  ...options
}: BrowserContextOptions & { statuses?: RegExp } = {}) {
  const [demo, browser] = [await joinTestDemo(), await forFile(launchBrowser)];
  const noise: string[] = [];
  afterEach(() => expect(noise.splice(0)).toEqual([]));
  const urlOf = (path: string, environment = "test") =>
    new URL(path, `${demo.file.dashboardOrigin}/${environment}/${demo.file.merchants[0]!.merchantId}/`).href;
  const openIn = async (context: BrowserContext, path: string): Promise<Page> => {
    const page = await context.newPage();
    recordNoise(page, noise, statuses);
    await page.goto(urlOf(path));
    return page;
  };
  const enter = async (): Promise<BrowserContext> => {
    const context = await browser.newContext({ viewport: desktop, ...options });
    const page = await openIn(context, "home");
    await signIn(page, demo.file.member, "Home");
    await page.close();
    return context;
  };
  const context = await enter();
  const open = (path: string, within = context) => openIn(within, path);
  return { demo, browser, context, noise, urlOf, open, enter, checkout: new ApiCheckout(demo.file) };
}

/** Signs a member in by the form that the page shows, and waits for the heading of the page behind it. */
async function signIn(page: Page, { email, password }: { email: string; password: string }, heading: string) {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
}

/** Expects that a page breaks no rule of WCAG 2.2 AA and scrolls one way, in each look. */
export async function expectSound(page: Page, looks: readonly Look[] = desktopAndPhone): Promise<void> {
  await inEachLook(page, looks, (name, width) => expectSoundAt(page, name, width));
  await page.setViewportSize(desktop);
}

/** Expects the same on a desktop and on a phone, light and dark, whichever looks a run takes. */
export async function expectSoundEverywhere(page: Page): Promise<void> {
  for (const [colorScheme, width] of everyDesktopAndPhone) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await expectSoundAt(page, `${colorScheme} ${width}`, width);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

async function expectSoundAt(page: Page, name: string, width: number): Promise<void> {
  expect(await findViolations(page), name).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(width);
}

/** Adds a virtual passkey device to a page, whose user is always present and verified. */
export async function addPasskeyDevice(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/**
 * Records the lines in the page's console; without the browser's own about an answer that a test expects to be a refusal,
 * of these statuses.
 */
export function recordNoise(page: Page, noise: string[], statuses: RegExp): void {
  const expected = new RegExp(`Failed to load resource: .*(${statuses.source})`);
  page.on("console", (message) => {
    if (!expected.test(message.text())) noise.push(message.text());
  });
  page.on("pageerror", (error) => noise.push(String(error)));
}
