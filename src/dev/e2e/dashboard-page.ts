/** Pages of the dashboard in a test's browser. */
import type { Page } from "playwright-core";

/** Signs a member in by the form that the page shows, and waits for the heading of the page behind it. */
export async function signIn(page: Page, { email, password }: { email: string; password: string }, heading: string) {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
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
