/** The dashboard of an installation that sends no mail; the demo that other files share sends it. */
import { expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { recordNoise } from "./dashboard-page.ts";
import { startTestDemo } from "./demo.fixture.ts";

const [demo, browser] = await Promise.all([
  forFile(() => startTestDemo({}, { dashboard: true })),
  forFile(launchBrowser),
]);

it("shows an invitation's link once to the owner, and the link lets the invited person in", async () => {
  const { dashboardOrigin, member, merchants } = demo.file;
  const noise: string[] = [];
  const page = await browser.newPage();
  recordNoise(page, noise, /401/);
  await page.goto(`${dashboardOrigin}/test/${merchants[0]!.merchantId}/team`);
  await page.getByLabel("E-mail").fill(member.email);
  await page.getByLabel("Password").fill(member.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Team" }).waitFor();
  await page.getByLabel("E-mail").fill("grace@example.com");
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  const line = page.locator(".field").filter({ hasText: "Invitation link for grace@example.com" });
  const link = await line.locator("code").textContent();
  await page.reload();
  await page.getByText("grace@example.com").first().waitFor();
  expect(await page.content()).not.toContain(link!);
  const guest = await browser.newPage();
  recordNoise(guest, noise, /401/);
  await guest.goto(link!);
  await guest.getByLabel("Your name").fill("Grace");
  await guest.getByLabel("Choose a password").fill("seven words that belong together");
  await guest.getByRole("button", { name: "Join" }).click();
  await guest.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  expect(noise).toEqual([]);
});
