/** The widget when the line, the service or the time goes: the customer hears the true outcome, once, and pays once. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
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

const success = ["onSuccess", { capturedVia: "SANDBOX_B", failoverUsed: true }];

async function payUntilSubmitted(): Promise<void> {
  await scene.enterCard();
  await scene.payButton.click();
  await expect.poll(() => scene.service.submitted.length, { timeout: 10_000 }).toBe(1);
}

/** Resolves when the page's next call to the service has failed for want of a line. */
const nextFailure = () =>
  scene.page.waitForEvent("requestfailed", (request) => request.url().includes("CheckoutService"));

describe("a line that goes", () => {
  it("while a payment is submitted brings no outcome but the true one", async () => {
    await scene.goToCheckout();
    await payUntilSubmitted();
    const failed = nextFailure();
    await scene.context.setOffline(true);
    await failed;
    scene.service.succeed();
    await nextFailure();
    expect(scene.callNames).toEqual(["onReady"]);
    expect(await scene.page.getByText("Processing your payment").count()).toBe(1);
    await scene.context.setOffline(false);
    await scene.told("onSuccess");
    expect(scene.calls).toEqual([["onReady", undefined], success]);
    expect(scene.service.submitted).toHaveLength(1);
  });

  it("before the card is sent says so, and the same card is paid when it is back", async () => {
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.context.setOffline(true);
    await scene.payButton.click();
    await scene.page.getByRole("alert").getByText("Check your connection").waitFor();
    expect(scene.calls.at(-1)).toEqual(["onError", expect.objectContaining({ code: "vault_unavailable" })]);
    await scene.context.setOffline(false);
    await scene.payButton.click();
    await scene.told("onSuccess");
    expect(scene.callNames).toEqual(["onReady", "onError", "onSuccess"]);
    expect(scene.service.submitted).toHaveLength(1);
  });

  it("before the widget's second part has come lets the customer pay when it is back", async () => {
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.page.route("**/session-api-*", (route) => route.abort("internetdisconnected"), { times: 2 });
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.payButton.click();
    await scene.told("onSuccess");
    expect(scene.callNames).toEqual(["onReady", "onSuccess"]);
  });
});

describe("a service that restarts", () => {
  it("before a submit reached it gets the same token again", async () => {
    await scene.goToCheckout();
    const gone = scene.page.waitForRequest("**/SubmitPayment").then(() => scene.service.goAway());
    await scene.page.route("**/SubmitPayment", async (route) => {
      await gone;
      await route.continue().catch(() => undefined);
    });
    await scene.enterCard();
    await scene.payButton.click();
    const comeBack = await gone;
    scene.service.onSubmit = () => scene.service.succeed();
    // The submit, and the look after it.
    await nextFailure();
    await nextFailure();
    await comeBack();
    await scene.told("onSuccess");
    expect(new Set(scene.service.submitted).size).toBe(1);
    expect(scene.calls).toEqual([["onReady", undefined], success]);
  });

  it("while the outcome is waited for is asked again", async () => {
    await scene.goToCheckout();
    await payUntilSubmitted();
    await expect.poll(() => scene.service.looks, { timeout: 10_000 }).toBeGreaterThan(1);
    const comeBack = await scene.service.goAway();
    await nextFailure();
    scene.service.decline("insufficient_funds");
    await comeBack();
    await scene.told("onDeclined");
    expect(scene.callNames).toEqual(["onReady", "onDeclined"]);
  });
});

describe("a session's time", () => {
  it("is warned of before its end, and ends with one callback and nothing left to press", async () => {
    scene.service.checkout.expiresInSeconds = 1;
    await scene.goToCheckout();
    await scene.page.getByRole("status").getByText("will expire soon").waitFor();
    scene.service.expire();
    await scene.page.getByRole("alert").getByText("has expired").waitFor();
    expect(scene.calls).toEqual([
      ["onReady", undefined],
      ["onDeclined", { declineCode: "session_expired" }],
    ]);
    expect(await scene.payButton.isDisabled()).toBe(true);
    await expect.poll(() => scene.frame.getByLabel("Card number").isDisabled()).toBe(true);
  });

  it("is told to onExpired where the page has one", async () => {
    const { body } = await scene.fileOf("/mount.js");
    const both = `${body}`.replace("container:", 'onExpired: callback("onExpired"), container:');
    scene.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: both });
    scene.service.expire();
    await scene.page.goto(scene.merchantOrigin);
    await scene.told("onReady");
    expect(scene.callNames.toSorted()).toEqual(["onExpired", "onReady"]);
  });

  it("does not run out while a payment runs", async () => {
    // The warning would come while the outcome is waited for.
    scene.service.checkout.expiresInSeconds = 123;
    await scene.goToCheckout();
    await payUntilSubmitted();
    await expect.poll(() => scene.service.looks, { timeout: 20_000 }).toBeGreaterThan(3);
    expect(await scene.page.getByRole("status").textContent()).toBe("Processing your payment…");
    scene.service.succeed();
    await scene.told("onSuccess");
    expect(scene.callNames).toEqual(["onReady", "onSuccess"]);
  });
});

describe("a page that waits", () => {
  it("is told of a payment past its budget once, and of its outcome later", async () => {
    await scene.page.clock.install();
    await scene.goToCheckout();
    await payUntilSubmitted();
    await scene.page.clock.runFor(46_000);
    await scene.told("onPending");
    await scene.page.getByText("do not pay again").waitFor();
    scene.service.succeed();
    await scene.page.clock.runFor(6_000);
    await scene.told("onSuccess");
    expect(scene.callNames).toEqual(["onReady", "onPending", "onSuccess"]);
  });

  it("learns what happened in another tab when its customer comes back to it", async () => {
    await scene.page.clock.install();
    await scene.goToCheckout();
    scene.service.succeed();
    const comeBack = () => scene.page.evaluate("document.dispatchEvent(new Event('visibilitychange')), undefined");
    await comeBack();
    expect(scene.service.looks).toBe(1);
    await scene.page.clock.runFor(31_000);
    await comeBack();
    await scene.told("onSuccess");
    expect(scene.callNames).toEqual(["onReady", "onSuccess"]);
  });
});
