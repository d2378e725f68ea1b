/**
 * The widget in a real page of a real browser, with the real vault, and a CheckoutService that the test controls. More is in
 * widget-life.e2e.long.test.ts.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { testCard } from "../../vault/vault.fixture.ts";
import { emulatorClientSecret, emulatorSession } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

let fixture: WidgetFixture;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
});
afterEach(() => fixture?.close());

describe("Switchyard.mount() in a page", () => {
  it("pays once for twenty clicks and Enter, and reports it once", async () => {
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.goToCheckout();
    expect(await fixture.payButton.textContent()).toBe("Pay €49.00");
    await fixture.enterCard();
    await fixture.payButton.evaluate((button: HTMLElement) => {
      for (let clicks = 0; clicks < 20; clicks++) button.click();
    });
    await fixture.frame
      .locator("#cvc")
      .press("Enter")
      .catch(() => undefined);
    await fixture.called("onSuccess");
    expect(fixture.service.submitted).toHaveLength(1);
    expect(fixture.service.submitted[0]).toMatch(/^tok_/);
    expect(fixture.calls).toEqual([
      ["onReady", undefined],
      ["onSuccess", { capturedVia: "SANDBOX_B", failoverUsed: true }],
    ]);
    // No active button remains.
    expect(await fixture.payButton.count()).toBe(0);
  });

  it("says why a card was declined, and accepts another card with a fresh session", async () => {
    fixture.service.onSubmit = () => fixture.service.decline("insufficient_funds");
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.called("onDeclined");
    await fixture.page.getByRole("alert").getByText("not enough money").waitFor();

    fixture.service.reopen();
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.update(await fixture.sessionOptions(`${emulatorSession}2`));
    expect(await fixture.page.getByRole("alert").textContent()).toBe("");
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.called("onSuccess");
    expect(fixture.service.submitted).toHaveLength(2);
  });

  it("submits nothing while the card form is incomplete", async () => {
    await fixture.goToCheckout();
    await fixture.payButton.click();
    await fixture.called("onError");
    expect(fixture.calls).toContainEqual(["onError", expect.objectContaining({ code: "invalid_card" })]);
    expect(fixture.service.submitted).toEqual([]);
    expect(await fixture.payButton.getAttribute("aria-disabled")).toBe("false");
  });

  it("leaves the client secret and the grant out of addresses, storage and console", async () => {
    const seen: string[] = [];
    fixture.page.on("request", (request) => seen.push(request.url(), request.headers().referer ?? ""));
    fixture.page.on("console", (message) => seen.push(message.text()));
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.called("onSuccess");
    seen.push(
      await fixture.page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])"),
    );
    const { vault: options } = fixture.mountOptions as { vault: { sdkAuthorization: string } };
    for (const secret of [emulatorClientSecret, options.sdkAuthorization, testCard.number]) {
      expect(seen.filter((text) => text.includes(secret))).toEqual([]);
    }
  });

  it("throws on wrong options before any request leaves the page", async () => {
    await fixture.goToCheckout();
    const requests: string[] = [];
    fixture.page.on("request", (request) => requests.push(request.url()));
    const complaints = await fixture.page.evaluate(() => {
      const right = JSON.parse(document.getElementById("session")!.textContent!);
      const callbacks = { onSuccess: () => undefined, onDeclined: () => undefined };
      document.body.append(document.createElement("p"), document.createElement("p"));
      const { Switchyard } = globalThis as unknown as { Switchyard: { mount(options: object): void } };
      return ["#none", "p", "#card", "##"].map((container) => {
        try {
          Switchyard.mount({ ...right, ...callbacks, container });
          return "mounted";
        } catch (error) {
          return (error as Error).message;
        }
      });
    });
    expect(complaints).toEqual([
      "Switchyard.mount: container matches no element of this page (yet).",
      "Switchyard.mount: container matches more than one element.",
      "Switchyard.mount: container already holds a widget; unmount that one first.",
      "Switchyard.mount: container is not a valid selector.",
    ]);
    expect(requests).toEqual([]);
  });
});
