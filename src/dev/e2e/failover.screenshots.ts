/** The picture of README.md: `npm run screenshots -- failover` writes a failover, step by step, into screenshots/. */
import { mkdirSync, writeFileSync } from "node:fs";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, it } from "vitest";
import { launchFullBrowser } from "../testing/browser.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

const [width, height] = [1040, 600];
const frameSeconds = 4;

let demo: TestDemo;
let browser: Browser;
beforeAll(async () => {
  [demo, browser] = await Promise.all([startTestDemo({}, { dashboard: true }), launchFullBrowser()]);
}, 300_000);
afterAll(async () => {
  await browser?.close();
  await demo?.close();
});

it("pays with a card that the first gateway declines", { timeout: 300_000 }, async () => {
  const customer = await ShopCustomer.enter(browser, demo.file.shopUrl, 60_000);
  await customer.page.setViewportSize({ width, height });
  const { sessionId } = await customer.goToCheckout();
  await customer.enterCard("4000000000000002");
  const form = await webpOf(customer.page, customer.page.getByRole("button", { name: "Pay €49.00" }));
  await customer.pay();
  await customer.page.getByText("Signature verified").first().waitFor();
  const order = await webpOf(customer.page, customer.page.locator("h1"));
  const page = await signIn();
  await page.goto(`${demo.file.dashboardOrigin}/test/${demo.file.merchants[0]!.merchantId}/payments/${sessionId}`);
  const attempts = page.getByText("Sandbox B").last();
  await attempts.waitFor();
  const payment = await webpOf(page, page.getByRole("heading", { name: "Attempts" }));
  mkdirSync("screenshots", { recursive: true });
  writeFileSync(
    "screenshots/failover.svg",
    film([
      [form, "The customer pays by a card that the first gateway declines."],
      [order, "The second gateway approves, and the shop gets one signed webhook."],
      [payment, "The dashboard shows each attempt, and why the next one followed."],
    ]),
  );
});

async function signIn(): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height }, locale: "en-GB", timezoneId: "UTC" });
  await page.goto(`${demo.file.dashboardOrigin}/account`);
  await page.getByLabel("E-mail").fill(demo.file.member.email);
  await page.getByLabel("Password").fill(demo.file.member.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).filter({ hasNotText: "Sign in" }).waitFor();
  return page;
}

/** A screenshot around a part of a page, as WebP, which Chromium itself writes. */
async function webpOf(page: Page, part: Locator): Promise<string> {
  await part.evaluate((element) => element.scrollIntoView({ block: "center" }));
  const png = (await page.screenshot({ animations: "disabled" })).toString("base64");
  const drawing = await browser.newPage();
  const url = await drawing.evaluate(async (bytes) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${bytes}`)).blob());
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d")!.drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.9);
  }, png);
  await drawing.close();
  return url;
}

/** An SVG that shows one picture after the other, each with a line below; a reader who wants no motion sees the last. */
function film(frames: readonly (readonly [url: string, words: string])[]): string {
  const seconds = frames.length * frameSeconds;
  const share = 100 / frames.length;
  const groups = frames.map(
    ([url, words], at) => `<g class="frame" style="animation-delay:${(at - frames.length) * frameSeconds}s">
<image href="${url}" width="${width}" height="${height}"/>
<text x="${width / 2}" y="${height + 32}">${at + 1}. ${words}</text></g>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height + 52}" font-family="Inter, system-ui, sans-serif">
<style>
text { font-size: 19px; fill: #14181f; text-anchor: middle; }
.frame { animation: show ${seconds}s step-end infinite; opacity: 0; }
@keyframes show { 0% { opacity: 1; } ${share.toFixed(3)}% { opacity: 0; } 100% { opacity: 0; } }
@media (prefers-reduced-motion: reduce) { .frame { animation: none; } .frame:last-child { opacity: 1; } }
</style>
<rect width="${width}" height="${height + 52}" rx="10" fill="#ffffff"/>
${groups.join("\n")}
<rect x="0.5" y="0.5" width="${width - 1}" height="${height + 51}" rx="10" fill="none" stroke="#dde1e8"/>
</svg>
`;
}
