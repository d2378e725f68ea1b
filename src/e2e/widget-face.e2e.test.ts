/** What the widget shows around the card frame: who is paid, which cards, the page's theme, and words for every end. */
import type { BrowserContextOptions } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WidgetScene, WidgetStage } from "./widget-scene.ts";

let stage: WidgetStage;
let scene: WidgetScene;

beforeAll(async () => {
  stage = await WidgetStage.build();
});
afterAll(() => stage?.close());
afterEach(() => scene?.close());

async function open(options: BrowserContextOptions = {}): Promise<void> {
  scene = await WidgetScene.open(stage, options);
}

const themes = async () => [
  await scene.page.locator("#card > div").getAttribute("data-theme"),
  await scene.frame.locator("html").getAttribute("data-theme"),
];

/** The page's head says this of its colours. */
function withHead(head: string): void {
  const { contentType, body } = scene.pageWith(scene.scripts);
  scene.merchantFiles.set("/", { contentType, body: `${body}`.replace("<title>", `${head}<title>`) });
}

describe("the widget's summary", () => {
  it("names the merchant and the amount that the service has, in the customer's language", async () => {
    await open();
    scene.service.checkout.merchantName = "Café Müller & Söhne";
    scene.service.checkout.amountMinor = 123456n;
    scene.mountOptions = { ...scene.mountOptions, locale: "de" };
    await scene.goToCheckout();
    const summary = scene.page.locator("#card .summary");
    await expect.poll(() => summary.textContent()).toMatch(/Café Müller & Söhne1\.234,56\s€/);
    expect(await scene.payButton.textContent()).toBe("1.234,56\u00a0€ bezahlen");
  });

  it("moves nothing when it comes", async () => {
    await open();
    const topOf = (locator: ReturnType<typeof scene.page.locator>) =>
      locator.evaluate((element) => element.getBoundingClientRect().top);
    const answers = Promise.withResolvers<void>();
    await scene.page.route("**/GetCheckout", async (route) => {
      await answers.promise;
      await route.continue();
    });
    await scene.page.goto(scene.merchantOrigin);
    await scene.frame.locator("#number").waitFor({ state: "attached" });
    const before = await topOf(scene.page.locator("#card .pay"));
    answers.resolve();
    await scene.told("onReady");
    expect(await topOf(scene.page.locator("#card .pay"))).toBe(before);
  });
});

describe("accepted cards", () => {
  const marks = () =>
    scene.frame
      .locator("#accepted svg")
      .evaluateAll((found) => found.map((mark) => (mark as unknown as HTMLElement).dataset.brand));

  it("are those of the service", async () => {
    await open();
    scene.service.checkout.cardBrands = ["jcb", "visa"];
    await scene.goToCheckout();
    await expect.poll(marks).toEqual(["visa", "jcb"]);
  });

  it("are not claimed, and none is refused, where the service cannot tell", async () => {
    await open();
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.payButton.click();
    await scene.told("onSuccess");
    expect(await marks()).toEqual([]);
  });
});

/** Presses the pay button as a finger does: longer than the card frame takes to notice that it has lost the focus. */
async function pressSlowly(): Promise<void> {
  const { x = 0, y = 0, width = 0, height = 0 } = (await scene.payButton.boundingBox()) ?? {};
  await scene.page.mouse.move(x + width / 2, y + height / 4);
  await scene.page.mouse.down();
  const frame = scene.frame.locator("html");
  await expect.poll(() => frame.evaluate(() => document.hasFocus())).toBe(false);
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  await frame.evaluate(drawn);
  await scene.page.evaluate(drawn);
  await scene.page.mouse.up();
}

describe("the pay button", () => {
  it("gets the click that leaves a field half filled, and the keyboard goes to the problem", async () => {
    await open();
    await scene.goToCheckout();
    await scene.frame.locator("#number").click();
    await scene.page.keyboard.type("4242");
    await pressSlowly();
    await scene.told("onError");
    const number = scene.frame.locator("#number");
    await expect.poll(() => number.evaluate((one) => document.hasFocus() && one === document.activeElement)).toBe(true);
    await scene.page.keyboard.press("End");
    await scene.page.keyboard.type("424242424242");
    await expect.poll(() => number.inputValue()).toBe("4242 4242 4242 4242");
  });
});

describe("the theme auto", () => {
  it.each([
    ["", "light"],
    ['<meta name="color-scheme" content="light dark">', "auto"],
    ['<meta name="color-scheme" content="dark">', "dark"],
  ])("on a page whose head has %j is %s, on a dark system", async (head, theme) => {
    await open({ colorScheme: "dark" });
    withHead(head);
    await scene.goToCheckout();
    await expect.poll(themes).toEqual([theme, theme]);
  });

  it("gives way to the theme that the page asks for", async () => {
    await open({ colorScheme: "light" });
    scene.mountOptions = { ...scene.mountOptions, appearance: { theme: "dark" } };
    await scene.goToCheckout();
    expect(await themes()).toEqual(["dark", "dark"]);
  });
});

describe("the loading state", () => {
  const spinner = (property: string) =>
    scene.page
      .locator("#card .spinner")
      .evaluate((one, name) => getComputedStyle(one).getPropertyValue(name), property);

  it.each([
    ["no-preference", "turn"],
    ["reduce", "fade"],
  ] as const)("with motion preference %s is a spinner that does %s", async (reducedMotion, animation) => {
    await open({ reducedMotion });
    await scene.goToCheckout();
    expect(await spinner("display")).toBe("none");
    await scene.enterCard();
    await scene.payButton.click();
    await scene.page.getByRole("status").getByText("Processing").waitFor();
    expect(await spinner("display")).toBe("inline-block");
    expect(await spinner("animation-name")).toBe(animation);
  });
});

describe("forced colours", () => {
  it("leave the pay button its edge and a message its border", async () => {
    await open({ forcedColors: "active" });
    scene.service.onSubmit = () => scene.service.decline("card_declined");
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.payButton.click();
    await scene.told("onDeclined");
    for (const part of [".pay", ".error"]) {
      const style = await scene.page.locator(`#card ${part}`).evaluate((one) => {
        const { borderTopStyle, borderTopWidth, borderTopColor, backgroundColor } = getComputedStyle(one);
        return { edge: `${borderTopWidth} ${borderTopStyle}`, isSeen: borderTopColor !== backgroundColor };
      });
      expect(style).toEqual({ edge: "1px solid", isSeen: true });
    }
  });
});

describe("a decline", () => {
  it.each([
    ["incorrect_cvc", "ja", "セキュリティコードが正しくありません"],
    ["limit_exceeded", "fr", "plafond de la carte"],
    ["processing_unavailable", "he", "לא חויבת"],
  ])("%s is told in %s, by an alert", async (code, locale, words) => {
    await open();
    scene.mountOptions = { ...scene.mountOptions, locale };
    scene.service.onSubmit = () => scene.service.decline(code);
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.payButton.click();
    await scene.page.getByRole("alert").getByText(words).waitFor();
  });
});
