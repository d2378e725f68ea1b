/** The widget in a real page of a real browser, with the real vault, in front of a CheckoutService that the test decides. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { standInClientSecret, standInSession } from "../testing/checkout-stand-in.ts";
import { testCard } from "../vault/vault-fixture.ts";
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

describe("Switchyard.mount() in a page", () => {
  it("pays once for twenty clicks and Enter, and tells it once", async () => {
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.goToCheckout();
    expect(await scene.payButton.textContent()).toBe("Pay €49.00");
    await scene.enterCard();
    await scene.payButton.evaluate((button: HTMLElement) => {
      for (let clicks = 0; clicks < 20; clicks++) button.click();
    });
    await scene.frame
      .locator("#cvc")
      .press("Enter")
      .catch(() => undefined);
    await scene.told("onSuccess");
    expect(scene.service.submitted).toHaveLength(1);
    expect(scene.service.submitted[0]).toMatch(/^tok_/);
    expect(scene.calls).toEqual([
      ["onReady", undefined],
      ["onSuccess", { capturedVia: "SANDBOX_B", failoverUsed: true }],
    ]);
    // Nothing is left to press.
    expect(await scene.payButton.count()).toBe(0);
  });

  it("pays by Enter in the card form", async () => {
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.frame.locator("#cvc").press("Enter");
    await scene.told("onSuccess");
    expect(scene.service.submitted).toHaveLength(1);
  });

  it("follows a payment through a reload, without a second submit", async () => {
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.payButton.click();
    await expect.poll(() => scene.service.submitted.length).toBe(1);
    await scene.page.reload();
    await scene.page.getByText("Processing your payment").waitFor();
    scene.service.succeed();
    await scene.told("onSuccess");
    expect(scene.service.submitted).toHaveLength(1);
  });

  it("announces one loading state from the click to the outcome", async () => {
    await scene.goToCheckout();
    await scene.page.evaluate(() => {
      const status = document.querySelector("#card > div")!.shadowRoot!.querySelector("[role=status]")!;
      const announced: string[] = [];
      Object.assign(window, { announced });
      new MutationObserver(() => announced.push(status.textContent ?? "")).observe(status, { childList: true });
    });
    await scene.enterCard();
    await scene.payButton.click();
    await expect.poll(() => scene.service.looks, { timeout: 10_000 }).toBeGreaterThan(1);
    scene.service.succeed();
    await scene.told("onSuccess");
    expect(await scene.page.evaluate("announced")).toEqual(["Processing your payment…", "Payment complete."]);
  });

  it("says why a card was declined, and takes another card with a fresh session", async () => {
    scene.service.onSubmit = () => scene.service.decline("insufficient_funds");
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.payButton.click();
    await scene.told("onDeclined");
    await scene.page.getByRole("alert").getByText("not enough money").waitFor();

    scene.service.reopen();
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.update(await scene.sessionOptions(`${standInSession}2`));
    expect(await scene.page.getByRole("alert").textContent()).toBe("");
    await scene.enterCard();
    await scene.payButton.click();
    await scene.told("onSuccess");
    expect(scene.service.submitted).toHaveLength(2);
  });

  it("submits nothing while the card form is incomplete", async () => {
    await scene.goToCheckout();
    await scene.payButton.click();
    await scene.told("onError");
    expect(scene.calls).toContainEqual(["onError", expect.objectContaining({ code: "invalid_card" })]);
    expect(scene.service.submitted).toEqual([]);
    expect(await scene.payButton.getAttribute("aria-disabled")).toBe("false");
  });

  it("speaks the page's language, from right to left where it is written so", async () => {
    scene.mountOptions = { ...scene.mountOptions, locale: "ar" };
    await scene.goToCheckout();
    await scene.page.getByRole("button", { name: "ادفع" }).waitFor();
    expect(await scene.page.locator("#card > div").getAttribute("dir")).toBe("rtl");
  });

  it("leaves the client secret and the grant out of addresses, storage and console", async () => {
    const seen: string[] = [];
    scene.page.on("request", (request) => seen.push(request.url(), request.headers().referer ?? ""));
    scene.page.on("console", (message) => seen.push(message.text()));
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.payButton.click();
    await scene.told("onSuccess");
    seen.push(
      await scene.page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])"),
    );
    const { vault: options } = scene.mountOptions as { vault: { sdkAuthorization: string } };
    for (const secret of [standInClientSecret, options.sdkAuthorization, testCard.number]) {
      expect(seen.filter((text) => text.includes(secret))).toEqual([]);
    }
  });

  it("throws on wrong options before any request leaves the page", async () => {
    await scene.goToCheckout();
    const requests: string[] = [];
    scene.page.on("request", (request) => requests.push(request.url()));
    const complaints = await scene.page.evaluate(() => {
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

  it("leaves nothing behind when it is unmounted, and mounts again", async () => {
    await scene.goToCheckout();
    await scene.page.evaluate("widget.unmount()");
    expect(await scene.page.locator("#card").innerHTML()).toBe("");
    await scene.page.evaluate("widget = mount()");
    await expect
      .poll(() => scene.calls, { timeout: 10_000 })
      .toEqual([
        ["onReady", undefined],
        ["onReady", undefined],
      ]);
  });
});
