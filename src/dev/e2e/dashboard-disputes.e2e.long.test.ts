/** Disputed payments in the dashboard, in Chromium over a whole demo: counted at home, filtered and marked in the list. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { decodeId } from "../../platform/ids.ts";
import { makeDispute } from "../testing/dashboard/payment-rows.ts";
import { withClient } from "../testing/with-client.ts";
import { expectSound, openDashboard } from "./dashboard-page.ts";

// Axe looks at every state in each look, on a machine that may have much else to do.
const patienceMs = 120_000;

const { demo, checkout, open } = await openDashboard({ locale: "en-GB" });
const url = Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;
const database = {
  rows: (text: string, values: unknown[]) => withClient(url, (client) => client.query(text, values)),
};
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
const pay = async (orderRef: string) => (await checkout.pay("4242424242424242", { orderRef })).sessionId!;
/** Pays with a card whose payment SANDBOX_A disputes after five seconds. */
const payDisputed = async (orderRef: string) => (await checkout.pay("4000000000007403", { orderRef })).sessionId!;
/** Has the worker read the disputes of all accounts until it knows those of these payments. */
async function readDisputes(...sessionIds: string[]): Promise<void> {
  const count = "SELECT id FROM dispute WHERE session_id = ANY ($1::uuid[])";
  const read = async () => {
    await database.rows("UPDATE gateway_feed SET next_read_at = app.clock() WHERE lease_token IS NULL", []);
    return (await database.rows(count, [sessionIds.map((id) => decodeId("ps", id))])).rows;
  };
  await expect.poll(read, { timeout: 60_000, interval: 2_000 }).toHaveLength(sessionIds.length);
}
const rowsOf = (page: Page) => page.getByRole("rowheader").allTextContents();
const dayOf = (date: Date) => date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });

describe("disputed payments in the browser", () => {
  it("are counted at home with the next deadline, and marked in the list, which has them alone by a filter", {
    timeout: patienceMs,
  }, async () => {
    const [soon, late, over] = [inDays(6), inDays(17), inDays(-3)];
    const asked = await pay("asked");
    await makeDispute(database, asked, { stage: "INQUIRY", respondBy: soon });
    await makeDispute(database, await pay("charged"), { respondBy: late });
    await makeDispute(database, await pay("reviewed"), { status: "UNDER_REVIEW" });
    await makeDispute(database, await pay("won"), { status: "WON" });
    await makeDispute(database, await pay("overdue"), { respondBy: over });
    await makeDispute(database, await pay("warned"), { stage: "FRAUD_WARNING", status: "CLOSED" });
    await pay("undisputed");
    const page = await open("home");
    const alert = page.getByRole("listitem").filter({ hasText: "2 disputes need a response." });
    await alert.getByText(`Next deadline: ${dayOf(soon)}`).waitFor();
    await page.getByRole("region", { name: "Newest payments" }).getByText("Reported as fraud").waitFor();
    await expectSound(page);
    await alert.getByRole("link", { name: "See the payments" }).click();
    await expect.poll(() => rowsOf(page)).toEqual(["overdue", "charged", "asked"]);
    await page.getByText("Filters").first().click();
    expect(await page.getByLabel("Dispute", { exact: true }).inputValue()).toBe("needs_response");
    await page.getByRole("link", { name: "Disputed", exact: true }).click();
    await page.getByRole("link", { name: "won" }).waitFor();
    expect(new URL(page.url()).search).toBe("?dispute=any");
    const marks = await page.getByRole("row").locator(".states").allTextContents();
    expect(marks).toEqual([
      "Reported as fraud",
      `Disputed, was due ${dayOf(over)}`,
      "Dispute won",
      "Disputed, under review",
      `Disputed, due ${dayOf(late)}`,
      `Inquiry, due ${dayOf(soon)}`,
    ]);
    await expectSound(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    const table = page.getByRole("region", { name: "Payments" }).last();
    const { scrollWidth, clientWidth } = await table.evaluate(({ scrollWidth, clientWidth }) => ({
      scrollWidth,
      clientWidth,
    }));
    expect(scrollWidth).toBeLessThanOrEqual(clientWidth);
    await page.getByRole("link", { name: "overdue" }).click();
    await page.getByText("The time for an answer ended").waitFor();
    const state = page.getByRole("heading", { level: 1 }).locator(".states");
    expect(await state.textContent()).toBe(`Disputed, was due ${dayOf(over)}`);
    await expectSound(page);
    await page.close();
  });

  it("are answered on the page of the payment: evidence with a file, and an acceptance", {
    timeout: patienceMs,
  }, async () => {
    const [contested, accepted] = [await payDisputed("contested"), await payDisputed("accepted")];
    await readDisputes(contested, accepted);
    const page = await open(`payments/${contested}`);
    await page.getByRole("button", { name: "Submit evidence" }).waitFor({ timeout: 30_000 });
    await expectSound(page);
    await page.getByRole("button", { name: "Submit evidence" }).click();
    await page.getByLabel("Explanation for the bank").fill("winning_evidence");
    const mimeType = "application/pdf";
    await page
      .getByLabel("Add a file")
      .setInputFiles({ name: "receipt.pdf", mimeType, buffer: Buffer.from("%PDF-1.4 receipt") });
    await page.getByText("receipt.pdf was added.").waitFor();
    await page.getByLabel("receipt.pdf").selectOption("receipt");
    await page.getByLabel("Facts of the payment").selectOption("other");
    await expectSound(page);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Evidence is final").waitFor();
    await expectSound(page);
    await page.getByRole("button", { name: "Submit for good" }).click();
    await page.getByText("The evidence is on its way").or(page.getByText("has the evidence since")).waitFor();
    await page.getByText("has the evidence since").waitFor({ timeout: 40_000 });
    await page.close();
    const other = await open(`payments/${accepted}`);
    await other.getByRole("button", { name: "Accept", exact: true }).click();
    await other.getByText("You give up €49.00 for good").waitFor();
    await expectSound(other);
    await other.getByRole("button", { name: "Give up €49.00" }).click();
    await other.getByText("Dispute accepted").first().waitFor({ timeout: 40_000 });
    await other.close();
  });

  it("are linked to the refund by which their gateway settled them", { timeout: patienceMs }, async () => {
    const settled = await pay("settled");
    await makeDispute(database, settled, { status: "LOST", amountMinor: 4900 });
    await database.rows(
      `SELECT FROM attempt a, app.insert_refund(a.session_id, gen_random_uuid(), a.id, a.connection_id, a.gateway, a.amount_minor, a.currency, 'SUCCEEDED',
         'GATEWAY', NULL, NULL, NULL, NULL, 'R-' || a.id, NULL, NULL, false) WHERE a.session_id = $1 AND a.status = 'CAPTURED'`,
      [decodeId("ps", settled)],
    );
    const page = await open(`payments/${settled}`);
    await page.getByRole("button", { name: "Link refund" }).click();
    await page.getByText("it took the money once").waitFor();
    await expectSound(page);
    await page.getByLabel("How you found out").fill("The activity shows one debit.");
    await page.getByRole("button", { name: "Link for good" }).click();
    await page.getByText("settled it: The activity shows one debit.").waitFor();
    await expectSound(page);
    await page.close();
  });

  it("that cannot be read are an alert at home and a topic of the settings", {
    timeout: patienceMs,
  }, async () => {
    // The demo's worker ends an alert whose account can be read.
    await database.rows(
      `INSERT INTO gateway_feed (connection_id, kind, next_read_at, blocked_reason, blocked_at, credential_version)
       SELECT id, 'disputes', app.clock() + interval '1 day', 'the key is not valid', app.clock(), credential_version
       FROM connection WHERE gateway = 'SANDBOX_A'
       ON CONFLICT (connection_id, kind) DO UPDATE
         SET next_read_at = EXCLUDED.next_read_at, blocked_reason = EXCLUDED.blocked_reason, blocked_at = EXCLUDED.blocked_at`,
      [],
    );
    await database.rows(
      `INSERT INTO alert (id, merchant_id, kind, connection_id, gateway, since, detail, send_at)
       SELECT gen_random_uuid(), merchant_id, 'DISPUTES_UNREADABLE', id, gateway, app.clock(), $1, NULL
       FROM connection WHERE gateway = 'SANDBOX_A' ON CONFLICT DO NOTHING`,
      [
        "SANDBOX_A does not let the disputes of this connection be read: the key is not valid. It is tried again once a day.",
      ],
    );
    const page = await open("home");
    const alert = page.getByRole("listitem").filter({ hasText: "Disputes cannot be read" });
    await alert.getByText("Sandbox A does not let the disputes").waitFor();
    await expectSound(page);
    await alert.getByRole("link", { name: "See the gateway" }).click();
    await page.getByText("does not let the disputes").first().waitFor();
    await page.close();
    const settings = await open("settings");
    const topic = settings.getByText("A payment is disputed, an answer is due");
    await topic.waitFor();
    await expectSound(settings);
    await settings.close();
  });
});
