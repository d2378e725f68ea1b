/** The card frame's display: problems at their fields, languages, colours, and widths. */
import type { BrowserContextOptions, Request } from "playwright-core";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { CardFrameOptions } from "../../../widget/vault-sdk/sdk.ts";
import { forFile } from "../testing/for-file.ts";
import { CardFrameFixture, CardFrameStage } from "./card-frame-fixture.ts";
import { cutOffIn, measureCardFrame, measuredLanguages, measureFloatingLabels } from "./language-measures.ts";

let fixture: CardFrameFixture;

const stage = await forFile(() => CardFrameStage.build());
const shared = await CardFrameFixture.open(stage);
afterEach(async () => {
  if (fixture !== shared) await fixture?.close();
});

/** Mounts a new frame, in a page of its own if that needs other settings: a page costs more than what a test does there. */
async function open(change: Partial<CardFrameOptions> = {}, context?: BrowserContextOptions): Promise<void> {
  fixture = context === undefined ? shared : await CardFrameFixture.open(stage, context);
  await fixture.mount(change);
}

const style = (id: string, name: string) =>
  fixture.field(id).evaluate((element, property) => getComputedStyle(element).getPropertyValue(property), name);

const cutOff = () => cutOffIn(fixture);

describe("a problem in the card frame", () => {
  it("stands at its field, is linked to it, and disappears when it is corrected", async () => {
    await open();
    await fixture.type("number", "4242 4242 4242 4241");
    await fixture.press("Tab");
    const number = fixture.field("number");
    expect(await number.getAttribute("aria-invalid")).toBe("true");
    const described = (await number.getAttribute("aria-describedby"))?.split(" ") ?? [];
    expect(described).toContain("number-problem");
    expect(await fixture.field("number-problem").textContent()).toContain("typing mistake");
    await number.press("End");
    await fixture.press("Backspace");
    await fixture.page.keyboard.type("2");
    expect(await number.getAttribute("aria-invalid")).toBeNull();
    expect(await fixture.field("number-problem").textContent()).toBe("");
  });

  it.each([
    ["number", "424242424242424", "too short"],
    ["expiry", "1320", "cannot be the expiry date"],
    ["expiry", "0120", "has expired"],
    ["expiry", "0190", "cannot be the expiry date"],
    ["expiry", "1", "Enter month and year, such as"],
    ["cvc", "12", "all digits"],
    ["holder", "4242424242424242", "Enter the name here"],
  ])("of the %s typed as %s says %s", async (id, typed, sentence) => {
    await open();
    await fixture.type(id, typed);
    await fixture.field(id === "expiry" ? "cvc" : "expiry").click();
    await expect.poll(() => fixture.field(`${id}-problem`).textContent()).toContain(sentence);
  });

  it("waits until the form is sent where a field was left empty", async () => {
    await open();
    await fixture.field("number").click();
    await fixture.press("Tab", "Tab", "Tab");
    expect(await fixture.document.locator("[aria-invalid]").count()).toBe(0);
    expect(await fixture.tokenize()).toEqual({ code: "invalid_card" });
    expect(await fixture.document.locator("[aria-invalid]").count()).toBe(3);
  });

  it("does not appear when the focus leaves the frame: the pay button must not move under the finger", async () => {
    await open();
    await fixture.type("number", "4242");
    await fixture.page.locator("#pay").focus();
    await expect.poll(() => fixture.document.evaluate(() => document.hasFocus())).toBe(false);
    expect(await fixture.field("number-problem").textContent()).toBe("");
  });

  it("has the keyboard when the pay button finds it, also with the form locked meanwhile", async () => {
    await open();
    await fixture.type("number", "4242424242424242");
    await fixture.page.locator("#pay").click();
    await fixture.page.evaluate("frame.setDisabled(true)");
    expect(await fixture.tokenize()).toEqual({ code: "invalid_card" });
    await fixture.page.evaluate("frame.setDisabled(false)");
    await fixture.focused("expiry");
    await expect.poll(() => fixture.field("expiry").isEditable()).toBe(true);
    await fixture.page.keyboard.type("0431");
    expect(await fixture.field("expiry").inputValue()).toBe("04 / 31");
  });

  it("of a brand that the shop does not accept is shown before the card is sent", async () => {
    await open();
    await fixture.page.evaluate("frame.accept(['mastercard', 'visa', 'brand-of-2030'])");
    await expect.poll(() => fixture.field("accepted").locator("svg").count()).toBe(2);
    await fixture.type("number", "378282246310005");
    await fixture.press("Tab");
    await expect.poll(() => fixture.field("number-problem").textContent()).toContain("not accepted here");
    expect(await fixture.field("number").getAttribute("aria-describedby")).toContain("number-problem");
  });
});

describe("the locked card frame", () => {
  it("accepts no key and keeps the focus", async () => {
    await open();
    await fixture.type("cvc", "1");
    await fixture.page.evaluate("frame.setDisabled(true)");
    await expect.poll(() => fixture.field("cvc").isEditable()).toBe(false);
    await fixture.page.keyboard.type("23");
    expect(await fixture.field("cvc").inputValue()).toBe("1");
    await fixture.focused("cvc");
    expect(await fixture.field("cvc").getAttribute("aria-disabled")).toBe("true");
  });
});

describe("the card frame in the customer's language", () => {
  it("labels every field, names the frame, and shows month and year in its letters", async () => {
    await open({ locale: "de" });
    for (const label of ["Kartennummer", "Gültig bis", "Prüfnummer", "Name auf der Karte (optional)"]) {
      expect(await fixture.document.getByLabel(label).isVisible()).toBe(true);
    }
    expect(await fixture.page.locator("iframe").getAttribute("title")).toBe("Kartendaten");
    expect(await fixture.document.title()).toBe("Kartendaten");
    expect(await fixture.field("expiry").getAttribute("placeholder")).toBe("MM / JJ");
  });

  it.each([
    ["pt-BR", "pt", "Número do cartão"],
    ["nn-NO", "nb", "Kortnummer"],
    ["zh-TW", "zh", "卡号"],
    ["eo", "en", "Card number"],
    ['"><script>alert(1)</script>', "en", "Card number"],
  ])("of the tag %s is %s", async (locale, language, label) => {
    await open({ locale });
    expect(await fixture.document.locator("html").getAttribute("lang")).toBe(language);
    expect(await fixture.document.getByLabel(label, { exact: true }).isVisible()).toBe(true);
  });

  it("is English on a page whose script of the vault is older than the languages", async () => {
    fixture = await CardFrameFixture.open(stage);
    await fixture.page.route("**/frame?*", (route) =>
      route.continue({ url: route.request().url().replace("l=de&", "") }),
    );
    await fixture.mount({ locale: "de" });
    expect(await fixture.document.getByLabel("Card number").isVisible()).toBe(true);
    await fixture.enterCard();
    expect(await fixture.tokenize()).toHaveProperty("token");
  });

  it("runs from right to left in Arabic and Hebrew, with digits from left to right at the right edge", async () => {
    await open({ locale: "ar" });
    expect(await style("number", "direction")).toBe("ltr");
    expect(await style("number", "text-align")).toBe("right");
    expect(await style("holder", "text-align")).toBe("right");
    const leftOf = (selector: string) =>
      fixture.document.locator(selector).evaluate((element) => element.getBoundingClientRect().left);
    expect(await leftOf("#expiry")).toBeGreaterThan(await leftOf("#cvc"));
    await fixture.type("expiry", "1");
    await fixture.press("Tab");
    // The isolate keeps a bidirectional line from reversing the date.
    expect(await fixture.field("expiry-problem").textContent()).toMatch(/\u206604 \/ \d\d\u2069/);
  });
});

describe("the card frame's colours", () => {
  it.each([
    ["light", "dark", "rgb(255, 255, 255)"],
    ["dark", "light", "rgb(20, 25, 36)"],
    ["auto", "dark", "rgb(20, 25, 36)"],
    ["auto", "light", "rgb(255, 255, 255)"],
  ] as const)("of the theme %s on a %s system", async (theme, colorScheme, ground) => {
    await open({ appearance: { theme } }, { colorScheme });
    expect(await style("number", "background-color")).toBe(ground);
  });

  it("leave borders, focus and problems visible where the system forces its own", async () => {
    await open({}, { forcedColors: "active" });
    await fixture.tokenize();
    await fixture.focused("number");
    expect(await style("number", "border-top-width")).toBe("3px");
    expect(await style("number", "outline-style")).toBe("solid");
    expect(Number.parseFloat(await style("expiry", "border-top-width"))).toBe(3);
  });
});

describe("the card frame's variables", () => {
  it.each([
    ["color-text", "#123456", "color", "rgb(18, 52, 86)"],
    ["color-background", "rgb(1 2 3)", "background-color", "rgb(1, 2, 3)"],
    ["color-border", "hsl(0 100% 50%)", "border-top-color", "rgb(255, 0, 0)"],
    ["border-width", "3px", "border-top-width", "3px"],
    ["radius", "0px", "border-top-left-radius", "0px"],
    ["radius", "1.5rem", "border-top-left-radius", "24px"],
    ["font-size", "1.25rem", "font-size", "20px"],
    ["font-family", "Georgia, 'Times New Roman', serif", "font-family", 'Georgia, "Times New Roman", serif'],
  ])("%s: %s gives its field the %s %s", async (name, value, property, used) => {
    await open({ appearance: { variables: { [name]: value } } });
    expect(await style("number", property)).toBe(used);
  });

  it.each([
    ["color-background", "url(https://thief.example/a.png)", "background-color", "rgb(255, 255, 255)"],
    ["color-background", "red; background-image: url(https://thief.example/b.png)", "background-image", "none"],
    ["color-background", "\\75rl(https://thief.example/c.png)", "background-image", "none"],
    ["color-text", "var(--color-danger)", "color", "rgb(26, 31, 43)"],
    ["color-text", "red}input{display:none", "display", "block"],
    ["color-border", "attr(id)", "border-top-color", "rgb(134, 143, 160)"],
    ["font-family", "x; position: fixed", "position", "static"],
    ["font-family", "a</style><script>alert(1)</script>", "display", "block"],
    ["radius", "calc(1px * 99)", "border-top-left-radius", "8px"],
    ["radius", "-1px", "border-top-left-radius", "8px"],
    ["font-size", "900px", "font-size", "16px"],
    ["border-width", "40px", "border-top-width", "1px"],
    ["display", "none", "display", "block"],
    ["__proto__", "none", "display", "block"],
  ])("never lets %s be %s", async (name, value, property, used) => {
    const asked: string[] = [];
    const note = (request: Request) => asked.push(request.url());
    shared.page.on("request", note);
    onTestFinished(() => void shared.page.off("request", note));
    await open({ appearance: { variables: JSON.parse(JSON.stringify({ [name]: value })) } });
    expect(await style("number", property)).toBe(used);
    await fixture.enterCard();
    expect(asked.filter((url) => !url.startsWith(stage.vaultOrigin))).toEqual([]);
  });
});

describe("a floating label", () => {
  const rowOf = (id: string) =>
    fixture.document.evaluate((name) => {
      const boxOf = (selector: string) => document.querySelector(selector)!.getBoundingClientRect();
      const [label, input] = [boxOf(`label[for=${name}]`), boxOf(`#${name}`)];
      return { isInside: label.top >= input.top && label.bottom <= input.bottom, height: label.height };
    }, id);

  it("is inside its field, moves up for the text, and names the field throughout", async () => {
    await open({ appearance: { labels: "floating" } });
    expect(await rowOf("number")).toEqual({ isInside: true, height: 56 });
    await fixture.type("number", "4242");
    await fixture.press("Tab");
    expect(await rowOf("number")).toEqual({ isInside: true, height: 28 });
    expect(await rowOf("cvc")).toEqual({ isInside: true, height: 56 });
    expect(await fixture.document.getByLabel("Card number").inputValue()).toBe("4242");
    await fixture.field("number").fill("");
    await fixture.enterCard();
    expect(await fixture.tokenize()).toHaveProperty("token");
  });

  it.each(measuredLanguages)("holds everything on 320 px in %s, empty and with problems", (locale) =>
    measureFloatingLabels(stage, locale),
  );

  it("holds everything with letters half as large again", () =>
    measureFloatingLabels(stage, "en", { fontSize: "24px", scrolling: ["number"] }));
});

describe("the card frame's motion", () => {
  it("stops if the customer prefers reduced motion", async () => {
    const transition = () =>
      fixture
        .field("accepted")
        .locator("svg")
        .first()
        .evaluate((mark) => getComputedStyle(mark).transitionDuration);
    await open({}, {});
    await fixture.page.evaluate("frame.accept(['visa'])");
    expect(await transition()).not.toBe("0s");
    await fixture.page.emulateMedia({ reducedMotion: "reduce" });
    await expect.poll(transition).toBe("0s");
  });
});

describe("the card frame's size", () => {
  const narrow = { viewport: { width: 320, height: 640 } };

  it.each(measuredLanguages)("holds everything on 320 px in %s, with every problem shown", (locale) =>
    measureCardFrame(stage, locale),
  );

  it("holds everything at 200 % zoom, which is half the width at twice the pixels", async () => {
    await open({}, { viewport: { width: 640, height: 480 }, deviceScaleFactor: 2 });
    await fixture.page.evaluate(() => {
      document.documentElement.style.zoom = "2";
    });
    await fixture.tokenize();
    await expect.poll(cutOff).toEqual([]);
  });

  it.each(["en", "ar"])("holds a whole card number in a column of 195 px, in %s", async (locale) => {
    fixture = shared;
    const setWidth = async (width: string) => {
      await fixture.page.evaluate(`document.getElementById("card").style.width = "${width}"`);
    };
    onTestFinished(() => setWidth(""));
    await setWidth("195px");
    await fixture.mount({ locale });
    await fixture.type("number", "4242424242424242");
    expect(await cutOff()).toEqual([]);
  });

  it("holds everything with letters twice as large", async () => {
    await open({ appearance: { variables: { "font-size": "32px" } } }, narrow);
    await fixture.tokenize();
    await expect.poll(cutOff).toEqual([]);
  });

  it("lines fields up although a neighbour's label needs two lines", async () => {
    await open({ locale: "es" }, narrow);
    const topOf = (id: string) => fixture.field(id).evaluate((input) => input.getBoundingClientRect().top);
    expect(await topOf("expiry")).toBe(await topOf("cvc"));
  });
});
