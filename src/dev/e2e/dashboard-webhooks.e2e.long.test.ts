/** The dashboard's pages about webhooks in a browser, with a real receiver behind the endpoint. */
import type { Locator } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { Receiver } from "../testing/receiver.ts";
import { findViolations } from "./accessibility.ts";
import { expectSound, openDashboard } from "./dashboard-page.ts";
import { narrowAtLast } from "./each-look.ts";

// Each test goes through several pages, on a machine that may be busy.
const patienceMs = 90_000;

const { demo, checkout, open, urlOf } = await openDashboard({ permissions: ["clipboard-read", "clipboard-write"] });
const receiver = await forFile(Receiver.start);
const page = await open("webhooks");
beforeEach(() => page.goto(urlOf("webhooks")));

const card = () => page.getByRole("region", { name: receiver.url });
const press = (name: string) => card().getByRole("button", { name, exact: true }).click();
const isSaid = (text: string | RegExp) => card().getByText(text).first().waitFor();

const pay = async () => (await checkout.pay("4242424242424242")).sessionId!;

async function expireProof(): Promise<void> {
  await demo.accountsQuery("UPDATE sign_in SET proved_at = proved_at - interval '15 minutes'");
}

async function prove(): Promise<void> {
  const proof = page.getByRole("dialog", { name: "Confirm that it is you" });
  await proof.getByLabel("Password").fill(demo.file.member.password);
  await proof.getByRole("button", { name: "Confirm" }).click();
}

describe("the webhook pages", () => {
  it("register an endpoint, show its secret once, and verify it by a test event", { timeout: patienceMs }, async () => {
    await page.getByRole("button", { name: "Register an endpoint" }).click();
    const form = page.getByRole("region", { name: "Register an endpoint" });
    await form.getByLabel("Every event").uncheck();
    await form.getByLabel("payment_session.succeeded").check();
    // The problem goes as the last letter is typed, so the button stands still under the press.
    const problem = form.locator(".problem");
    await form.getByLabel("URL").fill("no address");
    await form.getByRole("button", { name: "Register" }).click();
    await problem.waitFor();
    await form.getByLabel("URL").fill(receiver.url);
    await problem.waitFor({ state: "detached" });
    await form.getByRole("button", { name: "Register" }).click();
    const secret = page.locator("code").filter({ hasText: /_whsec_/ });
    const shown = await secret.textContent();
    await page.getByRole("button", { name: "I have stored it" }).click();
    await isSaid("Not verified");
    expect(await page.content()).not.toContain(shown!);
    receiver.answerWith({ status: 500 });
    await press("Send a test event");
    await isSaid(/answered 500 .* requires a 2xx/);
    receiver.answerWith({ status: 204 });
    await press("Send a test event");
    await isSaid(/answered 204 .* is verified/);
    await isSaid("Enabled");
    expect(await card().textContent()).toContain("Receives payment_session.succeeded");
  });

  it("show a delivery as it proceeds, with the response as text, and send it again", {
    timeout: patienceMs,
  }, async () => {
    await page.getByRole("link", { name: "Deliveries" }).first().click();
    const option = page.getByRole("option").filter({ hasText: receiver.url });
    await page.getByLabel("Endpoint").selectOption(await option.getAttribute("value"));
    const tests = page.locator('[aria-label="Deliveries"][aria-busy="false"]').getByText("webhook_endpoint.test");
    await expect.poll(() => tests.count()).toBe(2);
    const markup = '<img src=x onerror="alert(1)">';
    receiver.answerWith({ status: 503, body: markup });
    const sessionId = await pay();
    // The page was not reloaded.
    const row = page.getByRole("row").filter({ hasText: "payment_session.succeeded" });
    await row.getByText("Next attempt").waitFor({ timeout: 30_000 });
    await expect.poll(() => page.locator("[aria-live=polite]").allTextContents()).toContain("1 new delivery");
    // On a phone it takes three lines while it has a next step, and a delivered one two.
    await page.setViewportSize({ width: 390, height: 844 });
    const heightOf = async (line: Locator) => (await line.boundingBox())!.height;
    const delivered = page.getByRole("row").filter({ hasText: "webhook_endpoint.test" }).first();
    expect([(await heightOf(row)) < 100, (await heightOf(delivered)) < 70]).toEqual([true, true]);
    await row.getByText("Waiting", { exact: true }).waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(new URL(page.url()).search).toContain("endpoint=we_");
    await page.getByLabel("State").selectOption("succeeded");
    await row.waitFor({ state: "detached" });
    await tests.first().waitFor();
    await page.getByLabel("State").selectOption("");
    await page.getByLabel("Event or payment").fill(sessionId);
    await page.getByRole("button", { name: "Find" }).click();
    await row.getByRole("link").click();
    await page.getByText("503").first().waitFor();
    expect(await page.locator("td .excerpt").first().textContent()).toBe(markup);
    receiver.answerWith({ status: 204 });
    await page.getByRole("button", { name: "Resend" }).click();
    await page.getByText(/Your server accepted it: 204/).waitFor();
    await page.getByText("Succeeded", { exact: true }).waitFor();
    await page.getByText("Raw request").click();
    await page.locator("pre").filter({ hasText: sessionId }).waitFor();
  });

  it("pause, change, and rotate the secret after a proof, with both secrets signing for a while", {
    timeout: patienceMs,
  }, async () => {
    await press("Pause");
    await isSaid("Paused");
    await pay();
    await press("Resume");
    await isSaid("Enabled");
    await card().getByText("Change this endpoint").click();
    await card().getByLabel("Every event").check();
    await expireProof();
    await press("Save");
    await prove();
    await isSaid("Receives every event.");
    await expireProof();
    await card().getByLabel("The old secret stops").selectOption("after an hour");
    await press("Create a new secret");
    await prove();
    await card()
      .locator("code")
      .filter({ hasText: /_whsec_/ })
      .waitFor();
    await isSaid("Webhooks are also signed with the previous secret");
  });

  it("report an endpoint that is gone, and send what it missed once it is there again", {
    timeout: patienceMs,
  }, async () => {
    receiver.answerWith({ status: 410 });
    await pay();
    await isSaid(/Disabled since .* answered 410/);
    await pay();
    await page.getByRole("link", { name: "Alerts" }).click();
    const alert = page.getByRole("region", { name: receiver.url });
    await alert.getByText("Disabled: it answered 410").waitFor();
    expect(await findViolations(page)).toEqual([]);
    await alert.getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText("No alerts").waitFor();
    await page.getByLabel("Show acknowledged alerts").check();
    await alert.getByText(/Acknowledged .* by /).waitFor();
    await page.getByRole("link", { name: "Endpoints" }).click();
    receiver.requests.length = 0;
    receiver.answerWith({ status: 204 });
    await press("Enable");
    await isSaid(/events? (was|were) not delivered while it was disabled/);
    await press("Send again");
    await isSaid(/[1-9] queued\./);
    await receiver.waitForCount(1);
  });

  it("break no rule of WCAG 2.2 AA and scroll one way", { timeout: patienceMs }, async () => {
    const delivery = page.getByRole("row").filter({ hasText: "payment_session.succeeded" }).getByRole("link").first();
    for (const name of ["webhooks", "webhooks/deliveries", "", "webhooks/alerts"]) {
      if (name === "") await delivery.click();
      else await page.goto(urlOf(name));
      await page.getByRole("status").filter({ hasText: "is loading" }).waitFor({ state: "detached" });
      if (name === "webhooks") {
        await page.getByText("Change this endpoint").first().click();
        await page.getByRole("button", { name: "Register an endpoint" }).click();
      }
      if (name === "") await page.getByText("Scheduled attempts").waitFor();
      await expectSound(page, narrowAtLast);
    }
  });
});
