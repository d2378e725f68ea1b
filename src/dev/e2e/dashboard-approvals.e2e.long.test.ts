/** The second person in the dashboard: a live rule waits, another member approves it, and it is in use. In Chromium. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { callRpc, runCommand } from "../testing/run-command.ts";
import { expectSoundEverywhere, recordNoise } from "./dashboard-page.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const [demo, browser] = [await joinTestDemo(), await forFile(launchBrowser)];
const noise: string[] = [];
afterEach(() => expect(noise.splice(0)).toEqual([]));
const folder = mkdtempSync(join(tmpdir(), "approvals-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { merchantId } = demo.file.merchants[0]!;
const live = `${demo.file.dashboardOrigin}/live/${merchantId}`;
const password = "seven words that belong together";

const call = (method: string, request: object) =>
  callRpc(method, request, [...demo.commandOptions, "--environment", "live"]);

/** Routes live payments to an account at Stripe, as a pipeline does. */
async function routeLive() {
  const file = join(folder, "live.yaml");
  const account =
    "{gateway: STRIPE, account: shop, credentialsVersion: 1, credentials: {secretKey: {env: STRIPE_KEY}}}";
  writeFileSync(
    file,
    `merchant: ${merchantId}\nenvironment: live\nconnections: {accounts: [${account}]}\nrouting: {connectionIds: [STRIPE], failoverOn: [TIMEOUT]}\n`,
  );
  const key = `sk_live_shop${randomUUID().replaceAll("-", "")}`;
  expect(await runCommand(["apply", file, ...demo.commandOptions], { env: { STRIPE_KEY: key } })).toMatchObject({
    code: 0,
  });
}

async function newPage(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage();
  recordNoise(page, noise, /40[0139]/);
  await page.goto(address);
  return page;
}

const newContext = () => browser.newContext({ viewport: { width: 1_440, height: 900 }, locale: "en-GB" });

async function enter(email: string, secret: string): Promise<Page> {
  const page = await newPage(await newContext(), `${live}/home`);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(secret);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  return page;
}

/** Adds a second owner, who accepts the invitation's link. */
async function addOwner(email: string): Promise<void> {
  const roles = { role: "ROLE_OWNER", liveRole: "ROLE_OWNER" };
  const { link } = await call("MemberService/MakeInvitationLink", { email, ...roles });
  const page = await newPage(await newContext(), link);
  await page.getByLabel("Your name").fill("Vera");
  await page.getByLabel("Choose a password").fill(password);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("heading", { name: "Home" }).waitFor();
  await page.context().close();
}

it("a changed rule of live waits, is approved by another member, and is then in use", {
  timeout: 300_000,
}, async () => {
  await routeLive();
  await addOwner("vera.owner@example.com");
  const { email, password: own } = demo.file.member;
  const page = await enter(email, own);

  await page.goto(`${live}/settings`);
  await page.getByRole("switch", { name: "Routing" }).click();
  await page.getByRole("switch", { name: "Refunds" }).click();
  await page.getByText("Every refund needs a second person.").waitFor();
  await expectSoundEverywhere(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.").waitFor();

  await page.goto(`${live}/routing`);
  await page.getByRole("switch", { name: "Declines, hard or soft" }).click();
  await page.getByRole("button", { name: "Save as version 2" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Save as version 2" }).click();
  await page.getByText("Waits for a second person.").waitFor();
  await expectSoundEverywhere(page);
  expect((await call("RoutingRuleService/GetRoutingRule", {})).routingRule).toMatchObject({ version: 1 });

  await page.getByRole("link", { name: "See the changes that wait" }).click();
  const waiting = (on: Page) => on.getByRole("region", { name: "1 change waits for a second person" });
  await waiting(page).getByText("After declines, the next gateway is tried.").waitFor();
  expect(await waiting(page).getByRole("button").allTextContents()).toEqual(["Withdraw"]);
  await expectSoundEverywhere(page);

  const mail = demo.mailbox.mails.find(({ to }) => to.includes("vera.owner@example.com"));
  expect(mail?.text).toContain(`${live}/home#approvals`);
  const vera = await enter("vera.owner@example.com", password);
  await waiting(vera).getByText(`Requested by ${email}`).waitFor();
  await expectSoundEverywhere(vera);
  await waiting(vera).getByRole("button", { name: "Approve" }).click();
  const question = vera.getByRole("alertdialog", { name: "Approve this change of live?" });
  await question.getByText("After declines, the next gateway is tried.").waitFor();
  await question.getByRole("button", { name: "Approve" }).click();
  await vera.getByText("The change is approved and made.").waitFor();
  await waiting(vera).waitFor({ state: "detached" });

  const { routingRule } = await call("RoutingRuleService/GetRoutingRule", {});
  expect(routingRule).toMatchObject({ version: 2, setBy: expect.stringContaining(email) });
  expect(routingRule.failoverOn).toContain("HARD_DECLINE");
  await page.goto(`${live}/settings`);
  await page.getByText("by vera.owner@example.com").waitFor();
  await page.getByRole("switch", { name: "Routing" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Waits for a second person.").waitFor();
  await page.getByText("Changes of routing need no second person any more.").waitFor();
  await expectSoundEverywhere(page);
});

it("a copy of test to live waits as a whole, is outdated by a change of live, and is made once it is approved", {
  timeout: 300_000,
}, async () => {
  const { email, password: own } = demo.file.member;
  const page = await enter(email, own);
  await page.goto(`${live}/settings`);
  await page.getByRole("link", { name: "Copy test to live" }).click();
  const choose = async (gateway: string, label: string) =>
    page.getByLabel(`Instead of ${gateway}`).selectOption({ label });
  await choose("Sandbox A", "Stripe (shop)");
  await choose("Sandbox B", "Leave it out of the rule");
  await choose("Sandbox 3DS", "Leave it out of the rule");
  const confirm = async () => {
    await page.getByRole("button", { name: "Apply to live" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Apply to live" }).click();
  };
  const apply = async () => {
    await confirm();
    await page.getByText("Waits for a second person.").waitFor();
  };
  await apply();
  await expectSoundEverywhere(page);

  // An operator changes live, so that the copy would do something else.
  await call("SettingsService/SetSessionLifetime", { sessionLifetimeSeconds: 900 });
  const vera = await enter("vera.owner@example.com", password);
  await vera.getByText("This was changed meanwhile, so it has to be requested again.").waitFor();
  await confirm();
  await page.getByText("The settings were changed meanwhile. Review the current values").waitFor();
  await page.getByText("New sessions accept a payment for").waitFor();
  await apply();

  await vera.reload();
  await vera.getByText("New sessions accept a payment for").first().waitFor();
  await expectSoundEverywhere(vera);
  await vera.getByRole("button", { name: "Approve" }).last().click();
  await vera.getByRole("alertdialog").getByRole("button", { name: "Approve" }).click();
  await vera.getByText("The change is approved and made.").waitFor();
  await page.reload();
  await page
    .getByText("None besides the routing rule.")
    .or(page.getByText("None: live is set up like test."))
    .waitFor();
});
