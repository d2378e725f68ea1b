/** The dashboard of the checkout's guards: repeated orders, braking, the block list, erasure, the default rule, and whether live payments are routed to an account. */
import { expect, it } from "vitest";
import { createDashboardClient } from "../../client/dashboard-client.ts";
import { decodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { forFile } from "../testing/for-file.ts";
import { expectSoundEverywhere as look, openDashboard } from "./dashboard-page.ts";

const timeout = 240_000;

const {
  demo,
  context,
  checkout,
  open: openOf,
} = await openDashboard({
  viewport: { width: 1440, height: 900 },
  locale: "en-GB",
});
context.setDefaultTimeout(60_000);
const operator = await forFile(() => createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken)));
// It has saved no rule.
const { merchant } = await operator.merchants.createMerchant({ name: "Corner Coffee" });
const merchantId = merchant!.merchantId!;
const [id, { email }] = [decodeId("mer", merchantId), demo.file.member];
await demo.accountsQuery(`INSERT INTO membership (merchant_id, member_id, role, live_role)
    SELECT '${id}', id, 'OWNER', 'OWNER' FROM member WHERE email = '${email}'`);

const open = (name: string, of = merchantId) => openOf(`/test/${of}/${name}`);

it("refuses repeated orders by a switch, once the member has proved who they are", { timeout }, async () => {
  const page = await open("settings");
  const card = page.getByRole("region", { name: "One order, one payment" });
  const refuses = card.getByRole("switch", { name: "Refuse a second payment of an order" });
  await refuses.waitFor();
  expect(await refuses.isChecked()).toBe(false);
  await demo.accountsQuery("UPDATE sign_in SET proved_at = proved_at - interval '15 minutes'");
  await card.getByText("Refuse a second payment of an order").click();
  await page.getByRole("region", { name: "Unsaved changes" }).getByRole("button", { name: "Save" }).click();
  const proof = page.getByRole("dialog", { name: "Confirm that it is you" });
  await proof.getByLabel("Password").fill(demo.file.member.password);
  await proof.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Saved.").waitFor();
  await expect.poll(() => refuses.isChecked()).toBe(true);
  await look(page);
  await page.reload();
  await expect.poll(() => refuses.isChecked()).toBe(true);
  const { settings } = await operator.settings.getSettings({ merchantId, environment: "ENVIRONMENT_TEST" });
  expect(settings).toMatchObject({ repeatedOrders: "REPEATED_ORDERS_REFUSE" });
  await page.close();
});

it("switches braking on, shows it on Settings and Home, and lets declined cards decide again", {
  timeout,
}, async () => {
  const page = await open("settings");
  const card = page.getByRole("region", { name: "Card testing" });
  await card.getByText("Payments are not restricted.").waitFor();
  await look(page);
  await card.getByLabel("Override for").selectOption("4 hours");
  await card.getByRole("button", { name: "Switch braking on" }).click();
  await card.getByText("Payments have been restricted since").waitFor();
  await card.getByText(/switched braking on until/).waitFor();
  await look(page);
  const home = await open("home");
  await home.getByRole("link", { name: "See the setting" }).waitFor();
  await look(home);
  await home.close();
  await card.getByRole("button", { name: "Remove the override" }).click();
  await card.getByRole("button", { name: "Switch braking on" }).waitFor();
  await page.close();
});

it("blocks a customer on a payment's page, lists the entry, and erases the customer's data", { timeout }, async () => {
  const { merchantId: shop } = demo.file.merchants[0]!;
  const session = await checkout.pay("4242424242424242", {
    customerEmail: "eve@customer.example",
    customerName: "Eve",
  });
  const page = await open(`payments/${session.sessionId}`, shop);
  await page.getByRole("button", { name: "Block this customer…" }).click();
  const dialog = page.getByRole("dialog", { name: "Block this customer" });
  await dialog.getByText("The e-mail address eve@customer.example").click();
  await dialog.getByLabel("Reason").fill("Tried out cards");
  await look(page);
  await dialog.getByRole("button", { name: "Block", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const settings = await open("settings#blocklist", shop);
  await settings.getByText("Tried out cards").waitFor();
  await look(settings);
  await settings.close();
  await page.reload();
  await page.getByRole("button", { name: "Block this customer…" }).waitFor();
  await look(page);
  await page.goto(
    `${demo.file.dashboardOrigin}/test/${shop}/payments/customer?email=${encodeURIComponent("eve@customer.example")}`,
  );
  await page.getByRole("button", { name: "Erase the customer’s data" }).click();
  await page.getByRole("alertdialog").waitFor();
  await look(page);
  await page.getByRole("alertdialog").getByRole("button", { name: "Erase the customer’s data" }).click();
  await page.getByRole("heading", { name: "No payment has this address" }).waitFor();
  await page.close();
});

it("shows the default rule as what is in force, and saves it as version 1", { timeout }, async () => {
  const scope = { merchantId, environment: "ENVIRONMENT_TEST" } as const;
  for (const account of ["one", "two"]) {
    const credentials = { apiKey: `sandbox_test_${account}` };
    const added = await operator.connections.addGatewayConnection({
      ...scope,
      gateway: "SANDBOX_A",
      account,
      credentials,
    });
    const { connectionId = "" } = added.connection!;
    await operator.connections.verifyGatewayConnection({ ...scope, connectionId });
  }
  const page = await open("routing");
  await page.getByText("Default rule in use").waitFor();
  await page.getByText("You have saved no rule, so payments follow the default rule").waitFor();
  await look(page);
  await page.getByRole("button", { name: "Save the default rule as version 1" }).click();
  await page.getByText("Version 1 in use").waitFor();
  await look(page);
  await page.close();
});

it("asks in live whether payments are routed to an account, and sends the answer", { timeout }, async () => {
  const scope = { merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const credentials = { apiKey: "sandbox_test_asked" };
  await operator.connections.addGatewayConnection({ ...scope, gateway: "SANDBOX_A", account: "asked", credentials });
  const page = await context.newPage();
  // Sandbox gateways take no live payments, so the page of live gets the accounts of test.
  const sent: string[] = [];
  await page.route(/\.Gateway(Connection)?Service\//, (route) => {
    const postData = (route.request().postData() ?? "").replace("ENVIRONMENT_LIVE", "ENVIRONMENT_TEST");
    if (route.request().url().endsWith("/VerifyGatewayConnection")) sent.push(postData);
    return route.continue({ postData });
  });
  await page.goto(`${demo.file.dashboardOrigin}/live/${merchantId}/gateways`);
  const verify = page.getByRole("button", { name: "Verify", exact: true });
  await verify.click();
  const question = page.getByRole("group", { name: "Route live payments here?" });
  await question.getByRole("button", { name: "Yes, verify and route" }).waitFor();
  await look(page);
  await question.getByRole("button", { name: "Cancel" }).click();
  await verify.click();
  await question.getByRole("button", { name: "No, only verify" }).click();
  await expect.poll(() => sent).toEqual([expect.stringContaining('"routePayments":false')]);
  await verify.waitFor({ state: "detached" });
  await page.close();
});
