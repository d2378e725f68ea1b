/** The engines that the long tests use, and the customer's actions in the widget in each of them, by script. */
import { devices } from "playwright-core";
import { expect } from "vitest";
import { launchFullBrowser } from "../testing/browser.ts";
import type { EnginePage, StartEngine } from "./engine.ts";
import { startFirefox } from "./firefox-engine.ts";
import { startWebKit } from "./webkit-engine.ts";

/** Chromium with a phone's screen, touch and user agent. */
async function startPhone(): Promise<EnginePage> {
  const browser = await launchFullBrowser();
  const page = await browser.newPage({ ...devices["Pixel 7"] });
  return {
    open: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    run: (expression) => page.evaluate(expression),
    runInFrame: (expression) => page.frames()[1]!.evaluate(expression),
    runInLastFrame: (expression) => page.frames().at(-1)!.evaluate(expression),
    close: () => browser.close(),
  };
}

export const engines: readonly [string, StartEngine][] = [
  ["Firefox", startFirefox],
  ["WebKit", startWebKit],
  ["Chromium on a phone", startPhone],
];
// A busy machine starts a browser slowly, and a service too.
export const polling = { timeout: 60_000, interval: 250 };

export const confirmAtBank = `((code) => {
  if (!code || code.value) return;
  code.value = "123456";
  code.form.querySelector("button").click();
})(document.querySelector("input[name=code]"))`;

export const form = 'document.querySelector("#card > div").shadowRoot';

const sheet = `[...document.body.children].map((host) => host.shadowRoot?.querySelector("dialog")).find(Boolean)`;

/** The button of an emulator's open sheet. Apple's can be pressed once the merchant's session is there. */
export const payInSheet = `[...document.body.children]
  .map((host) => host.shadowRoot?.querySelector("dialog button.pay:not(:disabled)")).find(Boolean)`;

/** Opens the sheet of a wallet's emulator, and resolves once it can be confirmed. */
export async function openSheet(page: EnginePage, title: string): Promise<void> {
  const button = `[...${form}.querySelectorAll("button")]
    .find((one) => (one.getAttribute("aria-label") ?? one.textContent).includes("${title}"))`;
  await expect
    .poll(() => page.run(`Boolean(${button} && ${form}.querySelector(".pay[aria-busy=false]"))`), polling)
    .toBe(true);
  // The emulator opens its sheet inside a person's press only, as Safari does.
  await page.run('void Object.defineProperty(navigator, "userActivation", { value: undefined, configurable: true })');
  await page.run(`void ${button}.click()`);
  await expect.poll(() => page.run(`Boolean(${payInSheet})`), polling).toBe(true);
}

export async function payWithCard(page: EnginePage, number: string): Promise<void> {
  await page.run(`void ${sheet}.querySelector("input[value='${number}']").click()`);
  await page.run(`void ${payInSheet}.click()`);
}
