/** An impatient customer: twenty clicks and Enter in each of two tabs that show one session; and where its secrets were seen. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { enterCard } from "../e2e/trouble-runs.ts";
import type { WidgetBed } from "./widget-bed.ts";

/** What came of it. */
export type Impatience = {
  readonly captures: number;
  /** Of each tab, its callbacks with an outcome. */
  readonly callbacks: readonly string[];
  /** Where a secret was found: none of these should be. */
  readonly leaks: readonly string[];
};

const clicks = 20;
const cardNumber = "4242424242424242";

/** Pays once, or finds out that it was more. */
export async function payImpatiently({ shop, browser, sandbox, stateFolder }: WidgetBed): Promise<Impatience> {
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
    const ends = shop.toldOf(session).filter(({ name }) => name === "onSuccess" || name === "onDeclined");
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
  // The field may be locked by now, which is what it should be.
  const frame = tab.frames().find((one) => one.parentFrame() !== null);
  await frame?.locator("#cvc").evaluate((input) => {
    input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  });
}

async function logsOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".log"));
  return (await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")))).join("\n");
}
