/** The card frame's choice between the two brands of a co-badged card, by mouse, keyboard and screen reader. */
import type { BrowserContextOptions } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import type { CardFrameOptions } from "../../../widget/vault-sdk/sdk.ts";
import { coBadgedCard, testCard } from "../../vault/vault.fixture.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { CardFrameFixture, CardFrameStage } from "./card-frame-fixture.ts";

let fixture: CardFrameFixture;
const bodies: string[] = [];

const stage = await forFile(() => CardFrameStage.build());
afterEach(() => fixture?.close());

async function open(change: Partial<CardFrameOptions> = {}, context: BrowserContextOptions = {}): Promise<void> {
  bodies.length = 0;
  fixture = await CardFrameFixture.open(stage, context);
  fixture.page.on("request", (request) => {
    if (request.url().endsWith("/tokens")) bodies.push(request.postData() ?? "");
  });
  await fixture.mount(change);
}

const radios = () => fixture.document.getByRole("radio");

async function enterCoBadged(): Promise<void> {
  await fixture.type("number", coBadgedCard.number);
  await fixture.type("expiry", "431");
  await fixture.type("cvc", "123");
}

describe("the choice of a brand", () => {
  it("comes with a co-badged number and goes with it, as one named group without a default", async () => {
    await open();
    expect(await fixture.document.getByRole("radiogroup").count()).toBe(0);
    await fixture.type("number", coBadgedCard.number.slice(0, 7));
    expect(await radios().count()).toBe(0);
    await fixture.page.keyboard.type(coBadgedCard.number.slice(7));
    const group = fixture.document.getByRole("radiogroup", { name: "Card brand (optional)" });
    expect(await group.getByRole("radio").count()).toBe(2);
    for (const name of ["Cartes Bancaires", "Visa"])
      expect(await group.getByRole("radio", { name, exact: true }).isChecked()).toBe(false);
    await group.getByText("Visa").click();
    await fixture.field("number").fill(testCard.number);
    expect(await radios().count()).toBe(0);
    await fixture.field("number").fill(coBadgedCard.number);
    expect(await radios().nth(1).isChecked()).toBe(false);
  });

  it("is made by the keyboard: Tab from the number, arrows between the brands, Tab to the expiry date", async () => {
    await open();
    await fixture.type("number", coBadgedCard.number);
    await fixture.press("Tab");
    expect(
      await radios()
        .nth(0)
        .evaluate((one) => one === document.activeElement),
    ).toBe(true);
    await fixture.press("Space");
    expect(await radios().nth(0).isChecked()).toBe(true);
    await fixture.press("ArrowDown");
    expect(await radios().nth(1).isChecked()).toBe(true);
    await fixture.press("Tab");
    await fixture.focused("expiry");
  });

  it("travels with the card, and the token is of that brand", async () => {
    await open();
    await enterCoBadged();
    await fixture.document.getByText("Cartes Bancaires").click();
    expect(await fixture.tokenize()).toMatchObject({ brand: "cartes_bancaires", last4: "1001" });
    expect(JSON.parse(bodies[0]!)).toEqual({
      number: coBadgedCard.number,
      expMonth: 4,
      expYear: 2031,
      cvc: "123",
      brand: "cartes_bancaires",
    });
    // A vault that does not know this brand says so at the number: no refusal may be silent.
    await radios()
      .nth(0)
      .evaluate((radio: HTMLInputElement) => {
        radio.value = "amex";
      });
    await fixture.tokenize();
    expect(await fixture.field("number-problem").textContent()).toContain("not accepted");
  });

  it("need not be made: then the card is sent as any other", async () => {
    await open();
    await enterCoBadged();
    expect(await fixture.tokenize()).toMatchObject({ brand: "visa", last4: "1001" });
    expect(bodies).toEqual([`{"number":"${coBadgedCard.number}","expMonth":4,"expYear":2031,"cvc":"123"}`]);
  });

  it("is not offered where the shop does not accept the other brand", async () => {
    await open();
    await fixture.page.evaluate("frame.accept(['mastercard'])");
    await fixture.type("number", coBadgedCard.number);
    expect(await radios().count()).toBe(0);
  });

  it("stays as it is while the card is being sent", async () => {
    await open();
    await enterCoBadged();
    await radios().nth(1).check();
    await fixture.page.evaluate("frame.setDisabled(true)");
    await expect.poll(() => fixture.field("number").isEditable()).toBe(false);
    await radios().nth(0).click({ force: true });
    expect(await radios().nth(1).isChecked()).toBe(true);
    await fixture.page.evaluate("frame.setDisabled(false)");
  });

  it.each([
    ["en", "above", "light"],
    ["ar", "floating", "dark"],
    ["el", "above", "dark"],
  ])("breaks no rule of WCAG 2.2 AA in %s with labels %s, %s, on 320 px", async (locale, labels, theme) => {
    await open({ locale, appearance: { labels, theme } }, { viewport: { width: 320, height: 640 } });
    await enterCoBadged();
    await radios().nth(0).check();
    expect(await findViolations(fixture.page)).toEqual([]);
    const tooWide = () =>
      fixture.document.evaluate(
        () =>
          [...document.querySelectorAll<HTMLElement>("#brands, #brands *")].filter(
            (one) => one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().left < 0,
          ).length,
      );
    expect(await tooWide()).toBe(0);
    // A phone at a zoom of 200 %.
    await fixture.page.setViewportSize({ width: 195, height: 640 });
    expect(await tooWide()).toBe(0);
  });
});
