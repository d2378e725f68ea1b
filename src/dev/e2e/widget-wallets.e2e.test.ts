/** The widget's buttons of wallets on a merchant's page with a strict policy, with a sheet that the test decides. */
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GooglePaySchema, OfferedWalletSchema } from "../../../gen/payments/v1/checkout_pb.ts";
import { forFile } from "../testing/for-file.ts";
import { longOnly, testsTaken } from "../testing/long-only.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

const stage = await forFile(() => WidgetStage.build());
let fixture: WidgetFixture;
let loaded: string[];
let warnings: string[];

beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
  [loaded, warnings] = [[], []];
  fixture.page.on("request", (request) => loaded.push(request.url()));
  fixture.page.on("console", (message) => void warnings.push(message.text()));
});
afterEach(() => fixture.close());

const applePay = () =>
  create(OfferedWalletSchema, {
    type: "apple_pay",
    networks: ["visa", "mastercard"],
    countryCode: "DE",
    amount: "49.00",
    currency: "EUR",
    binding: "b3JkZXI=",
  });

const googlePay = () =>
  create(OfferedWalletSchema, {
    ...applePay(),
    type: "google_pay",
    google: create(GooglePaySchema, {
      merchantId: "1",
      publicKey: "BAAA",
      authMethods: ["PAN_ONLY"],
      environment: "TEST",
    }),
  });

/** The session offers these wallets, and the page's sheet records what it is told. */
async function offer(names = "apple_pay google_pay"): Promise<void> {
  const { vault } = fixture.mountOptions as { vault: object };
  fixture.mountOptions = { ...fixture.mountOptions, vault: { ...vault, wallets: names } };
  fixture.service.checkout.expiresInSeconds = 900;
  fixture.service.checkout.wallets = [applePay()];
  await fixture.page.addInitScript(`
    globalThis.told = [];
    globalThis.ApplePaySession = class {
      static STATUS_SUCCESS = 0;
      static STATUS_FAILURE = 1;
      static canMakePayments() { return true; }
      constructor(version, request) {
        for (const one of request.supportedNetworks) if (one === "diners") throw new TypeError(one);
        globalThis.sheet = this; this.request = request;
      }
      begin() { told.push("begin"); }
      abort() { told.push("abort"); }
      completePayment({ status }) { told.push(status); }
    };
    globalThis.google = { payments: { api: { PaymentsClient: class {
      isReadyToPay() { return Promise.resolve({ result: true }); }
      createButton({ onClick }) {
        const button = document.createElement("button");
        button.textContent = "Google Pay";
        button.onclick = onClick;
        return button;
      }
      loadPaymentData() { told.push("begin"); return Promise.resolve({ paymentMethodData: { tokenizationData: { token: "{}" } } }); }
    } } } };`);
}

const told = () => fixture.page.evaluate("told");
const button = () => fixture.page.getByRole("button", { name: "Apple Pay" });
const alert = () => fixture.page.locator("#card [role=alert]");
const authorize = () =>
  fixture.page.evaluate("sheet.onpaymentauthorized({ payment: { token: { paymentData: { version: 'EC_v1' } } } })");

describe("wallets in the widget", () => {
  it("cost a session without them no file, and no place", async () => {
    await fixture.goToCheckout();
    expect(loaded.filter((url) => url.includes("wallets"))).toEqual([]);
    expect(await fixture.page.locator("#card .wallets").count()).toBe(0);
  });

  it("cost a browser without Apple Pay no file, and no place, where the merchant has nothing else", async () => {
    await offer("apple_pay");
    await fixture.page.addInitScript("delete globalThis.ApplePaySession;");
    await fixture.goToCheckout();
    await fixture.called("onReady");
    expect(loaded.filter((url) => url.includes("wallets"))).toEqual([]);
    expect(await fixture.page.locator("#card .wallets").count()).toBe(0);
  });

  longOnly(() => {
    const notReady = "google.payments.api.PaymentsClient.prototype.isReadyToPay = async () => ({ result: false });";
    const late = `google.payments.api.PaymentsClient.prototype.isReadyToPay =
      () => new Promise((resolve) => setTimeout(resolve, 1_000, { result: true }));`;
    const noApple = "delete globalThis.ApplePaySession;";
    it.each([
      ["both", 2, "apple_pay google_pay", ""],
      ["Apple Pay", 1, "apple_pay", ""],
      ["Google Pay", 1, "google_pay", ""],
      ["both, one of which is late", 2, "apple_pay google_pay", late],
      ["both, in a browser without Apple Pay", 1, "apple_pay google_pay", noApple],
      ["both, in a browser without Google Pay", 1, "apple_pay google_pay", notReady],
      ["both, on a page that blocks Google's script", 1, "apple_pay google_pay", "delete globalThis.google;"],
      ["both, in a browser that has none", 0, "apple_pay google_pay", noApple + notReady],
      ["none, because no gateway takes one", 0, "", ""],
    ])("move nothing on the page: %s", async (mix, buttons, offered, browser) => {
      await offer();
      fixture.service.checkout.wallets = [applePay(), googlePay()].filter(({ type }) => offered.includes(type));
      await fixture.page.addInitScript(browser);
      await fixture.page.addInitScript(`globalThis.shifts = [];
        globalThis.shiftObserver = new PerformanceObserver((list) => shifts.push(...list.getEntries()));
        shiftObserver.observe({ type: "layout-shift", buffered: true });`);
      await fixture.goToCheckout();
      const place = fixture.page.locator("#card .wallets");
      await place.locator("p").waitFor();
      await fixture.page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
      const shift = await fixture.page.evaluate<number>(
        "[...shifts, ...shiftObserver.takeRecords()].reduce((sum, { value }) => sum + value, 0)",
      );
      console.info(`layout shift with ${mix}: ${shift}`);
      expect([shift, await place.getByRole("button").count()]).toEqual([0, buttons]);
    });

    it("leave a heading in their place where the browser has none, and the page hears of no error", async () => {
      await offer("google_pay");
      await fixture.goToCheckout();
      const heading = fixture.page.locator("#card .wallets p");
      await heading.getByText("Pay by card").waitFor();
      expect(await fixture.page.locator("#card .wallets").evaluate((place) => place.clientHeight)).toBe(106);
      const [top, bottom] = await heading.evaluate((line) => {
        const [its, all] = [line, line.parentElement!].map((one) => one.getBoundingClientRect());
        // Below it is the padding of the place, too.
        return [its!.top - all!.top, all!.bottom - 16 - its!.bottom];
      });
      expect(Math.abs(top! - bottom!)).toBeLessThanOrEqual(2);
      expect(fixture.callNames).toEqual(["onReady"]);
    });
  });

  it("open the sheet inside the press, with the session's order, and disable the form meanwhile", async () => {
    await offer();
    await fixture.goToCheckout();
    await button().click();
    expect(await told()).toEqual(["begin"]);
    expect(await fixture.page.evaluate("sheet.request")).toEqual({
      countryCode: "DE",
      currencyCode: "EUR",
      supportedNetworks: ["visa", "masterCard"],
      merchantCapabilities: ["supports3DS"],
      total: { label: "Demo shop", amount: "49.00", type: "final" },
      applicationData: "b3JkZXI=",
    });
    await fixture.page.locator("#card .pay[aria-busy=true]").waitFor();
    expect(await button().isDisabled()).toBe(true);
    await button().dispatchEvent("click");
    expect(await told()).toEqual(["begin"]);
    await fixture.page.evaluate("sheet.oncancel()");
    await fixture.page.locator("#card .pay[aria-busy=false]").waitFor();
    expect(await button().isDisabled()).toBe(false);
    expect(fixture.callNames).toEqual(["onReady"]);
    expect(await alert().textContent()).toBe("");
    expect(fixture.service.submitted).toEqual([]);
  });

  it("end with the sheet's failure, and with words, where the vault refuses the token", async () => {
    await offer();
    await fixture.goToCheckout();
    await button().click();
    await authorize();
    await fixture.called("onError");
    expect(fixture.calls.at(-1)).toMatchObject(["onError", { code: expect.stringMatching(/^wallet_/) }]);
    await alert().getByText("Nothing was charged. Try again or pay by card.").waitFor();
    expect(await told()).toEqual(["begin", 1]);
    expect(fixture.service.submitted).toEqual([]);
  });

  const otherOrders = [
    ["currency", "Google Pay", googlePay, { currency: "USD" }],
    ["amount", "Apple Pay", applePay, { amount: "50.00" }],
    ["order", "Google Pay", googlePay, { binding: "b3RoZXI=" }],
  ] as const;
  it.each(otherOrders.slice(0, testsTaken.all ? 3 : 2))(
    "pay no fresh session of another %s than the sheet's by %s",
    async (_, name, wallet, other) => {
      await offer();
      fixture.service.checkout.wallets = [wallet()];
      const button = () => fixture.page.getByRole("button", { name });
      const fresh = JSON.stringify(await fixture.sessionOptions(`${fixture.mountOptions.sessionId}2`));
      const { contentType, body } = await fixture.fileOf("/mount.js");
      const withSession = `${body}`.replace("onSuccess:", `getSession: () => (${fresh}), onSuccess:`);
      fixture.merchantFiles.set("/mount.js", { contentType, body: withSession });
      await fixture.goToCheckout();
      await button().waitFor();
      fixture.service.onSubmit = () => fixture.service.decline("card_declined");
      await fixture.enterCard();
      await fixture.page.locator("#card .pay").click();
      await fixture.called("onDeclined");
      fixture.service.reopen();
      fixture.service.checkout.wallets = [Object.assign(wallet(), other)];
      await button().click();
      if (name === "Apple Pay") await authorize();
      await fixture.called("onError");
      expect(fixture.calls.at(-1)).toMatchObject(["onError", { code: "session_unavailable" }]);
      expect(await told()).toEqual(name === "Apple Pay" ? ["begin", 1] : ["begin"]);
      expect(fixture.service.submitted).toHaveLength(1);
    },
  );

  longOnly(() => {
    it.each([
      ["as paid, where the payment has succeeded", () => fixture.service.succeed(), 0],
      ["as refused, where it was declined", () => fixture.service.decline("card_declined"), 1],
      ["without an outcome, where that takes longer than 20 seconds", () => fixture.service.takeUp(), "abort"],
    ])("close the sheet %s", async (_, onSubmit, end) => {
      await offer();
      const json = { token: "wnt_1", brand: "visa", last4: "8302", expiresAt: new Date(Date.now() + 900_000) };
      await fixture.page.route("**/wallet-tokens", (route) => route.fulfill({ status: 201, json }));
      fixture.service.onSubmit = onSubmit;
      await fixture.goToCheckout();
      await button().click();
      await authorize();
      await expect.poll(told, { timeout: 40_000 }).toEqual(["begin", end]);
      expect(fixture.service.submitted).toHaveLength(1);
      if (end !== "abort") return;
      expect(fixture.callNames).not.toContain("onSuccess");
      fixture.service.succeed();
      await fixture.called("onSuccess");
    });

    it("end with words where the browser opens no sheet", async () => {
      await offer();
      fixture.service.checkout.wallets = [Object.assign(applePay(), { networks: ["visa", "diners"] })];
      await fixture.goToCheckout();
      await button().click();
      await fixture.called("onError");
      expect(fixture.calls.at(-1)).toMatchObject(["onError", { code: "wallet_unavailable" }]);
      await alert().getByText("Nothing was charged. Try again or pay by card.").waitFor();
      await fixture.page.locator("#card .pay[aria-busy=false]").waitFor();
      expect(warnings.join()).toContain("diners");
    });

    it("close their sheet with the widget, which reports nothing", async () => {
      await offer();
      await fixture.goToCheckout();
      await button().click();
      const paying = fixture.page.evaluate("widget.submit()");
      await fixture.page.evaluate("widget.unmount()");
      expect(await paying).toEqual({ kind: "unmounted" });
      expect(await told()).toEqual(["begin", "abort"]);
      expect(fixture.callNames).toEqual(["onReady"]);
    });

    it("load no script of Google's into a page whose widget was removed", async () => {
      await offer();
      fixture.service.checkout.wallets = [googlePay()];
      await fixture.page.addInitScript("delete globalThis.google");
      const release = Promise.withResolvers<void>();
      await fixture.page.route(/wallets-/, async (route) => {
        await release.promise;
        await route.continue();
      });
      await fixture.goToCheckout();
      const asked = fixture.page.waitForResponse(/wallets-/);
      await fixture.called("onReady");
      await fixture.page.evaluate("widget.unmount()");
      release.resolve();
      await asked;
      await fixture.page.waitForTimeout(300);
      expect(await fixture.page.evaluate("document.head.querySelectorAll('[src*=pay]').length")).toBe(0);
    });

    it("have a heading where a payment is followed, and no place once it is paid", async () => {
      await offer();
      fixture.service.checkout.wallets = [];
      fixture.service.checkout.expiresInSeconds = undefined;
      fixture.service.takeUp();
      await fixture.goToCheckout();
      await fixture.page.locator("#card .wallets p").getByText("Pay by card").waitFor();
      fixture.service.succeed();
      await fixture.called("onSuccess");
      await fixture.page.locator("#card .wallets").waitFor({ state: "hidden" });
    });

    it("are in the page's order, and hidden by an empty list", async () => {
      await offer();
      fixture.mountOptions = { ...fixture.mountOptions, wallets: [] };
      await fixture.goToCheckout();
      expect(await button().count()).toBe(0);
      expect(loaded.filter((url) => url.includes("wallets"))).toEqual([]);
    });
  });
});
