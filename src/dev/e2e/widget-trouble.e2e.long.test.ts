/** The widget when connection, service or time fail: the customer sees the true outcome and pays once. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

let fixture: WidgetFixture;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
});
afterEach(() => fixture?.close());

const success = ["onSuccess", { capturedVia: "SANDBOX_B", failoverUsed: true }];

async function payUntilSubmitted(): Promise<void> {
  await fixture.enterCard();
  await fixture.payButton.click();
  await expect.poll(() => fixture.service.submitted.length).toBe(1);
}

/** Resolves when the page's next call to the service has failed for lack of a connection. */
const nextFailure = () =>
  fixture.page.waitForEvent("requestfailed", (request) => request.url().includes("CheckoutService"));

describe("a connection that fails", () => {
  it("while a payment is submitted brings no outcome but the true one", async () => {
    await fixture.goToCheckout();
    await payUntilSubmitted();
    const failed = nextFailure();
    await fixture.context.setOffline(true);
    await failed;
    fixture.service.succeed();
    await nextFailure();
    expect(fixture.callNames).toEqual(["onReady"]);
    expect(await fixture.page.getByText("Processing your payment").count()).toBe(1);
    await fixture.context.setOffline(false);
    await fixture.called("onSuccess");
    expect(fixture.calls).toEqual([["onReady", undefined], success]);
    expect(fixture.service.submitted).toHaveLength(1);
  });

  it("before the card is sent is reported, and the same card is paid when it is back", async () => {
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.context.setOffline(true);
    await fixture.payButton.click();
    await fixture.page.getByRole("alert").getByText("Check your connection").waitFor();
    expect(fixture.calls.at(-1)).toEqual(["onError", expect.objectContaining({ code: "vault_unavailable" })]);
    await fixture.context.setOffline(false);
    await fixture.payButton.click();
    await fixture.called("onSuccess");
    expect(fixture.callNames).toEqual(["onReady", "onError", "onSuccess"]);
    expect(fixture.service.submitted).toHaveLength(1);
  });

  it("before the widget's second part has loaded lets the customer pay when it is back", async () => {
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.page.route("**/session-api-*", (route) => route.abort("internetdisconnected"), { times: 2 });
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.called("onSuccess");
    expect(fixture.callNames).toEqual(["onReady", "onSuccess"]);
  });
});

describe("a service that restarts", () => {
  it("before a submit reached it gets the same token again", async () => {
    await fixture.goToCheckout();
    const gone = fixture.page.waitForRequest("**/SubmitPayment").then(() => fixture.service.goAway());
    await fixture.page.route("**/SubmitPayment", async (route) => {
      await gone;
      await route.continue().catch(() => undefined);
    });
    await fixture.enterCard();
    await fixture.payButton.click();
    const comeBack = await gone;
    fixture.service.onSubmit = () => fixture.service.succeed();
    // The submit, and the look after it.
    await nextFailure();
    await nextFailure();
    await comeBack();
    await fixture.called("onSuccess");
    expect(new Set(fixture.service.submitted).size).toBe(1);
    expect(fixture.calls).toEqual([["onReady", undefined], success]);
  });

  it("while the outcome is pending is called again", async () => {
    await fixture.goToCheckout();
    await payUntilSubmitted();
    await expect.poll(() => fixture.service.looks).toBeGreaterThan(1);
    const comeBack = await fixture.service.goAway();
    await nextFailure();
    fixture.service.decline("insufficient_funds");
    await comeBack();
    await fixture.called("onDeclined");
    expect(fixture.callNames).toEqual(["onReady", "onDeclined"]);
  });
});

describe("a session's time", () => {
  it("is warned of before its end, and ends with one callback and no active button", async () => {
    fixture.service.checkout.expiresInSeconds = 1;
    await fixture.goToCheckout();
    await fixture.page.getByRole("status").getByText("will expire soon").waitFor();
    fixture.service.expire();
    await fixture.page.getByRole("alert").getByText("has expired").waitFor();
    expect(fixture.calls).toEqual([
      ["onReady", undefined],
      ["onDeclined", { declineCode: "session_expired" }],
    ]);
    expect(await fixture.payButton.isDisabled()).toBe(true);
    await expect.poll(() => fixture.frame.getByLabel("Card number").isDisabled()).toBe(true);
  });

  it("is reported to onExpired if the page has one", async () => {
    const { body } = await fixture.fileOf("/mount.js");
    const both = `${body}`.replace("container:", 'onExpired: callback("onExpired"), container:');
    fixture.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: both });
    fixture.service.expire();
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.called("onReady");
    expect(fixture.callNames.toSorted()).toEqual(["onExpired", "onReady"]);
  });

  it("does not run out while a payment runs", async () => {
    // The warning would appear while the outcome is pending.
    fixture.service.checkout.expiresInSeconds = 123;
    await fixture.goToCheckout();
    await payUntilSubmitted();
    await expect.poll(() => fixture.service.looks, { timeout: 20_000 }).toBeGreaterThan(3);
    expect(await fixture.page.getByRole("status").first().textContent()).toBe("Processing your payment…");
    fixture.service.succeed();
    await fixture.called("onSuccess");
    expect(fixture.callNames).toEqual(["onReady", "onSuccess"]);
  });
});

describe("a page that waits", () => {
  it("is informed once of a payment past its budget, and later of its outcome", async () => {
    await fixture.page.clock.install();
    await fixture.goToCheckout();
    await payUntilSubmitted();
    await fixture.page.clock.runFor(46_000);
    await fixture.called("onPending");
    await fixture.page.getByText("do not pay again").waitFor();
    fixture.service.succeed();
    await fixture.page.clock.runFor(6_000);
    await fixture.called("onSuccess");
    expect(fixture.callNames).toEqual(["onReady", "onPending", "onSuccess"]);
  });

  it("learns what happened in another tab when its customer comes back to it", async () => {
    await fixture.page.clock.install();
    await fixture.goToCheckout();
    fixture.service.succeed();
    const comeBack = () => fixture.page.evaluate("document.dispatchEvent(new Event('visibilitychange')), undefined");
    await comeBack();
    expect(fixture.service.looks).toBe(1);
    await fixture.page.clock.runFor(31_000);
    await comeBack();
    await fixture.called("onSuccess");
    expect(fixture.callNames).toEqual(["onReady", "onSuccess"]);
  });
});
