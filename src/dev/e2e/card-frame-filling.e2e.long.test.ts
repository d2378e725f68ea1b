/** Filling in the card frame by what only the full browser has: input methods, and cards that it keeps. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launchFullBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { CardFrameFixture, CardFrameStage } from "./card-frame-fixture.ts";

let fixture: CardFrameFixture;

const stage = await forFile(() => CardFrameStage.build(launchFullBrowser));
beforeEach(async () => {
  fixture = await CardFrameFixture.open(stage);
  await fixture.mount();
});
afterEach(() => fixture.close());

describe("a card number as it is typed", () => {
  it("is formatted when an input method ends, which has no input event of its own", async () => {
    await fixture.field("number").click();
    const keyboard = await fixture.page.context().newCDPSession(fixture.document);
    await keyboard.send("Input.imeSetComposition", { text: "４２４２４", selectionStart: 5, selectionEnd: 5 });
    await keyboard.send("Input.insertText", { text: "４２４２４" });
    await expect.poll(() => fixture.caretIn("number")).toBe("4242 4|");
  });
});

describe("autofill", () => {
  it("by Chromium's own hand fills all four fields from a card that it keeps", async () => {
    await fillInByChromium();
    await expect.poll(() => fixture.field("holder").inputValue()).toBe("Ada Lovelace");
    expect(await fixture.field("number").inputValue()).toBe("4242 4242 4242 4242");
    expect(await fixture.field("expiry").inputValue()).toBe("04 / 31");
    expect(await fixture.tokenize()).toMatchObject({ brand: "visa", last4: "4242" });
  });
});

/** Makes Chromium fill the form as if a stored card was chosen; it needs a moment to recognize it. */
async function fillInByChromium(): Promise<void> {
  const session = await fixture.page.context().newCDPSession(fixture.document);
  await fixture.field("number").click();
  const { root } = await session.send("DOM.getDocument");
  const { nodeId } = await session.send("DOM.querySelector", { nodeId: root.nodeId, selector: "#number" });
  const { node } = await session.send("DOM.describeNode", { nodeId });
  const { frameTree } = await session.send("Page.getFrameTree");
  await session.send("Autofill.enable");
  const card = { number: "4242424242424242", name: "Ada Lovelace", expiryMonth: "04", expiryYear: "2031", cvc: "123" };
  const fill = { fieldId: node.backendNodeId, frameId: frameTree.frame.id, card };
  await expect.poll(() => session.send("Autofill.trigger", fill).then(Boolean, () => false)).toBe(true);
}
