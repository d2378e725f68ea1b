/** A customer's stored cards in the widget, in a real browser, with a CheckoutService that the test decides. */
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { english as texts } from "../../../widget/cards-texts.ts";
import { refusalOf } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";
import { type Look, openInState, type WidgetState } from "./widget-states.ts";

const [cardsText, anotherText, moreText, saveText, unavailableText, setUpText, , isSetUpText] = texts;
const agreementText = "Roundhouse charges this card €12.00 for every bag of coffee that it sends, until you cancel.";

let fixture: WidgetFixture;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage, { viewport: { width: 390, height: 844 } });
  fixture.service.onSubmit = () => fixture.service.succeed();
});
afterEach(() => fixture?.close());

const open = async (count: number, saving?: { agreementText?: string; isSetUp?: boolean }) => {
  fixture.service.store(count, saving);
  fixture.offerStoredCards();
  await fixture.goToCheckout();
};
const payButton = () => fixture.page.getByRole("button", { name: "Pay" });
const cards = () => fixture.page.getByRole("radio");
const box = () => fixture.page.getByRole("checkbox");
const code = () => fixture.frame.getByLabel("Security code");
const focused = () =>
  fixture.page.evaluate(() => {
    const inside = document.activeElement?.shadowRoot?.activeElement;
    return inside?.tagName === "IFRAME" ? "frame" : (inside?.closest("label, button")?.textContent ?? "nothing");
  });

describe("a session without a customer", () => {
  it("loads nothing of stored cards", async () => {
    const addresses: string[] = [];
    fixture.page.on("request", (request) => addresses.push(request.url()));
    await fixture.goToCheckout();
    expect(addresses.filter((address) => /\/cards-/i.test(address))).toEqual([]);
    expect(await cards().count()).toBe(0);
  });
});

describe("storing a card", () => {
  it.each([
    [false, undefined],
    [true, { template: "save_card_1", locale: "en" }],
  ])("happens only if the customer ticks the box, which is empty at first: %s", async (isWanted, consent) => {
    await open(0, {});
    expect(await box().isChecked()).toBe(false);
    if (isWanted) await fixture.page.getByText(saveText).click();
    await fixture.enterCard();
    await payButton().click();
    await fixture.called("onSuccess");
    expect(fixture.service.consents).toEqual([consent]);
  });

  it("is agreed to by paying, with the agreement's text above the button", async () => {
    await open(0, { agreementText });
    expect(await box().count()).toBe(0);
    const text = await fixture.page.getByText(agreementText).boundingBox();
    const button = await payButton().boundingBox();
    expect(text!.y + text!.height).toBeLessThanOrEqual(button!.y);
    await fixture.enterCard();
    await payButton().click();
    await fixture.called("onSuccess");
    expect(fixture.service.consents).toEqual([{ template: "agreement", locale: "en" }]);
  });

  it("is not offered where the session stores none, nor beside a stored card", async () => {
    await open(1);
    await cards().last().check();
    expect(await box().count()).toBe(0);
    await fixture.close();
    fixture = await WidgetFixture.open(stage);
    await open(1, {});
    expect(await box().count()).toBe(0);
    await cards().last().check();
    expect(await box().count()).toBe(1);
  });
});

describe("a set-up", () => {
  it.each([
    [undefined, { template: "set_up_1", locale: "en" }],
    [agreementText, { template: "agreement", locale: "en" }],
  ])("has a button that saves the card, and shows no amount: agreement %s", async (text, consent) => {
    fixture.service.checkout.amountMinor = 0n;
    await open(0, { isSetUp: true, ...(text && { agreementText: text }) });
    const button = fixture.page.getByRole("button", { name: setUpText, exact: true });
    await button.waitFor();
    const shown = () =>
      fixture.page.locator("#card").evaluate((place) => place.firstElementChild!.shadowRoot!.textContent);
    expect(await shown()).not.toContain("0.00");
    expect(await box().count()).toBe(0);
    await fixture.enterCard();
    await button.click();
    await fixture.called("onSuccess");
    expect(fixture.service.consents).toEqual([consent]);
    expect(await shown()).toContain(isSetUpText);
  });
});

describe("the list", () => {
  it("is a group of radio buttons, the last used card chosen and another card last, which the arrow keys reach", async () => {
    await open(2, {});
    await fixture.page.getByRole("group", { name: cardsText }).waitFor();
    expect(await cards().count()).toBe(3);
    const names = [/^Visa 4242 ?01\/31$/, /^Mastercard 4243 ?02\/31$/, anotherText];
    for (const [index, name] of names.entries()) {
      expect(
        await fixture.page.getByRole("radio").nth(index).and(fixture.page.getByRole("radio", { name })).count(),
      ).toBe(1);
    }
    expect(await cards().first().isChecked()).toBe(true);
    await fixture.page.keyboard.press("Tab");
    expect(await focused()).toContain("4242");
    await fixture.page.keyboard.press("Tab");
    await expect.poll(focused).toBe("frame");
    await fixture.page.keyboard.press("Shift+Tab");
    await fixture.page.keyboard.press("ArrowUp");
    expect(await cards().last().isChecked()).toBe(true);
    await fixture.frame.getByLabel("Card number").waitFor();
    await box().waitFor();
  });

  it("asks for the code alone, of the length that the card's network has, and shows its problem", async () => {
    await open(3, {});
    expect(await fixture.frame.getByRole("textbox").count()).toBe(1);
    await payButton().click();
    await fixture.called("onError");
    expect(fixture.calls.at(-1)).toEqual(["onError", expect.objectContaining({ code: "invalid_card" })]);
    await fixture.frame.getByText("Enter all digits of the security code.").waitFor();
    await expect
      .poll(() => code().evaluate((input) => document.hasFocus() && input === document.activeElement))
      .toBe(true);
    await fixture.page.keyboard.type("12345");
    expect(await code().inputValue()).toBe("123");
    await cards().nth(2).check();
    expect(await code().inputValue()).toBe("");
    await code().fill("12345");
    expect(await code().inputValue()).toBe("1234");
    expect(fixture.service.submitted).toEqual([]);
  });

  it("drops a card that cannot be used, says so, and pays with another", async () => {
    await open(1, {});
    await code().fill("123");
    await payButton().click();
    await fixture.called("onError");
    expect(fixture.calls.at(-1)).toEqual(["onError", expect.objectContaining({ code: "stored_card_unavailable" })]);
    await fixture.page.getByRole("alert").getByText(unavailableText).waitFor();
    expect(await cards().count()).toBe(0);
    await fixture.enterCard();
    await payButton().click();
    await fixture.called("onSuccess");
    expect(fixture.service.submitted).toEqual([expect.stringMatching(/^tok_/)]);
  });

  it("keeps a card while the service cannot be reached", async () => {
    fixture.service.onUse = () => {
      throw refusalOf(Code.Unavailable, "UNAVAILABLE");
    };
    await open(1, {});
    await code().fill("123");
    await payButton().click();
    await fixture.called("onError");
    expect(fixture.calls.at(-1)).toEqual(["onError", expect.objectContaining({ code: "vault_unavailable" })]);
    expect(await cards().count()).toBe(2);
  });

  it("is left out if it cannot be loaded: the customer enters a card", async () => {
    await fixture.page.route("**/ListStoredCards", (route) => route.abort());
    await open(2, {});
    await fixture.enterCard();
    await payButton().click();
    await fixture.called("onSuccess");
    expect(fixture.service.consents).toEqual([undefined]);
  });

  it("shows as many cards as there is a place for, and the others behind a button", async () => {
    await open(9, {});
    const before = await cards().filter({ visible: true }).count();
    expect(before).toBeLessThan(10);
    await fixture.page.getByRole("button", { name: moreText }).click();
    expect(await cards().filter({ visible: true }).count()).toBe(10);
    expect(await focused()).toMatch(/\d{4}/);
  });
});

describe("the place of the list", () => {
  it.each([
    [0, undefined],
    [0, { agreementText }],
    [1, {}],
    [2, { agreementText }],
    [3, {}],
    [8, { agreementText }],
  ])("is kept: nothing moves when %i cards come, saving %j", async (count, saving) => {
    await fixture.page.addInitScript(() => {
      Object.assign(globalThis, { shift: 0 });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as unknown as { value: number; hadRecentInput: boolean }[]) {
          // What the summary moves as the amount comes is no matter of the list.
          if (!entry.hadRecentInput && entry.value > 0.0005)
            (globalThis as unknown as { shift: number }).shift += entry.value;
        }
      }).observe({ type: "layout-shift", buffered: true });
    });
    const { contentType, body } = fixture.pageWith(`${fixture.scripts}<p>What is below the form</p>`);
    fixture.merchantFiles.set("/", { contentType, body });
    await open(count, saving);
    await fixture.page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
    );
    expect(await fixture.page.evaluate("shift")).toBe(0);
  });
});

describe("stored cards before axe-core", () => {
  const looks: readonly Look[] = [
    { locale: "en", colorScheme: "dark", window: "phone" },
    { locale: "ar", colorScheme: "light", window: "narrow" },
    { locale: "de", colorScheme: "light", window: "forced" },
  ];
  const states: readonly WidgetState[] = [
    "storedCards",
    "storedCardCode",
    "manyStoredCards",
    "anotherCard",
    "firstStoredCard",
    "agreement",
    "setUp",
    "storedCardLost",
  ];

  it.each(states.flatMap((state, index) => [[state, looks[index % looks.length]!] as const]))(
    "break no rule of WCAG 2.2 AA: %s, %o",
    async (state, look) => {
      await fixture.close();
      fixture = await openInState(stage, state, look);
      expect(await findViolations(fixture.page)).toEqual([]);
    },
  );
});
