/** The widget's parts fail to load, or load late: it retries, reports it, and offers another attempt. */
import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { texts as english } from "../../../widget/locales/en.ts";
import type { IntegrityList } from "../../../widget/publish.ts";
import { version } from "../../version.ts";
import { forFile } from "../testing/for-file.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

let fixture: WidgetFixture;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
});
afterEach(() => fixture?.close());

const parts: readonly [string, string, string][] = [
  ["the vault's script", "**/sdk.js", english.formUnavailable],
  ["the card frame", "**/frame?*", english.formUnavailable],
  ["the part that speaks with the service", "**/session-api-*", english.unreachable],
];

/** The route stays when it has nothing more to lose: removing it in that moment may leave the next request hanging. */
const lose = (address: string, times = Number.POSITIVE_INFINITY) =>
  fixture.page.route(address, (route) => (times-- > 0 ? route.abort("internetdisconnected") : route.fallback()));
const tryAgain = () => fixture.page.getByRole("button", { name: english.tryAgain });
function requestsOf(part: string): string[] {
  const found: string[] = [];
  fixture.page.on("request", (request) => {
    if (request.url().includes(part)) found.push(request.url().split(part)[1] ?? "");
  });
  return found;
}
function consoleErrors(): string[] {
  const errors: string[] = [];
  fixture.page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
  return errors;
}
/** Puts an import map before the page's scripts, which its policy allows. */
function useImportMap(content: object): void {
  const map = JSON.stringify(content);
  fixture.scriptSources = `'sha256-${createHash("sha256").update(map).digest("base64")}'`;
  fixture.merchantFiles.set("/", fixture.pageWith(`<script type="importmap">${map}</script>${fixture.scripts}`));
}
const hasFocusInFrame = () => fixture.frame.locator("#number").evaluate((input) => input === document.activeElement);

/** Advances the page's time, as fast as possible, until the widget has given up the missing part. */
async function passUntilGivenUp(lost: string, failures = 1): Promise<void> {
  // Parts that do arrive must not be late only because time runs.
  if (!lost.includes("sdk") && !lost.includes("frame"))
    await fixture.frame.locator("html[data-theme]").waitFor({ state: "attached" });
  for (let seconds = 0; seconds < 90 && fixture.callNames.length < failures; seconds += 1) {
    await fixture.page.clock.runFor(1_000);
  }
  expect(fixture.callNames).toEqual(Array(failures).fill("onError"));
}

describe("a part that is lost", () => {
  it.each(parts)("once: %s is loaded by itself, without a report", async (_what, address) => {
    await fixture.page.clock.install();
    await lose(address, 1);
    const failed = fixture.page.waitForEvent("requestfailed");
    await fixture.page.goto(fixture.merchantOrigin);
    await failed;
    await fixture.page.clock.runFor(11_000);
    await fixture.called("onReady");
    expect(fixture.callNames).toEqual(["onReady"]);
    expect(await tryAgain().count()).toBe(0);
  });

  it.each(parts)(
    "permanently: %s is reported, and another attempt brings the form and the keyboard to it",
    async (...given) => {
      const [, address, text] = given;
      await fixture.page.clock.install();
      await lose(address);
      await fixture.page.goto(fixture.merchantOrigin);
      const errors = consoleErrors();
      await passUntilGivenUp(address);
      await fixture.page.getByRole("alert").getByText(text).waitFor();
      // The part that loses is the one that explains.
      if (!address.includes("session-api"))
        await expect.poll(() => errors.join("\n")).toContain("no content blocker stops it");
      await fixture.page.keyboard.press("Tab");
      expect(await tryAgain().evaluate((button) => button.matches(":focus-visible"))).toBe(true);
      await fixture.page.unroute(address);
      await fixture.page.keyboard.press("Enter");
      await fixture.called("onReady");
      await expect.poll(hasFocusInFrame).toBe(true);
      expect(await tryAgain().count()).toBe(0);
      expect(await fixture.page.getByRole("alert").textContent()).toBe("");
    },
  );

  it.each([parts[0]!, parts[1]!])(
    "permanently, and the page submits meanwhile: %s is reported once, and another attempt brings the form",
    async (...given) => {
      const [, address, text] = given;
      await fixture.page.clock.install();
      await lose(address);
      await fixture.page.goto(fixture.merchantOrigin);
      await fixture.page.evaluate("void widget.submit()");
      await passUntilGivenUp(address);
      await fixture.page.getByRole("alert").getByText(text).waitFor();
      await fixture.page.unroute(address);
      await tryAgain().click();
      await fixture.called("onReady");
      expect(fixture.callNames).toEqual(["onError", "onReady"]);
      expect(await fixture.page.getByRole("alert").textContent()).toBe("");
    },
  );

  it("permanently is reported once when Pay is pressed before the service has answered", async () => {
    await fixture.page.clock.install();
    await lose("**/GetCheckout");
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.page.evaluate("void widget.submit()");
    await passUntilGivenUp("GetCheckout");
    await tryAgain().waitFor();
    expect(fixture.callNames).toEqual(["onError"]);
  });

  it("again after another attempt has the keyboard back at the button", async () => {
    await fixture.page.clock.install();
    await lose("**/sdk.js");
    await fixture.page.goto(fixture.merchantOrigin);
    await passUntilGivenUp("sdk");
    await tryAgain().click();
    await passUntilGivenUp("sdk", 2);
    await expect.poll(() => tryAgain().evaluate((button) => button.matches(":focus"))).toBe(true);
  });

  it("is requested at another address, which an engine that remembers the loss does not know", async () => {
    const addresses = requestsOf("session-api-");
    await lose("**/session-api-*", 1);
    await fixture.goToCheckout();
    expect(addresses.map((address) => address.split("?")[1])).toEqual([undefined, "1"]);
  });

  it("is requested at another address beside an import map that does not name it", async () => {
    useImportMap({ imports: { shop: "/shop.js" } });
    const addresses = requestsOf("session-api-");
    await lose("**/session-api-*", 1);
    await fixture.goToCheckout();
    expect(addresses.map((address) => address.split("?")[1])).toEqual([undefined, "1"]);
  });

  // Chromium remembers a loss by the address since version 150: then the customer sees a message, and the page has to
  // be loaded again.
  it("is never requested at another address where the page has pinned it by an import map", async () => {
    const answer = await fetch(`${fixture.service.origin}/widget/v${version}/integrity.json`);
    const { files } = (await answer.json()) as IntegrityList;
    const [part, digest] = Object.entries(files).find(([file]) => file.startsWith("session-api-"))!;
    useImportMap({ integrity: { [`${fixture.service.origin}/widget/v1/${part}`]: digest } });
    await fixture.page.clock.install();
    const addresses = requestsOf("session-api-");
    await lose("**/session-api-*", 1);
    await fixture.page.goto(fixture.merchantOrigin);
    await passUntilGivenUp("session-api-");
    await tryAgain().click();
    await passUntilGivenUp("session-api-", 2);
    expect(addresses.map((address) => address.split("?")[1])).toEqual([undefined]);
    await fixture.page.reload();
    await fixture.called("onReady");
  });
});

describe("a page whose policy blocks", () => {
  it.each([
    ["frame-src", "the card form", () => stage.vaultOrigin],
    ["connect-src", "the payment service", () => fixture.service.origin],
  ])("by %s %s says at once what to add, and the customer what to do", async (directive, what, missing) => {
    fixture.changePolicy = (policy) => policy.replace(new RegExp(`${directive} [^;]*`), "");
    const errors = consoleErrors();
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.page.getByRole("alert").getByText(english.notAccepted).waitFor();
    const message = `This page's Content-Security-Policy blocks ${what}: add ${missing()} to its ${directive}.`;
    expect(fixture.calls).toEqual([["onError", { code: "blocked_by_policy", message }]]);
    await expect.poll(() => errors.join("\n")).toContain(`Switchyard: blocked_by_policy: ${message}`);
    expect(await tryAgain().count()).toBe(0);
  });
});

describe("a part that is silent", () => {
  const silent = async (address: string) => {
    await fixture.page.clock.install();
    const seen = Promise.withResolvers<void>();
    // Never continued: to the browser, the server is silent.
    await fixture.page.route(address, () => seen.resolve());
    await fixture.page.goto(fixture.merchantOrigin, { waitUntil: "commit" });
    await fixture.page.locator("#card > div").waitFor({ state: "attached" });
    await fixture.page.clock.runFor(1_000);
    await seen.promise;
  };

  it.each(parts)("%s is given up after its time, and offered again", async (_what, address, text) => {
    await silent(address);
    await passUntilGivenUp(address);
    await fixture.page.getByRole("alert").getByText(text).waitFor();
    await fixture.page.unroute(address);
    await tryAgain().click();
    await fixture.called("onReady");
  });

  it("and is a translation leaves the form in English", async () => {
    fixture.mountOptions.locale = "de";
    await silent("**/de-*");
    await fixture.called("onReady");
    await fixture.page.clock.runFor(21_000);
    await expect.poll(() => fixture.payButton.textContent()).toContain("Pay ");
  });
});

describe("a line that comes back by itself", () => {
  it("takes the message and the offer away again, and what is there can be paid", async () => {
    await fixture.page.clock.install();
    await lose("**/GetCheckout");
    await fixture.page.goto(fixture.merchantOrigin);
    await passUntilGivenUp("GetCheckout");
    await tryAgain().waitFor();
    await fixture.page.unroute("**/GetCheckout");
    await fixture.page.clock.runFor(31_000);
    await fixture.page.evaluate("document.dispatchEvent(new Event('visibilitychange')), undefined");
    await tryAgain().waitFor({ state: "hidden" });
    await fixture.frame.locator("#number").waitFor();
    expect(await fixture.page.getByRole("alert").textContent()).toBe("");
  });
});
