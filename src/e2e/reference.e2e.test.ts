/** The API reference and the error reference in a real browser, which may ask nobody else for anything. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { appearances } from "../edge/error-mapping.ts";
import { serveReference } from "../edge/reference/serve-reference.ts";
import { launchBrowser } from "../testing/browser.ts";

let server: Server;
let origin: string;
let browser: Browser;

beforeAll(async () => {
  const serve = serveReference();
  server = createServer((request, response) => {
    if (!serve(request, response)) response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
});

/** A page, and what went wrong on it or left for another host. */
async function open(path: string, options: Parameters<Browser["newContext"]>[0] = {}) {
  const context: BrowserContext = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page: Page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(origin + path);
  return { page, asked, complaints };
}

const isElsewhere = (url: string) => !url.startsWith(`${origin}/`) && !url.startsWith("data:");
const operation = (page: Page) =>
  page.getByText("Creates a session for one checkout").filter({ visible: true }).first();
const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

describe("/docs", () => {
  it("shows the operations, and asks no other host for anything", async () => {
    const { page, asked, complaints } = await open("/docs");
    await operation(page).waitFor();
    await page.getByText("/api/v1/payment-sessions/{sessionId}").first().waitFor();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForLoadState("networkidle");
    expect(asked).toContain(`${origin}/openapi.json`);
    expect(asked.filter(isElsewhere)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("has nothing to type a key into, and nothing that sends", async () => {
    const { page } = await open("/docs");
    await operation(page).waitFor();
    expect(await page.locator("input[type=password], button:has-text('Try')").count()).toBe(0);
  });

  it("fits 320 pixels, in the dark", async () => {
    const { page } = await open("/docs", { viewport: { width: 320, height: 640 }, colorScheme: "dark" });
    await operation(page).waitFor();
    expect(await overflow(page)).toBe(0);
    expect(await page.locator("rapi-doc").getAttribute("theme")).toBe("dark");
  });
});

describe("/docs/errors", () => {
  it("has an anchor for every code, and asks no other host for anything", async () => {
    const { page, asked, complaints } = await open("/docs/errors#session_expired");
    const anchors = await page.locator("h3[id]").evaluateAll((headings) => headings.map(({ id }) => id));
    expect(anchors.toSorted()).toEqual(Object.keys(appearances).toSorted());
    expect(await page.locator("h3:target").textContent()).toBe("session_expired");
    expect(asked.filter(isElsewhere)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("fits 320 pixels, in the dark", async () => {
    const { page } = await open("/docs/errors", { viewport: { width: 320, height: 640 }, colorScheme: "dark" });
    expect(await overflow(page)).toBe(0);
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(background).toBe("rgb(22, 25, 29)");
  });
});
