/** What the widget loads does not come, or comes late: it asks again, says so after a while, and gives its customer another try. */
import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { texts as english } from "../../widget/locales/en.ts";
import type { IntegrityList } from "../../widget/publish.ts";
import { version } from "../version.ts";
import { WidgetScene, WidgetStage } from "./widget-scene.ts";

let stage: WidgetStage;
let scene: WidgetScene;

beforeAll(async () => {
  stage = await WidgetStage.build();
});
afterAll(() => stage?.close());
beforeEach(async () => {
  scene = await WidgetScene.open(stage);
});
afterEach(() => scene?.close());

const parts: readonly [string, string, string][] = [
  ["the vault's script", "**/sdk.js", english.formUnavailable],
  ["the card frame", "**/frame?*", english.formUnavailable],
  ["the part that speaks with the service", "**/session-api-*", english.unreachable],
];

/** The route stays when it has nothing more to lose: one that is taken away in that moment may leave the next request hanging. */
const lose = (address: string, times = Number.POSITIVE_INFINITY) =>
  scene.page.route(address, (route) => (times-- > 0 ? route.abort("internetdisconnected") : route.fallback()));
const tryAgain = () => scene.page.getByRole("button", { name: english.tryAgain });
/** The addresses that are asked for the part, in order. */
function asked(part: string): string[] {
  const found: string[] = [];
  scene.page.on("request", (request) => {
    if (request.url().includes(part)) found.push(request.url().split(part)[1] ?? "");
  });
  return found;
}
/** Puts an import map before the page's scripts, which its policy allows. */
function useImportMap(content: object): void {
  const map = JSON.stringify(content);
  scene.scriptSources = `'sha256-${createHash("sha256").update(map).digest("base64")}'`;
  scene.merchantFiles.set("/", scene.pageWith(`<script type="importmap">${map}</script>${scene.scripts}`));
}
const hasFocusInFrame = () => scene.frame.locator("#number").evaluate((input) => input === document.activeElement);

/** Lets the page's time pass, as fast as it goes, until the widget has given up what does not come. */
async function passUntilGivenUp(lost: string, failures = 1): Promise<void> {
  // What does come must not be late only because time runs.
  if (!lost.includes("sdk") && !lost.includes("frame"))
    await scene.frame.locator("html[data-theme]").waitFor({ state: "attached" });
  for (let seconds = 0; seconds < 90 && scene.callNames.length < failures; seconds += 1) {
    await scene.page.clock.runFor(1_000);
  }
  expect(scene.callNames).toEqual(Array(failures).fill("onError"));
}

describe("a part that is lost", () => {
  it.each(parts)("once: %s comes by itself, and nobody is told", async (_what, address) => {
    await scene.page.clock.install();
    await lose(address, 1);
    const failed = scene.page.waitForEvent("requestfailed");
    await scene.page.goto(scene.merchantOrigin);
    await failed;
    await scene.page.clock.runFor(11_000);
    await scene.told("onReady");
    expect(scene.callNames).toEqual(["onReady"]);
    expect(await tryAgain().count()).toBe(0);
  });

  it.each(parts)(
    "for good: %s is missed aloud, and another try brings the form and the keyboard to it",
    async (...given) => {
      const [, address, text] = given;
      await scene.page.clock.install();
      await lose(address);
      await scene.page.goto(scene.merchantOrigin);
      await passUntilGivenUp(address);
      await scene.page.getByRole("alert").getByText(text).waitFor();
      await scene.page.keyboard.press("Tab");
      expect(await tryAgain().evaluate((button) => button.matches(":focus-visible"))).toBe(true);
      await scene.page.unroute(address);
      await scene.page.keyboard.press("Enter");
      await scene.told("onReady");
      await expect.poll(hasFocusInFrame).toBe(true);
      expect(await tryAgain().count()).toBe(0);
      expect(await scene.page.getByRole("alert").textContent()).toBe("");
    },
  );

  it("again after another try has the keyboard back at the button", async () => {
    await scene.page.clock.install();
    await lose("**/sdk.js");
    await scene.page.goto(scene.merchantOrigin);
    await passUntilGivenUp("sdk");
    await tryAgain().click();
    await passUntilGivenUp("sdk", 2);
    await expect.poll(() => tryAgain().evaluate((button) => button.matches(":focus"))).toBe(true);
  });

  it("is asked for at another address, which an engine that remembers the loss does not know", async () => {
    const addresses = asked("session-api-");
    await lose("**/session-api-*", 1);
    await scene.goToCheckout();
    expect(addresses.map((address) => address.split("?")[1])).toEqual([undefined, "1"]);
  });

  it("is asked for at another address beside an import map that does not name it", async () => {
    useImportMap({ imports: { shop: "/shop.js" } });
    const addresses = asked("session-api-");
    await lose("**/session-api-*", 1);
    await scene.goToCheckout();
    expect(addresses.map((address) => address.split("?")[1])).toEqual([undefined, "1"]);
  });

  // Chromium remembers a loss by the address since version 150: then the customer is told, and the page has to be loaded again.
  it("is never asked for at another address where the page has pinned it by an import map", async () => {
    const answer = await fetch(`${scene.service.origin}/widget/v${version}/integrity.json`);
    const { files } = (await answer.json()) as IntegrityList;
    const [part, digest] = Object.entries(files).find(([file]) => file.startsWith("session-api-"))!;
    useImportMap({ integrity: { [`${scene.service.origin}/widget/v1/${part}`]: digest } });
    await scene.page.clock.install();
    const addresses = asked("session-api-");
    await lose("**/session-api-*", 1);
    await scene.page.goto(scene.merchantOrigin);
    await passUntilGivenUp("session-api-");
    await tryAgain().click();
    await passUntilGivenUp("session-api-", 2);
    expect(addresses.map((address) => address.split("?")[1])).toEqual([undefined]);
    await scene.page.reload();
    await scene.told("onReady");
  });
});

describe("a part that is silent", () => {
  const silent = async (address: string) => {
    await scene.page.clock.install();
    const seen = Promise.withResolvers<void>();
    // Never continued: the browser waits as for a server that says nothing.
    await scene.page.route(address, () => seen.resolve());
    await scene.page.goto(scene.merchantOrigin, { waitUntil: "commit" });
    await scene.page.locator("#card > div").waitFor({ state: "attached" });
    await scene.page.clock.runFor(1_000);
    await seen.promise;
  };

  it.each(parts)("%s is given up after its time, and offered anew", async (_what, address, text) => {
    await silent(address);
    await passUntilGivenUp(address);
    await scene.page.getByRole("alert").getByText(text).waitFor();
    await scene.page.unroute(address);
    await tryAgain().click();
    await scene.told("onReady");
  });

  it("and is a translation leaves the form in English", async () => {
    scene.mountOptions.locale = "de";
    await silent("**/de-*");
    await scene.told("onReady");
    await scene.page.clock.runFor(21_000);
    await expect.poll(() => scene.payButton.textContent()).toContain("Pay ");
  });
});

describe("a line that comes back by itself", () => {
  it("takes the message and the offer away again, and what is there can be paid", async () => {
    await scene.page.clock.install();
    await lose("**/GetCheckout");
    await scene.page.goto(scene.merchantOrigin);
    await passUntilGivenUp("GetCheckout");
    await tryAgain().waitFor();
    await scene.page.unroute("**/GetCheckout");
    await scene.page.clock.runFor(31_000);
    await scene.page.evaluate("document.dispatchEvent(new Event('visibilitychange')), undefined");
    await tryAgain().waitFor({ state: "hidden" });
    await scene.frame.locator("#number").waitFor();
    expect(await scene.page.getByRole("alert").textContent()).toBe("");
  });
});
