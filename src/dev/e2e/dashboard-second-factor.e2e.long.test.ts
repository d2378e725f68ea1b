/** Live is closed to a sign-in without a second factor, and the page where a member adds or confirms one. */
import { afterEach, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { addPasskeyDevice, expectSoundEverywhere, recordNoise } from "./dashboard-page.ts";
import { startTestDemo } from "./demo.fixture.ts";

const [demo, browser] = [
  await forFile(() => startTestDemo({ SWITCHYARD_DASHBOARD_LIVE_SECOND_FACTOR: "required" }, { dashboard: true })),
  await forFile(launchBrowser),
];
const noise: string[] = [];
afterEach(() => expect(noise.splice(0)).toEqual([]));

it("leads from live to the page, and back once a passkey is added or confirmed", async () => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  recordNoise(page, noise, /40[013]/);
  await addPasskeyDevice(page);
  await page.goto(`${demo.file.dashboardOrigin}/live/${demo.file.merchants[0]!.merchantId}/payments`);
  await page.getByLabel("E-mail").fill(demo.file.member.email);
  await page.getByLabel("Password").fill(demo.file.member.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { name: "A second factor is required" }).waitFor();
  await expectSoundEverywhere(page);
  await page.getByRole("link", { name: "Set up a second factor" }).click();
  await page.getByRole("heading", { name: "Set up a second factor" }).waitFor();
  await expectSoundEverywhere(page);
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("heading", { name: "Your second factor works" }).waitFor();
  await expectSoundEverywhere(page);
  await demo.accountsQuery("UPDATE sign_in SET second_factor = NULL");
  await page.reload();
  await page.getByRole("heading", { name: "Confirm your second factor" }).waitFor();
  expect(await page.getByLabel("Password").count()).toBe(0);
  await expectSoundEverywhere(page);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "Payments", exact: true }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/live\/mer_\w+\/payments$/);
});
