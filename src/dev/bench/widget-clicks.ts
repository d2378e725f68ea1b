/**
 * An impatient customer: clicks and presses Enter twenty times in each of two tabs with one session; then searches for
 * leaked secrets.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { enterCard } from "../e2e/trouble-runs.ts";
import type { WidgetHarness } from "./widget-harness.ts";

export type Impatience = {
  readonly captures: number;
  /** The callbacks with an outcome, for each tab. */
  readonly callbacks: readonly string[];
  /** Places in which a secret was found; must be empty. */
  readonly leaks: readonly string[];
};

const clicks = 20;
const cardNumber = "4242424242424242";

/** Pays, and checks that it was once. */
export async function payImpatiently({ shop, browser, sandbox, stateFolder }: WidgetHarness): Promise<Impatience> {
  const { session, url } = await shop.sell();
  const context = await browser.newContext();
  const seen: string[] = [];
  context.on("request", (request) => seen.push(request.url(), request.headers().referer ?? ""));
  context.on("console", (message) => seen.push(message.text()));
  try {
    const tabs = await Promise.all([context.newPage(), context.newPage()]);
    await Promise.all(tabs.map((tab) => tab.goto(url)));
    for (const tab of tabs) await enterCard(tab, cardNumber);
    await Promise.all(tabs.map(press));
    await Promise.all(tabs.map((tab) => tab.getByText("Payment complete.").waitFor()));
    for (const tab of tabs) seen.push(await tab.evaluate(storage));
    const { attempts = [] } = await shop.api.read(session.sessionId);
    const records = await Promise.all(attempts.map(({ attemptId = "" }) => sandbox.authorizations(attemptId)));
    const ends = shop.resultsOf(session).filter(({ name }) => name === "onSuccess" || name === "onDeclined");
    const secrets = { "client secret": session.clientSecret, grant: session.vault.sdkAuthorization, card: cardNumber };
    const inLogs = await logsOf(stateFolder);
    return {
      captures: records.flat().filter(({ status }) => status === "captured").length,
      callbacks: ends.map(({ name }) => name),
      leaks: Object.entries(secrets).flatMap(([name, secret]) => [
        ...(seen.some((text) => text.includes(secret)) ? [`${name} in the browser's traces`] : []),
        ...(inLogs.includes(secret) ? [`${name} in a log`] : []),
      ]),
    };
  } finally {
    await context.close();
  }
}

const storage = "JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }])";

async function press(tab: Page): Promise<void> {
  await tab.getByRole("button").evaluate((button: HTMLElement, times: number) => {
    for (let turn = 0; turn < times; turn++) button.click();
  }, clicks);
  // The field may be locked by now, as intended.
  const frame = tab.frames().find((one) => one.parentFrame() !== null);
  await frame?.locator("#cvc").evaluate((input) => {
    input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  });
}

async function logsOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".log"));
  return (await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")))).join("\n");
}
