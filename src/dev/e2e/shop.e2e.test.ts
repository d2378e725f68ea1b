/** The demo shop in a real browser: a decline, another card, and the order page, under the shop's strict policy. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Page } from "playwright-core";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { bundleWidget } from "../../../widget/bundle.ts";
import { startShop } from "../../shop/shop.ts";
import { startVaultFixture, testCard } from "../../vault/vault.fixture.ts";
import { launchBrowser } from "../testing/browser.ts";
import { CheckoutEmulator, clientSecretOf, emulatorSession } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";

const signingKey = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

let sessionsMade = 0;
let page: Page;
/** The answer of GET /payment-sessions/{sessionId}. */
let session: { orderRef: string; [field: string]: unknown };
/** The errors of the pages: scripts that failed, and everything that their policy blocked. */
let complaints: string[];

const [files, startedVault, launched] = await Promise.all([bundleWidget(), startVaultFixture(), launchBrowser()]);
const [vault, browser] = [startedVault, launched];
const vaultOrigin = vault.vault.origins.public.replace("127.0.0.1", "localhost");
const checkout = await forFile(() =>
  CheckoutEmulator.start({
    vaultOrigin,
    fallback: (request, response) => {
      const file = files.get(request.url?.replace("/widget/v1/", "") ?? "");
      // The checkout page loads from other hosts only resources that allow it, as the edge does.
      response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
      response.writeHead(file ? 200 : 404, { "Content-Type": file?.contentType ?? "text/plain" }).end(file?.bytes);
    },
  }),
);
const rest = await forFile(() =>
  createServer(async (request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify(session));
    const { orderRef, amountMinor } = (await json(request)) as { orderRef: string; amountMinor: number };
    const sessionId = `${emulatorSession}${++sessionsMade}`;
    session = { sessionId, orderRef, status: "CREATED", attempts: [] };
    const sdkAuthorization = await vault.grant(sessionId);
    const framePolicy = await vault.policy([shop.origin]);
    const created = { sessionId, clientSecret: clientSecretOf(sessionId), amountMinor };
    const configuration = { mode: "self_hosted", sdkUrl: `${vaultOrigin}/sdk.js`, sdkAuthorization, framePolicy };
    response.writeHead(201).end(JSON.stringify({ ...created, vault: configuration }));
  }).listen(0, "127.0.0.1"),
);
await once(rest, "listening");
const shop = await forFile(() =>
  startShop({
    restBase: `http://127.0.0.1:${(rest.address() as AddressInfo).port}`,
    apiOrigin: checkout.origin,
    vaultOrigin,
    secretKey: { read: () => "switchyard_test_sk_shop", replace: () => {} },
    signingSecret: `switchyard_test_${signingKey}`,
    port: 0,
    testCards: [
      {
        number: testCard.number,
        name: "Approved",
        group: "Approved",
        behaviour: "",
        outcome: "SUCCEEDED via SANDBOX_A.",
      },
    ],
  }),
);

afterAll(async () => {
  await browser.close();
  rest.closeAllConnections();
  await vault.close();
});

beforeEach(async () => {
  page = await browser.newPage();
  complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
});

async function payByCard(): Promise<void> {
  // While a payment runs the button is disabled.
  await page.getByRole("button", { name: "Pay €49.00", disabled: false }).waitFor();
  const frame = page.frameLocator("#card iframe");
  await frame.getByLabel("Card number").fill(testCard.number);
  await frame.locator("#expiry").fill("04/31");
  await frame.locator("#cvc").fill("123");
  await page.getByRole("button", { name: "Pay €49.00" }).click();
}

async function sendSucceeded(): Promise<void> {
  const body = JSON.stringify({ type: "payment_session.succeeded", data: { orderRef: session.orderRef } });
  const sentAt = new Date();
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(Math.floor(sentAt.getTime() / 1000)),
    "webhook-signature": new Webhook(signingKey).sign("evt_1", sentAt, body),
  };
  await fetch(`${shop.origin}/webhooks`, { method: "POST", headers, body });
}

describe("the demo shop", () => {
  it("sells by another card after a decline, and shows the payment and its webhook as they arrive", async () => {
    await page.goto(shop.origin);
    await page.getByRole("button", { name: "Buy now" }).click();
    checkout.onSubmit = () => checkout.decline("insufficient_funds");
    await payByCard();
    await page.getByRole("alert").getByText("not enough money").waitFor();

    session = { ...session, status: "DECLINED" };
    checkout.reopen();
    checkout.onSubmit = () => checkout.succeed();
    await payByCard();
    await page.waitForURL(`${shop.origin}/orders/${session.orderRef}`);

    session = { ...session, status: "SUCCEEDED", capturedVia: "SANDBOX_B", failover: true };
    await page.getByText("after failover").waitFor();
    await sendSucceeded();
    await page.getByText("Signature verified").waitFor();
    expect(complaints).toEqual([]);
  });
});
