/** The widget's display around the card frame: merchant, accepted cards, the page's theme, texts. */
import type { BrowserContextOptions } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { emulatorSession } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";
import { measuredLanguages, measureWidget } from "./language-measures.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

let fixture: WidgetFixture;

const stage = await forFile(() => WidgetStage.build());
afterEach(() => fixture?.close());

async function open(options: BrowserContextOptions = {}): Promise<void> {
  fixture = await WidgetFixture.open(stage, options);
}

const themes = async () => [
  await fixture.page.locator("#card > div").getAttribute("data-theme"),
  await fixture.frame.locator("html").getAttribute("data-theme"),
];

/** Sets the page's head, which determines its colours. */
function withHead(head: string): void {
  const { contentType, body } = fixture.pageWith(fixture.scripts);
  fixture.merchantFiles.set("/", { contentType, body: `${body}`.replace("<title>", `${head}<title>`) });
}

describe("the widget's summary", () => {
  it("names the merchant and the amount that the service has, in the customer's language", async () => {
    await open();
    fixture.service.checkout.merchantName = "Café Müller & Söhne";
    fixture.service.checkout.amountMinor = 123456n;
    fixture.mountOptions = { ...fixture.mountOptions, locale: "de" };
    await fixture.goToCheckout();
    const summary = fixture.page.locator("#card .summary");
    await expect.poll(() => summary.textContent()).toMatch(/Café Müller & Söhne1\.234,56\s€/);
    expect(await fixture.payButton.textContent()).toBe("1.234,56\u00a0€ bezahlen");
  });

  it("moves nothing when it appears", async () => {
    await open();
    const topOf = (locator: ReturnType<typeof fixture.page.locator>) =>
      locator.evaluate((element) => element.getBoundingClientRect().top);
    const answers = Promise.withResolvers<void>();
    await fixture.page.route("**/GetCheckout", async (route) => {
      await answers.promise;
      await route.continue();
    });
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.frame.locator("#number").waitFor({ state: "attached" });
    const before = await topOf(fixture.page.locator("#card .pay"));
    answers.resolve();
    await fixture.called("onReady");
    expect(await topOf(fixture.page.locator("#card .pay"))).toBe(before);
  });
});

describe("accepted cards", () => {
  const marks = () =>
    fixture.frame
      .locator("#accepted svg")
      .evaluateAll((found) => found.map((mark) => (mark as unknown as HTMLElement).dataset.brand));

  it("are those of the service", async () => {
    await open();
    fixture.service.checkout.cardBrands = ["jcb", "visa"];
    await fixture.goToCheckout();
    await expect.poll(marks).toEqual(["visa", "jcb"]);
  });

  it("are not shown, and none is refused, if the service does not know", async () => {
    await open();
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.called("onSuccess");
    expect(await marks()).toEqual([]);
  });
});

/** Presses the pay button as a finger does: longer than the card frame takes to notice that it has lost the focus. */
async function pressSlowly(): Promise<void> {
  const { x = 0, y = 0, width = 0, height = 0 } = (await fixture.payButton.boundingBox()) ?? {};
  await fixture.page.mouse.move(x + width / 2, y + height / 4);
  await fixture.page.mouse.down();
  const frame = fixture.frame.locator("html");
  await expect.poll(() => frame.evaluate(() => document.hasFocus())).toBe(false);
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  await frame.evaluate(drawn);
  await fixture.page.evaluate(drawn);
  await fixture.page.mouse.up();
}

describe("the pay button", () => {
  it("gets the click that leaves a field half filled, and the focus goes to the problem", async () => {
    await open();
    await fixture.goToCheckout();
    await fixture.frame.locator("#number").click();
    await fixture.page.keyboard.type("4242");
    await pressSlowly();
    await fixture.called("onError");
    const number = fixture.frame.locator("#number");
    await expect.poll(() => number.evaluate((one) => document.hasFocus() && one === document.activeElement)).toBe(true);
    await fixture.page.keyboard.press("End");
    await fixture.page.keyboard.type("424242424242");
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
    await fixture.goToCheckout();
    await expect.poll(themes).toEqual([theme, theme]);
  });

  it("gives way to the theme that the page asks for", async () => {
    await open({ colorScheme: "light" });
    fixture.mountOptions = { ...fixture.mountOptions, appearance: { theme: "dark" } };
    await fixture.goToCheckout();
    expect(await themes()).toEqual(["dark", "dark"]);
  });
});

describe("a mistake in the appearance", () => {
  const warnings: string[] = [];
  let sessions = 0;
  const openWith = async (appearance: unknown) => {
    warnings.length = 0;
    await open();
    fixture.page.on("console", (message) => message.type() === "warning" && warnings.push(message.text()));
    // One session has ten tokens, and more of these tests pay.
    sessions += 1;
    fixture.mountOptions = { ...(await fixture.sessionOptions(`${emulatorSession}${sessions}`)), appearance };
    await fixture.goToCheckout();
  };

  it("is reported by its name and omitted, and the rest applies", async () => {
    const variables = { colour: "red", radius: 7, "color-primary": "rgb(1, 2, 3)" };
    await openWith({ theme: "pink", colours: {}, variables });
    const background = () => fixture.payButton.evaluate((button) => getComputedStyle(button).backgroundColor);
    await expect.poll(background).toBe("rgb(1, 2, 3)");
    expect(await themes()).toEqual(["light", "light"]);
    const leftOut = (rule: string) => `Switchyard.mount: appearance.${rule}. It is left out.`;
    const wrong = [
      "theme must be auto or light or dark",
      "colours is unknown",
      "variables.colour is unknown",
      "variables.radius must be 0px to 32px, or as many rem",
    ];
    await expect.poll(() => warnings).toEqual(wrong.map(leftOut));
  });

  it.each([
    [{ labels: "inside" }, "labels must be above or floating"],
    [{ summary: false }, "summary must be shown or hidden"],
    [{ constructor: 1 }, "constructor is unknown"],
    [{ variables: { "color-text": "url(//thief.example)" } }, "variables.color-text must be a color, such as #1d4ed8"],
    [{ variables: { "color-text": "bluish" } }, "variables.color-text must be a color, such as #1d4ed8"],
    [{ variables: { "font-size": "8px" } }, "variables.font-size must be 12px to 32px, or as many rem"],
    [{ variables: { spacing: "2em" } }, "variables.spacing must be 4px to 32px, or as many rem"],
    [
      { variables: { "font-family": "url(x)" } },
      "variables.font-family must be names of fonts, such as Georgia, serif",
    ],
    [{ variables: { constructor: "1px" } }, "variables.constructor is unknown"],
  ])("such as %j is reported with its rule, and the form is there", async (appearance, rule) => {
    await openWith(appearance);
    await expect.poll(() => warnings).toEqual([`Switchyard.mount: appearance.${rule}. It is left out.`]);
    const color = await fixture.page.locator("#card .amount").evaluate((one) => getComputedStyle(one).color);
    expect(color).toBe("rgb(26, 31, 43)");
    await fixture.enterCard();
    await fixture.payButton.click();
    await expect.poll(() => fixture.service.submitted.length, { timeout: 20_000 }).toBe(1);
  });

  it("is no mistake where everything is right", async () => {
    const variables = { "color-text": "#222", radius: "0px", spacing: "1.25rem", "font-family": "Georgia, serif" };
    await openWith({ theme: "light", labels: "floating", summary: "hidden", variables });
    await fixture.page.waitForFunction(() =>
      performance.getEntriesByType("resource").some(({ name }) => name.includes("/appearance-")),
    );
    expect(warnings).toEqual([]);
  });

  it("in a page that cannot load the rules costs nothing", async () => {
    await open();
    await fixture.page.route("**/appearance-*", (route) => route.abort());
    fixture.mountOptions = { ...fixture.mountOptions, appearance: { variables: { "color-primary": "rgb(1, 2, 3)" } } };
    await fixture.goToCheckout();
    expect(await fixture.payButton.evaluate((one) => getComputedStyle(one).backgroundColor)).toBe("rgb(1, 2, 3)");
  });

  it.each([null, "dark", { variables: null }])("such as %j leaves the form usable", async (appearance) => {
    await openWith(appearance);
    expect(await themes()).toEqual(["light", "light"]);
  });
});

describe("the look that a page asks for", () => {
  const openLike = async (appearance: object) => {
    await open({ viewport: { width: 390, height: 800 } });
    fixture.mountOptions = { ...fixture.mountOptions, appearance };
  };

  it.each([
    {},
    { labels: "floating" },
    { variables: { spacing: "8px" } },
    { labels: "floating", variables: { spacing: "1.5rem" } },
    { summary: "hidden" },
  ])("%j: nothing moves when the form comes", async (appearance) => {
    await openLike(appearance);
    await fixture.page.addInitScript(() => {
      Object.assign(globalThis, { shifts: [] });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          (globalThis as unknown as { shifts: number[] }).shifts.push((entry as unknown as { value: number }).value);
      }).observe({ type: "layout-shift", buffered: true });
    });
    await fixture.goToCheckout();
    const inner = fixture.frame.locator("body");
    const frameHeight = await fixture.page.locator("iframe").evaluate((one) => one.clientHeight);
    expect(frameHeight).toBe(await inner.evaluate((body) => body.scrollHeight));
    // The name and the amount take the place of their skeletons, which have other widths.
    const shifts = await fixture.page.evaluate<number[]>("shifts");
    expect(shifts.reduce((sum, shift) => sum + shift, 0)).toBeLessThan(0.001);
  });

  it("hides the summary, and the button still has the amount", async () => {
    await openLike({ summary: "hidden" });
    await fixture.goToCheckout();
    expect(await fixture.page.locator("#card .summary").isVisible()).toBe(false);
    await expect.poll(() => fixture.payButton.textContent()).toContain("49.00");
  });

  it("is the page's alone to ask for: its own properties, rem and text style stay outside", async () => {
    await openLike({});
    const { contentType, body } = await fixture.fileOf("/mount.js");
    const own = `const sheet = new CSSStyleSheet();
      sheet.replaceSync(\`
        :root { --radius: 99px; --spacing: 90px; --color-primary: red; --font-size: 40px; font-size: 62.5% }
        body { letter-spacing: 1em; word-spacing: 1em; text-align: right; text-indent: 3em; text-transform: uppercase;
          white-space: nowrap }
      \`);
      document.adoptedStyleSheets = [sheet];`;
    fixture.merchantFiles.set("/mount.js", { contentType, body: own + body });
    await fixture.goToCheckout();
    expect(await styleOf(".pay", sizes)).toEqual(["8px", "16px", "48px", "rgb(29, 78, 216)", "16px"]);
    const textStyle = [
      "letterSpacing",
      "wordSpacing",
      "textAlign",
      "textIndent",
      "textTransform",
      "whiteSpace",
    ] as const;
    expect(await styleOf(".error", textStyle)).toEqual(["normal", "0px", "start", "0px", "none", "normal"]);

    // The card frame's rem is the browser's.
    const variables = { "font-size": "1.125rem", spacing: "1.25rem" };
    const options = JSON.stringify({ ...fixture.mountOptions, container: "#card", appearance: { variables } });
    await fixture.page.evaluate(`widget.unmount();
      Switchyard.mount({ ...${options}, onSuccess() {}, onDeclined() {}, onReady: () => report("large") })`);
    await fixture.called("large");
    expect(await styleOf(".pay", ["fontSize", "marginTop"])).toEqual(["18px", "20px"]);
    expect(await fixture.frame.locator("#number").evaluate((field) => getComputedStyle(field).fontSize)).toBe("18px");
  });
});

const sizes = ["borderTopLeftRadius", "marginTop", "minHeight", "backgroundColor", "fontSize"] as const;
const styleOf = (part: string, names: readonly (keyof CSSStyleDeclaration)[]) =>
  fixture.page.locator(`#card ${part}`).evaluate((one, asked) => {
    const style = getComputedStyle(one);
    return asked.map((name) => style[name]);
  }, names);

const spinner = (property: string) =>
  fixture.page
    .locator("#card .spinner")
    .evaluate((one, name) => getComputedStyle(one).getPropertyValue(name), property);

describe("the loading state", () => {
  it.each([
    ["no-preference", "turn"],
    ["reduce", "fade"],
  ] as const)("with motion preference %s is a spinner that does %s", async (reducedMotion, animation) => {
    await open({ reducedMotion });
    await fixture.goToCheckout();
    expect(await spinner("display")).toBe("none");
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.page.getByRole("status").getByText("Processing").waitFor();
    expect(await spinner("display")).toBe("inline-block");
    expect(await spinner("animation-name")).toBe(animation);
  });
});

describe("forced colours", () => {
  it("leave the pay button its edge, a message its border and its sign, and the spinner its gap", async () => {
    await open({ forcedColors: "active" });
    fixture.service.onSubmit = () => fixture.service.decline("card_declined");
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.called("onDeclined");
    for (const part of [".pay", ".error"]) {
      const style = await fixture.page.locator(`#card ${part}`).evaluate((one) => {
        const { borderTopStyle, borderTopWidth, borderTopColor, backgroundColor } = getComputedStyle(one);
        return { edge: `${borderTopWidth} ${borderTopStyle}`, isSeen: borderTopColor !== backgroundColor };
      });
      expect(style).toEqual({ edge: "1px solid", isSeen: true });
    }
    const isSignSeen = await fixture.page.locator("#card .error").evaluate((one) => {
      const sign = getComputedStyle(one, "::before");
      // Otherwise the browser draws the page's ground behind the letter, which has that colour.
      const hasOwnGround = sign.getPropertyValue("forced-color-adjust") === "none";
      return hasOwnGround && sign.color !== sign.backgroundColor;
    });
    expect(isSignSeen).toBe(true);
    expect(await spinner("border-inline-end-color")).not.toBe(await spinner("border-top-color"));
  });
});

describe("a decline", () => {
  it.each([
    ["incorrect_cvc", "ja", "セキュリティコードが正しくありません"],
    ["limit_exceeded", "fr", "plafond de la carte"],
    ["processing_unavailable", "he", "לא חויבת"],
  ])("%s is shown in %s, by an alert", async (code, locale, words) => {
    await open();
    fixture.mountOptions = { ...fixture.mountOptions, locale };
    fixture.service.onSubmit = () => fixture.service.decline(code);
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.page.getByRole("alert").getByText(words).waitFor();
  });
});

describe("a text of the widget", () => {
  it.each(measuredLanguages)("stays within the form on 320 px in %s", (locale) => measureWidget(stage, locale));
});
