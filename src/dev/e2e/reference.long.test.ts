/** The pages of /docs in a real browser, which may send no request to another host. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { appearances } from "../../edge/error-mapping.ts";
import { guides } from "../../edge/reference/guides.ts";
import { serveReference } from "../../edge/reference/serve-reference.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { inEachLook, type Look } from "./each-look.ts";

// Each page in two looks, on a machine that may have much else to do.
const patienceMs = 120_000;

const serve = serveReference();
const server = await forFile(() =>
  createServer((request, response) => {
    if (!serve(request, response)) response.writeHead(404).end();
  }).listen(0, "127.0.0.1"),
);
await once(server, "listening");
const origin: string = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const browser = await forFile(launchBrowser);

afterAll(() => server.closeAllConnections());

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
const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

describe("/docs/api", () => {
  it("shows every operation, and sends no request at all", async () => {
    const { page, requested, complaints } = await open("/docs/api");
    await page.getByText("/api/v1/payment-sessions/{sessionId}").first().waitFor();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForLoadState("networkidle");
    expect(requested.filter(isElsewhere)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("lists its groups in words, in the order of a payment, and the webhooks", async () => {
    const { page } = await open("/docs/api");
    const names = await page.locator("nav#contents a").allTextContents();
    const wanted = [
      ...["Payment sessions", "Create a session", "Read a session", "Capture a payment", "Cancel a payment"],
      ...[
        "List sessions",
        "Refunds",
        "Create a refund",
        "Read a refund",
        "Ledger",
        "List ledger entries",
        "Events",
        "List events",
      ],
      ...["Service", "Webhooks", "Payment captured"],
    ];
    expect(names.filter((name) => wanted.includes(name))).toEqual(wanted);
  });

  it("shows samples in one language at a time, and keeps the choice", async () => {
    const { page } = await open("/docs/api");
    const shown = (text: string) => page.locator(".sample").getByText(text).filter({ visible: true }).count();
    const operations = await page.locator(".sample .languages").count();
    expect(operations).toBeGreaterThanOrEqual(20);
    expect([await shown("$API_ORIGIN/api"), await shown("urllib.request.urlopen")]).toEqual([operations, 0]);
    await page.getByRole("button", { name: "Python" }).first().click();
    expect([await shown("$API_ORIGIN/api"), await shown("urllib.request.urlopen")]).toEqual([0, operations]);
    await page.reload();
    expect(await shown("urllib.request.urlopen")).toBe(operations);
  });

  it("fits 320 pixels in the dark, and stands in three columns on a wide screen", async () => {
    const { page } = await open("/docs/api", { viewport: { width: 320, height: 640 }, colorScheme: "dark" });
    expect(await overflow(page)).toBe(0);
    await page.setViewportSize({ width: 1440, height: 900 });
    const places = ["nav#contents", "h3#createPaymentSession", ".operation .side"].map(async (selector) => {
      return (await page.locator(selector).first().boundingBox())!.x;
    });
    const [list = 0, words = 0, samples = 0] = await Promise.all(places);
    expect([list < words - 150, words < samples - 300]).toEqual([true, true]);
  });

  it("breaks no rule of axe-core, with a form open, light and dark", { timeout: patienceMs }, async () => {
    const { page } = await open("/docs/api");
    await page.getByText("Try it").first().click();
    const looks: Look[] = [
      ["light", 1440],
      ["dark", 390],
    ];
    await inEachLook(page, looks, async (name) => expect(await findViolations(page), name).toEqual([]));
  });
});

describe("the search of /docs", () => {
  it("finds a section by all words, in guides, errors and the reference, and leads to it", async () => {
    const { page, requested, complaints } = await open("/docs");
    const results = page.locator("#results a");
    await page.getByRole("searchbox").fill("capture_already_ordered");
    await page.getByRole("link", { name: "Errors: capture_already_ordered" }).waitFor();
    await page.getByRole("searchbox").fill("create refund");
    await page.getByRole("link", { name: "API reference: Create a refund" }).waitFor();
    await page.getByRole("searchbox").fill("no such words anywhere xyzzy");
    await page.getByText("No results.").waitFor();
    await page.getByRole("searchbox").fill("going live first payment");
    await results.first().click();
    await page.locator("h1", { hasText: "Going live" }).waitFor();
    expect(requested.filter(isElsewhere)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("is reached from every page, by a form that needs no script", async () => {
    const { page } = await open("/docs/integration");
    await page.getByRole("searchbox").fill("webhook signature");
    await page.keyboard.press("Enter");
    await page.locator("#results mark").first().waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("webhook signature");
    expect(await findViolations(page)).toEqual([]);
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
    const [text, list] = [page.locator("main"), page.locator("nav#contents")];
    expect((await list.boundingBox())!.x).toBeLessThan((await text.boundingBox())!.x);
    expect(await page.locator("header .menu").isVisible()).toBe(false);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator("header .menu").click();
    await list.locator("a", { hasText: "Going live" }).click();
    await page.locator("h1", { hasText: "Going live" }).waitFor();
  });

  it("copy a block of code by a button, which says so", async () => {
    const { page, complaints } = await open("/docs/integration", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const block = page.locator("main pre").first();
    await block.focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("The code is copied.").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await block.textContent());
    expect(await findViolations(page)).toEqual([]);
    await page.locator(".code").first().getByRole("button", { name: "Copy" }).waitFor();
    const blocks = await page.locator("main pre").count();
    expect(await page.getByRole("button", { name: "Copy" }).count()).toBe(blocks);
    expect(complaints).toEqual([]);
  });

  it("select the code where the browser refuses its clipboard", async () => {
    const { page } = await open("/docs/integration");
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
    });
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("status").getByText("The code is selected.").waitFor();
    const selected = await page.evaluate(() => String(getSelection()));
    expect(selected.trim()).toBe((await page.locator("main pre").first().textContent())?.trim());
  });

  it("show their pictures", async () => {
    const { page } = await open("/docs/appearance");
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
    for (const path of ["/docs", "/docs/integration", "/docs/widget-reference", "/docs/dashboard"]) {
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
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    expect(background).toBe("rgb(23, 27, 34)");
  });
});
