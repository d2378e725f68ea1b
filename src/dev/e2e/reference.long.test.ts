/** The pages of /docs in a real browser, which may send no request to another host. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { appearances } from "../../edge/error-mapping.ts";
import { guides } from "../../edge/reference/guides.ts";
import { serveReference } from "../../edge/reference/serve-reference.ts";
import { launchBrowser } from "../testing/browser.ts";
import { findViolations, inEachLook, type Look } from "./accessibility.ts";

let server: Server;
let origin: string;
let browser: Browser;
// Each page in two looks, on a machine that may have much else to do.
const patienceMs = 60_000;

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

/** Opens a page, and records its errors and its requests to other hosts. */
async function open(path: string, options: Parameters<Browser["newContext"]>[0] = {}) {
  const context: BrowserContext = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page: Page = await context.newPage();
  const requested: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(origin + path);
  return { page, requested, complaints };
}

const isElsewhere = (url: string) => !url.startsWith(`${origin}/`) && !url.startsWith("data:");
const operation = (page: Page) =>
  page.getByText("Creates a session for one checkout").filter({ visible: true }).first();
const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

describe("/docs/api", () => {
  it("shows the operations, and sends no request to another host", async () => {
    const { page, requested, complaints } = await open("/docs/api");
    await operation(page).waitFor();
    await page.getByText("/api/v1/payment-sessions/{sessionId}").first().waitFor();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForLoadState("networkidle");
    expect(requested).toContain(`${origin}/openapi.json`);
    expect(requested.filter(isElsewhere)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("lists its groups in words, creating before listing, and the webhooks", async () => {
    const { page } = await open("/docs/api");
    await operation(page).waitFor();
    const entries = page.locator("rapi-doc").locator(".nav-bar-tag, .nav-bar-path");
    const names = (await entries.allTextContents()).map((name) => name.replaceAll(/\s+/g, " ").trim());
    const at = (name: string) => names.findIndex((each) => each.includes(name));
    const wanted = [
      "Payment sessions",
      "Creates a session",
      "Lists sessions",
      "Service",
      "Webhooks",
      "Payment captured",
    ];
    expect(wanted.map(at)).toEqual(wanted.map(at).toSorted((one, other) => one - other));
    expect(wanted.filter((name) => at(name) < 0)).toEqual([]);
  });

  it("fits 320 pixels, in the dark", async () => {
    const { page } = await open("/docs/api", { viewport: { width: 320, height: 640 }, colorScheme: "dark" });
    await operation(page).waitFor();
    expect(await overflow(page)).toBe(0);
    expect(await page.locator("rapi-doc").getAttribute("theme")).toBe("dark");
  });
});

describe("the guides", () => {
  it("fit 390 pixels, and need nothing that their policy refuses, light and dark", {
    timeout: patienceMs,
  }, async () => {
    const { page, requested, complaints } = await open("/docs");
    const narrow: Look[] = [
      ["light", 390],
      ["dark", 390],
    ];
    const wide: string[] = [];
    for (const { path } of guides) {
      await page.goto(origin + path);
      await inEachLook(page, narrow, async (name) => void ((await overflow(page)) > 0 && wide.push(name)));
    }
    expect(wide).toEqual([]);
    expect(requested.filter(isElsewhere)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("keep the list of guides beside the text on a wide screen, and behind a link on a narrow one", async () => {
    const { page } = await open("/docs/integration", { viewport: { width: 1440, height: 900 } });
    const [text, list] = [page.locator("main"), page.locator("nav#guides")];
    expect((await list.boundingBox())!.x).toBeLessThan((await text.boundingBox())!.x);
    expect(await page.locator("header .menu").isVisible()).toBe(false);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator("header .menu").click();
    await list.locator("a", { hasText: "Going live" }).click();
    await page.locator("h1", { hasText: "Going live" }).waitFor();
  });

  it("show their pictures", async () => {
    const { page } = await open("/docs/dashboard");
    const pictures = page.locator("main img");
    const count = await pictures.count();
    expect(count).toBeGreaterThan(6);
    for (let at = 0; at < count; at++) {
      await pictures.nth(at).scrollIntoViewIfNeeded();
      await expect
        .poll(() => pictures.nth(at).evaluate((image: HTMLImageElement) => image.naturalWidth))
        .toBeGreaterThan(0);
    }
  });

  it("break no rule of axe-core, light and dark", { timeout: patienceMs }, async () => {
    const { page } = await open("/docs");
    const looks: Look[] = [
      ["light", 1280],
      ["dark", 1280],
    ];
    for (const path of ["/docs", "/docs/integration", "/docs/dashboard"]) {
      await page.goto(origin + path);
      await inEachLook(page, looks, async (name) => expect(await findViolations(page), name).toEqual([]));
    }
  });
});

describe("/docs/errors", () => {
  it("has an anchor for every code, and sends no request to another host", async () => {
    const { page, requested, complaints } = await open("/docs/errors#session_expired");
    const anchors = await page.locator("h3[id]").evaluateAll((headings) => headings.map(({ id }) => id));
    expect(anchors.toSorted()).toEqual(Object.keys(appearances).toSorted());
    expect(await page.locator("h3:target").textContent()).toBe("session_expired");
    expect(requested.filter(isElsewhere)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("fits 320 pixels, in the dark", async () => {
    const { page } = await open("/docs/errors", { viewport: { width: 320, height: 640 }, colorScheme: "dark" });
    expect(await overflow(page)).toBe(0);
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(background).toBe("rgb(22, 25, 29)");
  });
});
