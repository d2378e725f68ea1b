/** Typing, pasting and filling in the card frame: the fields' content, and the caret afterwards. */
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { CardFrameFixture, CardFrameStage } from "./card-frame-fixture.ts";

const stage = await forFile(() => CardFrameStage.build());
const fixture = await CardFrameFixture.open(stage, { permissions: ["clipboard-read", "clipboard-write"] });
// A frame of its own for each test, in one page.
beforeEach(() => fixture.mount());

async function paste(text: string): Promise<void> {
  // The focus may be in the frame of the test before, which is gone; only a page that has it may copy.
  await fixture.page.locator("#pay").focus();
  await fixture.page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
  await fixture.field("number").click();
  await fixture.press("Control+A", "Control+V");
}

describe("a card number as it is typed", () => {
  it("is grouped as on the card, and the caret runs ahead of the gaps", async () => {
    await fixture.type("number", "42424");
    expect(await fixture.caretIn("number")).toBe("4242 4|");
  });

  it("keeps the caret at its digit when one is put in or taken out in the middle", async () => {
    await fixture.type("number", "42424242");
    await fixture.press("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft", "Backspace");
    expect(await fixture.caretIn("number")).toBe("424|4 242");
    await fixture.page.keyboard.type("9");
    expect(await fixture.caretIn("number")).toBe("4249| 4242");
  });

  it("deletes the digit before a gap when Backspace meets the gap", async () => {
    await fixture.type("number", "42425678");
    await fixture.press("Home", ...Array(5).fill("ArrowRight"), "Backspace");
    expect(await fixture.caretIn("number")).toBe("424|5 678");
  });

  it("deletes the digit behind a gap when Delete meets the gap", async () => {
    await fixture.type("number", "42425678");
    await fixture.press("Home", ...Array(4).fill("ArrowRight"), "Delete");
    expect(await fixture.caretIn("number")).toBe("4242| 678");
  });

  it("is replaced when all of it is selected", async () => {
    await fixture.type("number", "4242424242424242");
    await fixture.press("Control+A");
    await fixture.page.keyboard.type("37");
    expect(await fixture.caretIn("number")).toBe("37|");
  });

  it.each([
    ["4242", "visa", "Visa", "3 digits on the back of the card"],
    ["5555", "mastercard", "Mastercard", "3 digits on the back of the card"],
    ["3782", "amex", "American Express", "4 digits on the front of the card"],
    ["9", "unknown", "", "3 digits on the back of the card"],
  ])("shows for %s the mark of %s, and announces it to people who do not see it", async (digits, mark, name, place) => {
    await fixture.type("number", digits);
    expect(await fixture.field("mark").getAttribute("href")).toBe(`#${mark}`);
    expect(await fixture.field("brand").textContent()).toBe(name);
    expect(await fixture.field("number").getAttribute("aria-describedby")).toContain("brand");
    expect(await fixture.field("cvc-hint").textContent()).toBe(place);
  });
});

describe("a whole card in one paste", () => {
  it.each(["4242 4242 4242 4242 04/31 123", "4242424242424242, 4/2031, 123", "4242-4242-4242-4242 | 04-31 | 123\n"])(
    "is taken apart: %s",
    async (text) => {
      await paste(text);
      await expect.poll(() => fixture.field("expiry").inputValue()).toBe("04 / 31");
      expect(await fixture.field("number").inputValue()).toBe("4242 4242 4242 4242");
      expect(await fixture.field("cvc").inputValue()).toBe("123");
      expect(await fixture.tokenize()).toMatchObject({ last4: "4242" });
    },
  );

  it("may be a number alone, with whatever stands between its digits", async () => {
    await paste("Card 4242-4242-4242-4242");
    await expect.poll(() => fixture.caretIn("number")).toBe("4242 4242 4242 4242|");
  });
});

describe("an expiry date", () => {
  it.each([
    ["431", "04 / 31"],
    ["1231", "12 / 31"],
    ["4/31", "04 / 31"],
    ["042031", "04 / 31"],
    ["12/2031", "12 / 31"],
    ["1/31", "01 / 31"],
    ["4/2031", "04 / 31"],
    // Nothing is cut off: a day before or behind the month would make another date.
    ["04/30/2031", "04 / 30/2031"],
    ["04302031", "04 / 302031"],
  ])("typed as %s is %s", async (typed, shown) => {
    await fixture.type("expiry", typed);
    expect(await fixture.field("expiry").inputValue()).toBe(shown);
  });

  it("can be taken back with Backspace alone", async () => {
    await fixture.type("expiry", "0431");
    await fixture.press(...Array(6).fill("Backspace"));
    expect(await fixture.field("expiry").inputValue()).toBe("");
  });
});

describe("a browser whose clock is wrong", () => {
  it.each(["2005-01-01T00:00:00Z", "2035-01-01T00:00:00Z"])("of %s: the vault's time decides", async (time) => {
    const wrong = await CardFrameFixture.open(stage);
    await wrong.page.clock.setFixedTime(time);
    await wrong.mount();
    expect(await wrong.document.evaluate(() => Date.now())).toBe(Date.parse(time));
    await wrong.type("number", "4242424242424242");
    await wrong.type("cvc", "123");
    const lastYear = new Date().getUTCFullYear() - 1;
    await wrong.type("expiry", `12${lastYear}`);
    expect(await wrong.tokenize()).toEqual({ code: "invalid_card" });
    expect(await wrong.field("expiry-problem").textContent()).toContain("expired");
    await wrong.press("Control+A");
    await wrong.page.keyboard.type("0431");
    expect(await wrong.tokenize()).toMatchObject({ last4: "4242" });
    await wrong.close();
  });
});

describe("autofill", () => {
  it("as other browsers do it is understood too, with the year in four digits", async () => {
    await fillInAs([
      ["number", "4242424242424242"],
      ["expiry", "04/2031"],
      ["cvc", "123"],
      ["holder", "Ada Lovelace"],
    ]);
    expect(await fixture.field("number").inputValue()).toBe("4242 4242 4242 4242");
    expect(await fixture.field("expiry").inputValue()).toBe("04 / 31");
    expect(await fixture.tokenize()).toMatchObject({ brand: "visa", last4: "4242" });
  });

  it("may begin with the code: a fourth digit goes when the number says that there are three", async () => {
    await fillInAs([
      ["cvc", "1234"],
      ["number", "4242424242424242"],
    ]);
    expect(await fixture.field("cvc").inputValue()).toBe("123");
  });

  it.each([
    ["12/2031", "12 / 31"],
    ["1231", "12 / 31"],
    ["203112", "12 / 31"],
  ])("without an event is understood when the form is sent: %s", async (expiry, shown) => {
    await fillInAs([...unformatted, ["expiry", expiry]], []);
    expect(await fixture.tokenize()).toMatchObject({ brand: "visa", last4: "4242" });
    expect(await fixture.field("number").inputValue()).toBe("4242 4242 4242 4242");
    expect(await fixture.field("expiry").inputValue()).toBe(shown);
    expect(await fixture.field("mark").getAttribute("href")).toBe("#visa");
  });

  it("with a change event alone is formatted, and the page knows that the form is complete", async () => {
    await fillInAs([...unformatted, ["expiry", "2031-04"]], ["change"]);
    expect(await fixture.field("number").inputValue()).toBe("4242 4242 4242 4242");
    expect(await fixture.field("expiry").inputValue()).toBe("04 / 31");
    await expect.poll(() => fixture.state()).toMatchObject({ complete: true, empty: false, brand: "visa" });
  });

  it("without an event is formatted when the customer leaves the field", async () => {
    await fixture.field("expiry").focus();
    await fillInAs([...unformatted, ["expiry", "04/2031"]], []);
    await fixture.press("Tab");
    expect(await fixture.field("expiry").inputValue()).toBe("04 / 31");
    await expect.poll(() => fixture.state()).toMatchObject({ complete: true });
  });

  it.each(["30/04/2031", "04/30/2031", "20310430"])("with a date that is not clear is refused: %s", async (expiry) => {
    await fillInAs([...unformatted, ["expiry", expiry]]);
    expect(await fixture.tokenize()).toEqual({ code: "invalid_card" });
    expect(await fixture.field("expiry").inputValue()).toBe(expiry);
    expect(await fixture.field("expiry-problem").textContent()).toContain("Enter month and year");
  });

  it("leaves the focus where it is", async () => {
    await fixture.field("holder").click();
    await fillInAs([["number", "4242424242424242"]]);
    await fixture.focused("holder");
  });

  it("finds each field by its token, and phones bring up digits", async () => {
    const tokens = { number: "cc-number", expiry: "cc-exp", cvc: "cc-csc", holder: "cc-name" };
    for (const [id, token] of Object.entries(tokens)) {
      expect(await fixture.field(id).getAttribute("autocomplete")).toBe(token);
      expect(await fixture.field(id).getAttribute("inputmode")).toBe(id === "holder" ? null : "numeric");
      // Both break autofill in Safari.
      expect(await fixture.field(id).getAttribute("pattern")).toBeNull();
      if (id !== "holder") expect(await fixture.field(id).getAttribute("maxlength")).toBeNull();
    }
  });
});

/** A card as a manager keeps it. */
const unformatted: Entries = [
  ["number", "4242424242424242"],
  ["cvc", " 123 "],
];

type Entries = readonly (readonly [string, string])[];

/** Writes into fields as browsers' autofill does: the value at once, then the two events. */
function fillInAs(entries: Entries, events: readonly string[] = ["input", "change"]): Promise<void> {
  return fixture.document.evaluate(
    ([fields, types]) => {
      for (const [id, text] of fields!) {
        const input = document.getElementById(id!) as HTMLInputElement;
        input.value = text!;
        for (const type of types as readonly string[]) {
          const event = { inputType: "insertReplacementText", bubbles: true };
          input.dispatchEvent(type === "input" ? new InputEvent(type, event) : new Event(type, { bubbles: true }));
        }
      }
    },
    [entries, events] as const,
  );
}
