/** The card frame in a real browser, on a merchant's page of another site. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { FrameLocator, Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CardFrameOptions } from "../../../widget/vault-sdk/sdk.ts";
import { startVaultFixture, testCard } from "../../vault/vault.fixture.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { longOnly } from "../testing/long-only.ts";

let page: Page;
/** Everything that could leak: requested addresses, their referrers, console lines. */
let seen: string[];

const fixture = await forFile(startVaultFixture);
// Another site than the shop's, not only another port.
const vaultOrigin = fixture.vault.origins.public.replace("127.0.0.1", "localhost");
const shop = await forFile(() =>
  createServer((_, response) => {
    response.setHeader(
      "content-security-policy",
      `default-src 'none'; script-src ${vaultOrigin}; frame-src ${vaultOrigin}`,
    );
    response.setHeader("content-type", "text/html");
    response.end(
      `<!doctype html><title>Shop</title><div id="card"></div><script src="${vaultOrigin}/sdk.js"></script>`,
    );
  }),
);
await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
const shopOrigin: string = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
const browser = await forFile(launchBrowser);
beforeEach(async () => {
  seen = [];
  page = await browser.newPage();
  page.on("request", (request) => seen.push(request.url(), request.headers().referer ?? ""));
  page.on("console", (message) => seen.push(message.text()));
  await page.goto(shopOrigin);
});
afterEach(() => page.close());

/** Mounts the frame on the open page; `page.evaluate` reaches it as `frame`. */
async function mount(
  origins: readonly string[] = [shopOrigin],
  change: Partial<CardFrameOptions> = {},
): Promise<FrameLocator> {
  const options = {
    ...change,
    sdkUrl: `${vaultOrigin}/sdk.js`,
    framePolicy: await fixture.policy(origins),
  };
  await page.evaluate((given) => {
    const states: unknown[] = [];
    const container = document.querySelector<HTMLElement>("#card")!;
    const frame = globalThis.SwitchyardVault!.mountCardFrame({
      ...given,
      container,
      onChange: (state) => states.push(state),
      onSubmitRequest: () => states.push("submit"),
    });
    Object.assign(globalThis, { frame, states });
  }, options);
  return page.frameLocator("iframe");
}

const ready = () => page.evaluate("frame.ready");
const tokenize = (grant: string) =>
  page.evaluate(`frame.tokenize(${JSON.stringify(grant)}).catch(({ code }) => ({ code }))`) as Promise<
    Record<string, string>
  >;

async function enterCard(frame: FrameLocator): Promise<void> {
  await frame.getByLabel("Card number").click();
  // Tab order and formatting are the browser's own.
  await page.keyboard.type(testCard.number);
  await page.keyboard.press("Tab");
  await page.keyboard.type("431");
  await page.keyboard.press("Tab");
  await page.keyboard.type(testCard.cvc);
  await page.keyboard.press("Tab");
  await page.keyboard.type(testCard.holder);
}

describe("the card frame", () => {
  it("turns a typed card into a token, and leaves the number nowhere else", async () => {
    const frame = await mount();
    await ready();
    await enterCard(frame);
    const grant = await fixture.grant("ps_browser");
    const answer = await tokenize(grant);
    expect(answer).toEqual({ token: expect.stringMatching(/^tok_/), brand: "visa", last4: "4242" });
    const { rows } = await fixture.database.pool.query("SELECT 1 FROM card WHERE session_id = 'ps_browser'");
    expect(rows).toHaveLength(1);
    const stored = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, states])",
    );
    const trace = `${seen.join("\n")}\n${stored}`;
    expect(trace.replaceAll(/\D/g, "")).not.toContain(testCard.number);
    expect(trace).not.toContain(grant);
    expect(trace).toContain('"complete":true,"empty":false,"brand":"visa"');
  });

  it("shows the problem at the field, moves the focus there, and sends no request", async () => {
    const frame = await mount();
    await ready();
    await frame.getByLabel("Card number").fill("4242 4242 4242 4241");
    expect(await tokenize(await fixture.grant("ps_wrong"))).toEqual({ code: "invalid_card" });
    const number = frame.getByLabel("Card number");
    expect(await number.getAttribute("aria-invalid")).toBe("true");
    expect(await frame.locator("#number-problem").textContent()).toContain("typing mistake");
    await expect.poll(() => number.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
    expect(seen.filter((address) => address.endsWith("/tokens"))).toEqual([]);
    await number.fill(testCard.number);
    expect(await number.getAttribute("aria-invalid")).toBeNull();
  });

  it("shows the vault's own refusal at the field", async () => {
    const frame = await mount();
    await ready();
    await enterCard(frame);
    await frame.getByLabel("Card number").fill("5555555555554444");
    expect(await tokenize(await fixture.grant("ps_real"))).toEqual({ code: "test_card_required" });
    expect(await frame.locator("#number-problem").textContent()).toContain("test cards");
  });

  longOnly(() => {
    it("uses the page's language and colours, but no address in a colour", async () => {
      const frame = await mount([shopOrigin], {
        locale: "de-AT",
        appearance: { theme: "dark", variables: { colorPrimary: "#0a0", colorText: "url(https://evil.example)" } },
      });
      await ready();
      expect(await frame.getByLabel("Kartennummer").count()).toBe(1);
      const style = await frame.locator("html").getAttribute("style");
      expect(style).toContain("--color-primary: #0a0");
      expect(style).not.toContain("evil");
    });
  });

  it("reports Enter to the page, and accepts no input while disabled", async () => {
    const frame = await mount();
    await ready();
    await frame.getByLabel("Security code").press("Enter");
    await page.waitForFunction("states.includes('submit')");
    await page.evaluate("frame.setDisabled(true)");
    await expect.poll(() => frame.getByLabel("Card number").isEditable()).toBe(false);
  });

  longOnly(() => {
    it("has its height from the start, and grows with its messages", async () => {
      const frame = await mount();
      const heightOf = () => page.locator("iframe").evaluate((iframe) => iframe.getBoundingClientRect().height);
      const first = await heightOf();
      await ready();
      expect(await frame.locator("body").evaluate((body) => body.scrollHeight)).toBe(first);
      await tokenize(await fixture.grant("ps_tall"));
      await expect.poll(heightOf).toBeGreaterThan(first);
    });

    it("starts again when the page moves it, and keeps its settings", async () => {
      const frame = await mount();
      await ready();
      await page.evaluate("frame.setDisabled(true)");
      await expect.poll(() => frame.getByLabel("Card number").isEditable()).toBe(false);
      await page.evaluate("document.body.append(document.querySelector('#card'))");
      await frame.getByLabel("Card number").waitFor();
      await expect.poll(() => frame.getByLabel("Card number").isEditable()).toBe(false);
      await page.evaluate("frame.setDisabled(false)");
      await expect.poll(() => frame.getByLabel("Card number").isEditable()).toBe(true);
      await enterCard(frame);
      expect(await tokenize(await fixture.grant("ps_moved"))).toMatchObject({ last4: "4242" });
    });

    it("loses the card under way when the page moves it, and reports it", async () => {
      const frame = await mount();
      await ready();
      await enterCard(frame);
      const requested = page.waitForRequest("**/tokens");
      await page.route("**/tokens", () => undefined);
      const answer = tokenize(await fixture.grant("ps_lost"));
      await requested;
      const movedAt = performance.now();
      await page.evaluate("document.body.append(document.querySelector('#card'))");
      expect(await answer).toEqual({ code: "vault_unavailable" });
      // One that only fell silent would be waited for until 25 s have passed.
      expect(performance.now() - movedAt).toBeLessThan(20_000);
    });

    it("answers a tokenize after destroy, and one that the frame never answers", async () => {
      await page.clock.install();
      const frame = await mount();
      await ready();
      await enterCard(frame);
      const grant = await fixture.grant("ps_gone");
      await page.evaluate("document.querySelector('iframe').remove()");
      const silent = tokenize(grant);
      await page.clock.runFor(26_000);
      expect(await silent).toEqual({ code: "vault_unavailable" });
      await page.evaluate("frame.destroy()");
      expect(await tokenize(grant)).toEqual({ code: "destroyed" });
    });
  });

  it("does not appear on a page that its policy does not name", async () => {
    const blocked = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
    const frame = await mount(["https://shop.example"]);
    await blocked;
    expect(await frame.getByLabel("Card number").count()).toBe(0);
  });

  it("accepts no port from such a page, even where a browser ignores the header", async () => {
    await page.route("**/frame?*", async (route) => {
      const response = await route.fetch();
      const { "content-security-policy": _, ...headers } = response.headers();
      await route.fulfill({ response, headers });
    });
    const frame = await mount(["https://shop.example"]);
    await frame.getByLabel("Card number").waitFor();
    expect(await themeAfterGreeting(frame, "light")).toBe("undressed");
  });

  it("listens to one port only: a second greeting changes nothing", async () => {
    const frame = await mount([shopOrigin], { appearance: { theme: "light" } });
    await ready();
    expect(await themeAfterGreeting(frame, "dark")).toBe("light");
  });
});

/** Greets the frame from the page, and returns the frame's theme after it has received that. */
async function themeAfterGreeting(frame: FrameLocator, theme: string): Promise<unknown> {
  // The frame's own listener was there first, so it has decided when this one hears the greeting.
  const worn = frame
    .locator("html")
    .evaluate(
      (root) => new Promise((resolve) => addEventListener("message", () => resolve(root.dataset.theme ?? "undressed"))),
    );
  await page.evaluate(
    ([origin = "", wanted]) => {
      const greeting = { type: "switchyard-card-frame", locale: "en", theme: wanted, variables: {} };
      const { contentWindow } = document.querySelector("iframe")!;
      setInterval(() => contentWindow!.postMessage(greeting, origin, [new MessageChannel().port2]), 20);
    },
    [vaultOrigin, theme],
  );
  return worn;
}
