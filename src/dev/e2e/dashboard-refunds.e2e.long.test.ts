/** Refunds in the dashboard, in Chromium over a whole demo: made whole and in part, in doubt, listed and limited. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { decodeId } from "../../platform/ids.ts";
import { withClient } from "../testing/with-client.ts";
import { expectSound, openDashboard } from "./dashboard-page.ts";

// Axe looks at every state in each look, on a machine that may have much else to do.
const patienceMs = 120_000;
const approved = "4242424242424242";
const cards = { refused: "4000000000007197", failover: "4000000000000002" };

const { demo, checkout, noise, open } = await openDashboard({ locale: "en-GB", statuses: /40[0134]|412|422/ });
const actions = (page: Page) => page.locator(".payment-actions");
const dialog = (page: Page) => page.getByRole("dialog");
const refunds = (page: Page) => page.getByRole("region", { name: "Refunds" }).getByRole("listitem");
const refundsOf = async (sessionId: string) => (await checkout.read(sessionId)).refunds ?? [];

async function query(text: string, values: readonly unknown[] = []): Promise<void> {
  const url = Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;
  await withClient(url, (client) => (values.length === 0 ? client.query(text) : client.query(text, [...values])));
}

describe("a refund in the browser", () => {
  it("is of the whole second payment, from the alert at home, once however often it is pressed", {
    timeout: patienceMs,
  }, async () => {
    await checkout.pay(approved, { orderRef: "twice-1" });
    const second = await checkout.pay(approved, { orderRef: "twice-1" });
    const page = await open("home");
    await page.getByRole("link", { name: "Refund the newest one" }).click();
    expect(new URL(page.url()).pathname).toContain(second.sessionId);
    expect(await dialog(page).getByLabel("Amount in EUR").inputValue()).toBe("49.00");
    expect(await dialog(page).getByLabel("Reason").inputValue()).toBe("duplicate");
    await expectSound(page);
    await dialog(page).getByRole("button", { name: "Continue" }).click();
    await dialog(page).getByRole("heading", { name: "Refund €49.00 at Sandbox A?" }).waitFor();
    await dialog(page).getByText("Visa ending in 4242").waitFor();
    await expectSound(page);
    await dialog(page).getByRole("button", { name: "Refund €49.00" }).dblclick();
    await dialog(page).waitFor({ state: "detached" });
    await page.getByText("The refund of €49.00 is recorded.").waitFor();
    await refunds(page).first().getByText("Succeeded", { exact: true }).waitFor();
    expect(await refunds(page).count()).toBe(1);
    await page.getByText("€49.00 refunded.").waitFor();
    expect(await actions(page).getByRole("button", { name: "Refund" }).isDisabled()).toBe(true);
    await actions(page)
      .getByText(/^Nothing is left to refund/)
      .waitFor();
    const timeline = page.getByRole("region", { name: "Timeline" });
    await timeline.getByText(/Refunded 49\.00 EUR, reference /).waitFor();
    await timeline.getByText("Requested a refund of 49.00 EUR").waitFor();
    await expectSound(page);
    expect(await refundsOf(second.sessionId!)).toMatchObject([{ amountMinor: 4900, reason: "duplicate" }]);
    // The page that is loaded again opens no form, and the alert is gone.
    expect(new URL(page.url()).search).toBe("");
    await page.getByRole("link", { name: "Home" }).click();
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.getByText("Nothing needs attention.").waitFor();
    await page.close();
  });

  it("is of a part, by keys alone, after the member has proved their identity", { timeout: patienceMs }, async () => {
    const { sessionId } = await checkout.pay(cards.failover, { orderRef: "part-1" });
    await demo.accountsQuery("UPDATE sign_in SET proved_at = proved_at - interval '15 minutes'");
    const page = await open(`payments/${sessionId}`);
    await actions(page).getByRole("button", { name: "Refund" }).focus();
    await page.keyboard.press("Enter");
    await dialog(page).getByLabel("Amount in EUR").waitFor();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("49.01");
    await page.keyboard.press("Enter");
    await dialog(page).getByText("Enter an amount above zero, up to 49.00 EUR.").waitFor();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("7,00");
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("heading", { name: "Refund €7.00 at Sandbox B?" }).waitFor();
    // A second Enter does not confirm.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Back");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByLabel("Password").fill(demo.file.member.password);
    await page.keyboard.press("Enter");
    await page.getByText("€7.00 refunded, €42.00 can still be refunded.").waitFor();
    // Sandbox B accepts, and reports the end later.
    await refunds(page).first().getByText("Succeeded", { exact: true }).waitFor();
    expect(await refundsOf(sessionId!)).toMatchObject([{ amountMinor: 700, gateway: "SANDBOX_B" }]);
    expect(await actions(page).getByRole("button", { name: "Refund" }).isEnabled()).toBe(true);
    await page.close();
  });

  it("says why it failed, and what is left", { timeout: patienceMs }, async () => {
    const { sessionId } = await checkout.pay(cards.refused, { orderRef: "refused-1" });
    const page = await open(`payments/${sessionId}`);
    await actions(page).getByRole("button", { name: "Refund" }).click();
    await dialog(page).getByLabel("Your reference").fill("return-77");
    await dialog(page).getByRole("button", { name: "Continue" }).click();
    await dialog(page).getByRole("button", { name: "Refund €49.00" }).click();
    await refunds(page).first().getByText("Failed", { exact: true }).waitFor();
    await page.getByText("Nothing is refunded, €49.00 can still be refunded.").waitFor();
    await expectSound(page);
    await page.close();
  });

  it("repeats under the key of its form when no answer arrives", { timeout: patienceMs }, async () => {
    const { sessionId } = await checkout.pay(approved, { orderRef: "lost-1" });
    const page = await open(`payments/${sessionId}`);
    await actions(page).getByRole("button", { name: "Refund" }).click();
    await dialog(page).getByLabel("Amount in EUR").fill("5");
    await dialog(page).getByRole("button", { name: "Continue" }).click();
    // The request arrives, and its answer is lost.
    await page.route(
      "**/RefundPayment",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await dialog(page).getByRole("button", { name: "Refund €5.00" }).click();
    await dialog(page)
      .getByRole("alert")
      .getByText(/^No answer arrived, so the refund may be recorded/)
      .waitFor();
    await dialog(page).getByRole("button", { name: "Back" }).click();
    await dialog(page).getByLabel("Amount in EUR").fill("6");
    await dialog(page).getByRole("button", { name: "Continue" }).click();
    await dialog(page).getByRole("button", { name: "Refund €6.00" }).click();
    await dialog(page)
      .getByRole("alert")
      .getByText(/^An earlier request of this form has arrived/)
      .waitFor();
    await expectSound(page);
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await page.getByText("€5.00 refunded, €44.00 can still be refunded.").waitFor();
    expect(await refundsOf(sessionId!)).toMatchObject([{ amountMinor: 500 }]);
    // The browser's own line about the lost answer.
    expect(noise.splice(0)).toEqual([expect.stringContaining("ERR_FAILED")]);
    await page.close();
  });

  it("in doubt says so plainly, and an owner records its end", { timeout: patienceMs }, async () => {
    const { sessionId } = await checkout.pay(approved, { orderRef: "doubt-1" });
    await demo.sandbox.setDown("A", true);
    onTestFinished(() => demo.sandbox.setDown("A", false));
    const page = await open(`payments/${sessionId}`);
    await actions(page).getByRole("button", { name: "Refund" }).click();
    await dialog(page).getByRole("button", { name: "Continue" }).click();
    await dialog(page).getByRole("button", { name: "Refund €49.00" }).click();
    const card = refunds(page).first();
    await card.getByText("Nothing was sent to Sandbox A yet.").waitFor();
    expect(await actions(page).getByRole("button", { name: "Refund" }).isDisabled()).toBe(true);
    await openAlarm((await refundsOf(sessionId!))[0]!.refundId!);
    await page.reload();
    await page.getByText("€49.00 refunded or pending.").waitFor();
    await card.getByText("Sandbox A does not answer.").waitFor();
    await card.getByRole("button", { name: "Record its end" }).click();
    await expectSound(page);
    const form = card.getByRole("form", { name: "Record the end of the refund" });
    await form.getByLabel("What you found there").selectOption({ label: "The refund was never made" });
    await form.getByLabel("What you have seen, and where").fill("No refund at the gateway.");
    await form.getByRole("button", { name: "Record as never made" }).click();
    await card.getByText("Failed: a person found that the gateway has no such refund").waitFor();
    await page.getByText("Nothing is refunded, €49.00 can still be refunded.").waitFor();
    await page.close();
  });
});

/** Moves what happened to orders to noon of a past day, which no guard allows, and which was added up without them. */
async function moveToDay(day: string, orders: string): Promise<void> {
  const merchantId = decodeId("mer", demo.file.merchants[0]!.merchantId);
  const own = `SELECT id FROM payment_session WHERE merchant_id = '${merchantId}' AND order_ref LIKE '${orders}'`;
  await query(
    `BEGIN; SET LOCAL session_replication_role = replica;
     UPDATE refund SET succeeded_at = '${day}T12:00:01Z' WHERE session_id IN (${own});
     UPDATE payment_session SET settled_at = '${day}T12:00:00Z' WHERE id IN (${own});
     DELETE FROM ledger_sum; UPDATE ledger_walk SET counted_until = '-infinity'; COMMIT`,
  );
}

/** Opens the alarm that a worker opens after an hour without an answer. */
async function openAlarm(refundId: string): Promise<void> {
  await query(
    `INSERT INTO work_item (id, kind, merchant_id, session_id, attempt_id, rule, detail)
     SELECT gen_random_uuid(), 'REFUND_UNANSWERED', merchant_id, session_id, attempt_id, $2, 'SANDBOX_A does not answer.'
     FROM refund WHERE id = $1`,
    [decodeId("ref", refundId), refundId],
  );
}

describe("the pages about refunds", () => {
  it("list them by filters in the address, and write them as CSV", { timeout: patienceMs }, async () => {
    const page = await open("refunds");
    await page.getByRole("row").nth(1).waitFor();
    await expectSound(page);
    await page.getByRole("link", { name: "Failed", exact: true }).click();
    await expect.poll(() => new URL(page.url()).search).toBe("?status=failed");
    await page.locator("summary").click();
    await page.getByLabel("Whole id or reference").fill("return-77");
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    await expect.poll(() => page.getByRole("rowheader").allTextContents()).toEqual(["refused-1return-77"]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    const [headings, row, rest] = readFileSync(await download.path(), "utf8").split("\r\n");
    expect(headings).toContain("gateway_reference");
    expect(row).toMatch(/^ref_\w{26},ps_\w{26},refused-1,49\.00,4900,EUR,FAILED,SANDBOX_A,/);
    expect(row).toContain(`,return-77,${demo.file.member.email}`);
    expect(rest).toBe("");
    await page.getByRole("button", { name: "Clear all" }).click();
    await page.locator("summary").getByText("Filters", { exact: true }).click();
    await page.getByLabel("Whole id or reference").fill("nothing like it");
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    await page.getByRole("heading", { name: "No refund matches the filters" }).waitFor();
    await page.close();
  });

  it("show the ledger of past days, with its file, and say that a day is not over", {
    timeout: patienceMs,
  }, async () => {
    const { sessionId } = await checkout.pay(approved, { orderRef: "ledger-1", amountMinor: 12_345 });
    await checkout.pay(cards.failover, { orderRef: "ledger-2", currency: "JPY", amountMinor: 500 });
    expect((await checkout.refund(sessionId!, "ledger", { amountMinor: 345 })).status).toBe(201);
    await moveToDay("2026-03-04", "ledger-%");
    const page = await open("ledger?day=2026-03-03");
    await page.getByRole("heading", { name: "No money moved on 3 Mar 2026" }).waitFor();
    await expectSound(page);
    await page.getByLabel("To, included (UTC)").fill("2026-03-04");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("heading", { name: "Totals of 3 Mar 2026 to 4 Mar 2026" }).waitFor();
    expect(await page.getByRole("row").allTextContents()).toEqual([
      "GatewayCurrencyCapturedRefundedNet",
      "Sandbox AEUR€123.451 entry€3.451 entry€120.00",
      "Sandbox BJPYJP¥5001 entry–JP¥500",
    ]);
    await expectSound(page);
    // Too narrow for its columns, the table says so at its edges, and scrolls by keyboard.
    const wide = page.viewportSize()!;
    const cutEdges = () => page.locator(".table-frame").getAttribute("data-more");
    await expect.poll(cutEdges).toBe("");
    await page.setViewportSize({ width: 320, height: wide.height });
    await expect.poll(cutEdges).toBe("end");
    await page.getByRole("region", { name: "Totals table" }).press("ArrowRight");
    await expect.poll(cutEdges).toBe("start end");
    await page.setViewportSize(wide);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download every entry (CSV)" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("ledger-test-2026-03-03-to-2026-03-04.csv");
    expect(readFileSync(await download.path(), "utf8").split("\r\n")).toHaveLength(5);
    const today = new Date().toISOString().slice(0, 10);
    await page.getByRole("link", { name: "Yesterday" }).click();
    await expect.poll(() => new URL(page.url()).search).toMatch(/^\?day=/);
    await page.goto(page.url().replace(/day=.*$/, `day=${today}`));
    await page.getByText(`day must be over: the ledger of ${today} is complete shortly after midnight UTC.`).waitFor();
    await page.close();
  });

  it("limit what a member may refund per day, and say what is left", { timeout: patienceMs }, async () => {
    const { sessionId } = await checkout.pay(approved, { orderRef: "limit-1", currency: "USD" });
    const page = await open("settings");
    const form = page.getByRole("region", { name: "Refunds by owners" });
    const save = page.getByRole("region", { name: "Unsaved changes" }).getByRole("button", { name: "Save" });
    await form.getByLabel("Currency of a new limit").fill("ABC");
    await form.getByRole("button", { name: "Add a limit" }).click();
    await form.getByText("Choose a currency without a limit, such as EUR.").waitFor();
    await form.getByLabel("Currency of a new limit").fill("USD");
    await form.getByRole("button", { name: "Add a limit" }).click();
    const limit = form.getByLabel("Limit in USD", { exact: true });
    await limit.fill("ten");
    await save.click();
    await form.getByText(/^USD ten is not a limit/).waitFor();
    await limit.fill("10");
    await save.click();
    await page.getByText("Saved.").waitFor();
    await expect.poll(() => limit.inputValue()).toBe("10.00");
    await expectSound(page);
    await page.goto(page.url().replace("settings", `payments/${sessionId}`));
    const refund = async (amount: string) => {
      await actions(page).getByRole("button", { name: "Refund" }).click();
      await dialog(page).getByLabel("Amount in USD").fill(amount);
      await dialog(page).getByRole("button", { name: "Continue" }).click();
      await dialog(page)
        .getByRole("button", { name: /^Refund / })
        .click();
    };
    await refund("8.00");
    await page.getByText("US$8.00 refunded, US$41.00 can still be refunded.").waitFor();
    await refund("2.01");
    await dialog(page)
      .getByRole("alert")
      .getByText(/at most 10\.00 USD per day \(UTC\), and 2\.00 USD of it is left today/)
      .waitFor();
    await page.close();
    expect(await refundsOf(sessionId!)).toHaveLength(1);
  });
});
