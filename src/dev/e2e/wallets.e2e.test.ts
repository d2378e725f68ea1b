/** A customer pays in the demo shop by Apple Pay and Google Pay, at the sandbox's emulators, in a real browser. */
import type { Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { forgeries } from "../../sandbox/wallets/forgeries.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { longOnly } from "../testing/long-only.ts";
import { findViolations } from "./accessibility.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { everyDesktopAndPhone, inEachLook } from "./each-look.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

type WalletTitle = "Apple Pay" | "Google Pay";

let customer: ShopCustomer;
let page: Page;

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
const merchant = new ApiCheckout(demo.shopFile);
afterEach(async () => {
  await admin("down", { acquirer: "A", down: false });
  await admin("wallets", {});
});

async function admin(name: string, body: object): Promise<void> {
  const answer = await fetch(`${demo.sandbox.origin}/admin/${name}`, { method: "PUT", body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
}

const sheet = () => page.getByRole("dialog");
const button = (wallet: WalletTitle) => page.locator("#card").getByRole("button", { name: wallet });

async function openSheet(wallet: WalletTitle): Promise<void> {
  await button(wallet).click();
  await sheet().getByText("Emulator").waitFor();
}

async function payWith(wallet: WalletTitle, last4: string): Promise<void> {
  await openSheet(wallet);
  await sheet().getByText(`•••• ${last4}`).click();
  await sheet().getByRole("button", { name: "Pay", exact: true }).click();
}

async function orderPageShows(...texts: string[]): Promise<void> {
  for (const text of texts) await page.locator("#details").getByText(text).first().waitFor();
}

describe("a customer with a wallet", { timeout: 90_000 }, () => {
  beforeEach(async () => {
    customer = await ShopCustomer.enter(browser, demo.file.shopUrl);
    page = customer.page;
  });
  afterEach(() => customer.leave());

  it.each([
    ["Apple Pay", "apple_pay"],
    ["Google Pay", "google_pay"],
  ] as const)("pays by %s, and nothing on the page moves before", async (title, type) => {
    await page.addInitScript(`globalThis.shifted = [];
      new PerformanceObserver((list) => {
        for (const { hadRecentInput, value, sources } of list.getEntries())
          if (!hadRecentInput) shifted.push([value, ...sources.map(({ node, previousRect, currentRect }) =>
            [node?.outerHTML?.slice(0, 80) ?? node?.textContent, previousRect.y, currentRect.y].join(" "))]);
      }).observe({ type: "layout-shift", buffered: true });`);
    const { sessionId } = await customer.goToCheckout();
    await button(title).waitFor();
    expect(await page.evaluate("globalThis.shifted")).toEqual([]);
    await payWith(title, "8302");
    await orderPageShows("SUCCEEDED", "Signature verified", title);
    const session = await merchant.read(sessionId);
    expect(session).toMatchObject({ capturedVia: "SANDBOX_A", wallet: { type, credential: "NETWORK_TOKEN" } });
    expect(session.card).toEqual({ brand: "visa" });
  });

  it("pays at SANDBOX_B while SANDBOX_A refuses connections", async () => {
    await admin("down", { acquirer: "A", down: true });
    const { sessionId } = await customer.goToCheckout();
    await payWith("Apple Pay", "8310");
    await orderPageShows("SUCCEEDED", "SANDBOX_B");
    expect(await merchant.read(sessionId)).toMatchObject({ capturedVia: "SANDBOX_B", failover: true });
  });

  longOnly(() => {
    it("closes the sheet without a callback, and pays afterwards", async () => {
      await customer.goToCheckout();
      for (const title of ["Apple Pay", "Google Pay"] as const) {
        await openSheet(title);
        expect(await customer.cardForm.getByLabel("Card number").getAttribute("aria-disabled")).toBe("true");
        await sheet().getByRole("button", { name: "Cancel" }).click();
        await page.locator("#card .pay[aria-busy=false]").waitFor();
      }
      expect(["onSuccess", "onDeclined", "onPending"].flatMap((name) => customer.valuesOf(name))).toEqual([]);
      expect(await page.locator("#card [role=alert]").textContent()).toBe("");
      await payWith("Google Pay", "8302");
      await orderPageShows("SUCCEEDED");
    });

    it("pays after a decline in a fresh session of the same order, whose sheet is open meanwhile", async () => {
      const { sessionId, orderRef } = await customer.goToCheckout();
      await payWith("Apple Pay", "8344");
      await page.locator("#card").getByText("Your card was declined").waitFor();
      expect(await merchant.read(sessionId)).toMatchObject({ status: "DECLINED", orderRef });
      await payWith("Apple Pay", "8302");
      await orderPageShows("SUCCEEDED");
    });
  });

  it("confirms a card without a device at the bank", async () => {
    const { sessionId } = await customer.goToCheckout();
    await payWith("Google Pay", "8377");
    const bank = page.frameLocator("#card .action iframe").frameLocator("iframe").frameLocator("iframe");
    await bank.getByLabel("Code").fill("123456");
    expect(await button("Apple Pay").isVisible()).toBe(false);
    await bank.getByRole("button", { name: "Confirm" }).click();
    await orderPageShows("SUCCEEDED");
    expect(await merchant.read(sessionId)).toMatchObject({ wallet: { type: "google_pay", credential: "PAN" } });
  });

  longOnly(() => {
    it("reads that nothing was charged when the vault refuses a forged token", async () => {
      await customer.goToCheckout();
      await admin("wallets", { forgery: "root" });
      await payWith("Apple Pay", "8302");
      await page.locator("#card").getByText("Nothing was charged. Try again or pay by card.").waitFor();
      await admin("wallets", {});
      await payWith("Apple Pay", "8302");
      await orderPageShows("SUCCEEDED");
    });
  });

  it("finds no violation of WCAG in the form with buttons, light and dark, wide and narrow", async () => {
    await customer.goToCheckout();
    await button("Google Pay").waitFor();
    await inEachLook(page, everyDesktopAndPhone, async (name) => expect(await findViolations(page), name).toEqual([]));
    await openSheet("Apple Pay");
    expect(await findViolations(page)).toEqual([]);
  });
});

describe("every forgery", () => {
  const pairs = Object.entries(forgeries).flatMap(([type, names]) => names.map((name) => [type, name] as const));
  it.each(pairs)("of %s is refused: %s", async (type, forgery) => {
    const opened = await merchant.open();
    const { wallets = [] } = await merchant.look(opened, new URL(demo.file.shopUrl).origin);
    const offered = wallets.find((one) => one.type === type)!;
    const isApple = type === "apple_pay";
    const asked = isApple
      ? { amount: offered.amount, currency: offered.currency, applicationData: offered.binding }
      : { publicKey: offered.google?.publicKey };
    await admin("wallets", { forgery });
    const merchantIdentifier = "merchant.example.roundhouse";
    const send = async () => {
      const made = await fetch(`${demo.sandbox.origin}/wallets/${isApple ? "apple" : "google"}/token`, {
        method: "POST",
        body: JSON.stringify({ ...asked, merchantIdentifier, number: "4000000000008302" }),
      });
      const body = (await made.json()) as { token: string };
      return fetch(`${new URL(opened.vault.sdkUrl).origin}/wallet-tokens`, {
        method: "POST",
        headers: { authorization: `Bearer ${opened.vault.sdkAuthorization}`, "content-type": "application/json" },
        body: JSON.stringify({ wallet: type, token: isApple ? JSON.stringify(body) : body.token }),
      });
    };
    if (forgery === "replay") await send();
    const refused = await send();
    const { code } = (await refused.json()) as { code: string };
    expect(code).toMatch(codes[`${type} ${forgery}`] ?? /^wallet_token_invalid$/);
  });

  const codes: Readonly<Record<string, RegExp>> = {
    "apple_pay version": /^wallet_not_supported$/,
    "apple_pay payment_data": /^wallet_not_supported$/,
    "apple_pay amount": /^wallet_amount_mismatch$/,
    "apple_pay currency": /^wallet_amount_mismatch$/,
    "apple_pay replay": /^wallet_token_used$/,
    "google_pay replay": /^wallet_token_used$/,
    // Google's own roots may be out of reach.
    "google_pay root": /^wallet_(token_invalid|unavailable)$/,
  };
});
