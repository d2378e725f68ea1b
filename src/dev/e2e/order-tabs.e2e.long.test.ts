/** Two tabs that pay one order of the demo's merchant, which takes one payment for an order, also at two edges. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { PaymentSessionJson } from "../../../gen/payments/v1/payment_session_pb.ts";
import { settingsFileName } from "../../demo/demo-file.ts";
import { startRole } from "../../demo/roles.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { PlainShop } from "./plain-shop.ts";

const [demo, browser] = await Promise.all([forFile(startTestDemo), forFile(launchBrowser)]);
const shop = await forFile(() => PlainShop.start(demo.file));
// A second edge over the same database, and a shop whose pages call it.
const port = await freePortRange(2);
const settings = parseEnv(readFileSync(join(demo.stateFolder, settingsFileName), "utf8")) as Record<string, string>;
const variables = { ...settings, SWITCHYARD_PUBLIC_PORT: `${port}`, SWITCHYARD_GRPC_PORT: `${port + 1}` };
await forFile(() => startRole("edge", { variables, logFile: join(demo.stateFolder, "edge-2.log") }));
const otherShop = await forFile(() => PlainShop.start(demo.file, `http://127.0.0.1:${port}`));

async function openTab(orderRef: string, at = shop) {
  const { session, url } = await at.sell({ orderRef });
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(url);
  return { session, page, results: () => at.resultsOf(session).map(({ name }) => name) };
}

async function enterCard(page: Page): Promise<void> {
  const form = page.frameLocator("#card iframe");
  await form.getByLabel("Card number").fill("4242424242424242");
  await form.getByLabel("Expiry date").fill("04/31");
  await form.getByLabel("Security code").fill("123");
}
const payButton = (page: Page) => page.getByRole("button", { name: "Pay €49.00" });

it("charges one of two tabs, and says in the other what happens to the order", async () => {
  const orderRef = `order-${randomUUID()}`;
  const [one, other] = [await openTab(orderRef), await openTab(orderRef)];
  await enterCard(one.page);
  await enterCard(other.page);

  await demo.sandbox.hold("a.capture");
  await payButton(one.page).click();
  await demo.sandbox.paused({ operation: "a.capture" });
  await payButton(other.page).click();
  await other.page.getByText("This order is being paid in another tab or window.").waitFor();
  // A tab that is opened now has no card form, and offers to look again.
  const third = await openTab(orderRef);
  await third.page.getByText("This order is being paid in another tab or window.").waitFor();
  const again = third.page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  expect(await third.page.locator("#card iframe").count()).toBe(0);

  await demo.sandbox.release({});
  await one.page.getByText("Payment complete.").waitFor();
  await again.click();
  await third.page.getByText("This order has already been paid.").waitFor();
  await payButton(other.page).click();
  await other.page.getByText("This order has already been paid.").waitFor();

  await expect.poll(one.results).toContain("onSuccess");
  await expect.poll(other.results).toEqual(["onReady", "onError", "onDeclined"]);
  const api = new ApiCheckout(demo.file);
  // The page has asked before it would submit, so its session is still open; a submission ends it.
  expect(await api.read(other.session.sessionId)).toMatchObject({ status: "CREATED" });
  await api.submit(other.session, await api.tokenize(other.session, "4242424242424242"));
  const [paid, refused] = [await api.read(one.session.sessionId), await api.read(other.session.sessionId)];
  expect(paid).toMatchObject({ status: "SUCCEEDED" });
  expect(refused).toMatchObject({ status: "DECLINED", declineCode: "order_already_paid" });
  expect(refused).toMatchObject({ payingSessionId: one.session.sessionId });
  expect(await holdsOf(paid, refused)).toEqual(["captured"]);
});

async function holdsOf(...sessions: PaymentSessionJson[]): Promise<string[]> {
  const attempts = sessions.flatMap((session) => session.attempts ?? []);
  const records = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
  return records.flat().map(({ status }) => status);
}

it("charges one of two tabs that pay at one moment through two edges", async () => {
  const orderRef = `order-${randomUUID()}`;
  const tabs = [await openTab(orderRef), await openTab(orderRef, otherShop)];
  await Promise.all(tabs.map(({ page }) => enterCard(page)));
  await demo.sandbox.hold("a.authorize");
  await Promise.all(tabs.map(({ page }) => payButton(page).click()));
  await expect.poll(() => demo.sandbox.paused({ operation: "a.authorize" })).toBe(2);
  await demo.sandbox.release({});

  const api = new ApiCheckout(demo.file);
  const read = () => Promise.all(tabs.map(({ session }) => api.read(session.sessionId)));
  await expect.poll(async () => (await read()).map(({ status }) => status).sort()).toEqual(["DECLINED", "SUCCEEDED"]);
  const sessions = await read();
  const won = sessions.findIndex(({ status }) => status === "SUCCEEDED");
  const [paid, refused] = [sessions[won]!, sessions[1 - won]!];
  await tabs[won]!.page.getByText("Payment complete.").waitFor();
  await tabs[1 - won]!.page.getByText(/^This order (is being|has already been) paid/).waitFor();
  expect(refused.payingSessionId).toBe(paid.sessionId);
  expect(refused.declineCode).toMatch(/^order_(being|already)_paid$/);
  const attempts = async () => (await api.read(refused.sessionId!)).attempts;
  await expect.poll(attempts).toMatchObject([{ gateway: "SANDBOX_A", status: "VOIDED" }]);
  expect((await holdsOf(paid, refused)).sort()).toEqual(["captured", "voided"]);
});
