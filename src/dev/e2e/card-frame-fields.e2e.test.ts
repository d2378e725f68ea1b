/** The fields that a page asks for beyond the card, in a real browser: the cardholder's name and the postal code. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { CardFrameFixture, CardFrameStage } from "./card-frame-fixture.ts";

let fixture: CardFrameFixture;
let sent: unknown[];

const stage = await forFile(() => CardFrameStage.build());
beforeEach(async () => {
  fixture = await CardFrameFixture.open(stage);
  sent = [];
  fixture.page.on("request", (request) => {
    if (new URL(request.url()).pathname === "/tokens") sent.push(request.postDataJSON());
  });
});
afterEach(() => fixture.close());

const shown = (id: string) => fixture.field(id).isVisible();
const problem = (id: string) => fixture.field(`${id}-problem`).textContent();
const labelOf = (id: string) => fixture.page.frameLocator("iframe").locator(`label[for=${id}]`).textContent();

describe("the fields of the card form", () => {
  it("are the card and a name that may stay empty, where the page asks for nothing", async () => {
    await fixture.mount();
    expect([await shown("holder"), await shown("postalCode")]).toEqual([true, false]);
    expect(await labelOf("holder")).toBe("Name on card (optional)");
    await fixture.enterCard();
    expect(await fixture.tokenize()).toMatchObject({ last4: "4242" });
    expect(Object.keys(sent[0] as object)).not.toContain("postalCode");
  });

  it("leave the name out where the page wants none", async () => {
    await fixture.mount({ fields: { holderName: false } });
    expect([await shown("holder"), await shown("postalCode")]).toEqual([false, false]);
    await fixture.enterCard();
    expect(await fixture.tokenize()).toMatchObject({ last4: "4242" });
  });

  it("are all necessary where the page asks for them, and go to the vault with the card", async () => {
    await fixture.mount({ fields: { holderName: true, postalCode: true }, locale: "en" });
    expect(await labelOf("holder")).toBe("Name on card");
    await fixture.enterCard();
    expect(await fixture.tokenize()).toEqual({ code: "invalid_card" });
    await fixture.focused("holder");
    expect(await problem("holder")).toBe("Enter the name on the card.");
    expect(await problem("postalCode")).toBe("Enter the postal code of the billing address.");
    await fixture.type("holder", "Ada Lovelace");
    await fixture.press("Tab");
    await fixture.focused("postalCode");
    await fixture.page.keyboard.type("!");
    expect(await fixture.tokenize()).toEqual({ code: "invalid_card" });
    expect(await problem("postalCode")).toBe("Enter 2 to 10 letters and digits.");
    await fixture.field("postalCode").fill("SW1A 1AA");
    expect(await problem("postalCode")).toBe("");
    expect(sent).toEqual([]);
    expect(await fixture.tokenize()).toMatchObject({ last4: "4242" });
    expect(sent).toMatchObject([{ holder: "Ada Lovelace", postalCode: "SW1A 1AA" }]);
  });

  it("are in the page's language", async () => {
    await fixture.mount({ fields: { postalCode: true }, locale: "de" });
    expect(await labelOf("holder")).toBe("Name auf der Karte (optional)");
    expect(await labelOf("postalCode")).toBe("Postleitzahl");
  });
});
