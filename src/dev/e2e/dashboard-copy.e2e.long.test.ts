/** Copying the configuration of test to live in the dashboard, in Chromium over a whole demo. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { callRpc, runCommand } from "../testing/run-command.ts";
import { expectSoundEverywhere, openDashboard } from "./dashboard-page.ts";

const { demo, open, urlOf } = await openDashboard({ locale: "en-GB", statuses: /40[0139]/ });
const folder = mkdtempSync(join(tmpdir(), "copy-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { merchantId } = demo.file.merchants[0]!;

const call = (method: string, request: object, environment: "test" | "live") =>
  callRpc(method, request, [...demo.commandOptions, "--environment", environment]);

/** Connects STRIPE in live by a file, as a pipeline does. */
async function connectStripe() {
  const file = join(folder, "live.yaml");
  writeFileSync(
    file,
    `merchant: ${merchantId}
environment: live
connections:
  accounts: [{gateway: STRIPE, account: shop, credentialsVersion: 1, credentials: {secretKey: {env: STRIPE_KEY}}}]
routing: {connectionIds: [STRIPE], failoverOn: [TIMEOUT]}
`,
  );
  const key = `sk_live_shop${randomUUID().replaceAll("-", "")}`;
  const applied = await runCommand(["apply", file, ...demo.commandOptions], { env: { STRIPE_KEY: key } });
  expect(applied).toMatchObject({ code: 0, err: "" });
  expect(applied.out + applied.err).not.toContain(key);
}

it("copies rule, settings and endpoints, with the accounts that a person chose and no address of a developer's machine", {
  timeout: 300_000,
}, async () => {
  await connectStripe();
  const checkoutOrigins = ["https://shop.example.com", "http://localhost:3000"];
  await call("SettingsService/SetCheckoutOrigins", { checkoutOrigins }, "test");
  const page = await open(urlOf("settings", "live"));
  await page.getByRole("link", { name: "Copy test to live" }).click();
  await page.getByRole("heading", { level: 1, name: "Copy test to live" }).waitFor();
  const choose = (gateway: string) => page.getByLabel(`Instead of ${gateway}`);
  await choose("Sandbox A").waitFor();
  await page.getByText("The routing rule is not part of the plan until each account is chosen.").waitFor();
  await choose("Sandbox A").selectOption({ label: "Stripe (shop)" });
  await choose("Sandbox B").selectOption({ label: "Leave it out of the rule" });
  await choose("Sandbox 3DS").selectOption({ label: "Stripe (shop)" });
  await page.getByText("This is no verified connection of a provider of authentication.").waitFor();
  await choose("Sandbox 3DS").selectOption({ label: "Leave it out of the rule" });
  await page.getByRole("heading", { name: "Routing rule" }).waitFor();
  await page.getByText("The checkout is shown at https://shop.example.com.").waitFor();
  await page.getByText("http://localhost:3000: it is on a developer's machine.").waitFor();
  await expectSoundEverywhere(page);
  await page.getByRole("button", { name: "Apply to live" }).click();
  const dialog = page.getByRole("alertdialog");
  await dialog.getByText("All changes are made together, or none.").waitFor();
  await dialog.getByRole("button", { name: "Apply to live" }).click();
  await page.getByText("None: live is set up like test.").waitFor();
  const { configuration } = await call("ConfigurationService/GetConfiguration", {}, "live");
  expect(configuration).toMatchObject({
    routing: { connectionIds: ["STRIPE"], failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] },
    checkout: { origins: ["https://shop.example.com"] },
  });
  expect(JSON.stringify(configuration)).not.toContain("localhost");
  await page.close();
});
