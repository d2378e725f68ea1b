/** Payouts and settlement in the dashboard, in Chromium over a whole demo: from the card to the line of the payout, and what is open. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { decodeId } from "../../platform/ids.ts";
import { withClient } from "../testing/with-client.ts";
import { expectSound, openDashboard } from "./dashboard-page.ts";
import { everyDesktopAndPhone } from "./each-look.ts";

// Axe looks at every state in each look, on a machine that may have much else to do.
const patienceMs = 120_000;

const { demo, checkout, open } = await openDashboard({ locale: "en-GB" });
const merchant = decodeId("mer", demo.file.merchants[0]!.merchantId);
const url = Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;
const rows = async (text: string, values: unknown[] = []) =>
  (await withClient(url, (client) => client.query(text, values))).rows;
const pay = async (orderRef: string, number: string) => (await checkout.pay(number, { orderRef })).sessionId!;
const [approved, otherAmount, neverPaidOut] = ["4242424242424242", "4000000000007478", "4000000000007486"] as const;

/** Has the worker read the statements of the merchant's accounts until this counts as many rows. */
async function readUntil(count: number, text: string): Promise<void> {
  const read = async () => {
    await rows("UPDATE gateway_feed SET next_read_at = app.clock() WHERE kind = 'settlement' AND lease_token IS NULL");
    return (await rows(text, [merchant])).length;
  };
  await expect.poll(read, { timeout: 60_000, interval: 2_000 }).toBe(count);
}

/** Ages a payment, which no guard allows, to one that should have been paid out. */
async function age(sessionId: string, days: number): Promise<void> {
  await rows(
    `BEGIN; SET LOCAL session_replication_role = replica;
     UPDATE payment_session SET settled_at = settled_at - interval '${days} days' WHERE id = '${decodeId("ps", sessionId)}'; COMMIT`,
  );
}

const cellsOf = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name }).getByRole("cell");

describe("payouts and settlement in the browser", () => {
  it("say what appears there while there is nothing", { timeout: patienceMs }, async () => {
    const page = await open("payouts");
    await page.getByText("No payouts in test yet").waitFor();
    await expectSound(page, everyDesktopAndPhone);
    await page.getByRole("link", { name: "Not adding up" }).click();
    await page.getByText("Every payout adds up").waitFor();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Settlement" }).click();
    await page.getByText("Nothing is open").waitFor();
    await expectSound(page, everyDesktopAndPhone);
    await page.getByRole("link", { name: "Unmatched lines" }).click();
    await page.getByText("Every line matches a payment").waitFor();
    await page.close();
  });

  it("name the payout of a payment, and what is open by age and reason, with the next step", {
    timeout: patienceMs,
  }, async () => {
    const paid = await pay("paid-1", approved);
    await pay("paid-2", approved);
    await pay("differs", otherAmount);
    const unpaid = await pay("never", neverPaidOut);
    await age(unpaid, 9);
    await demo.sandbox.payOut();
    await readUntil(1, "SELECT id FROM payout WHERE merchant_id = $1 AND complete_at IS NOT NULL");

    const page = await open("payouts");
    await page.getByText("2 matched, 1 unmatched").waitFor();
    // Two payments of 49.00 and one of 48.99, less 0.94 each.
    const texts = await page.getByRole("row").nth(1).getByRole("cell").allTextContents();
    expect(texts.map((text) => text.trim()).slice(1, 3)).toEqual(["€144.17", "Paid"]);
    expect(texts.at(-1)).toBe("€0.00");
    await expectSound(page, everyDesktopAndPhone);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    expect((await download).suggestedFilename()).toBe("payouts-test.csv");
    await page.getByText("1 payouts are in the file.").waitFor();

    await page.getByRole("rowheader").getByRole("link").click();
    await page.getByRole("heading", { name: "€144.17 Paid" }).waitFor();
    await page.getByText("Listed with another amount").or(page.getByText("Another amount")).first().waitFor();
    await expectSound(page, everyDesktopAndPhone);
    const lines = page.getByRole("navigation", { name: "Lines to show" });
    await lines.getByRole("link", { name: "Unmatched" }).click();
    await expect.poll(() => new URL(page.url()).search).toBe("?status=unmatched");
    await page.getByText("ask the gateway for the difference").waitFor();
    await expect.poll(() => page.getByRole("link", { name: "paid-1" }).count()).toBe(0);
    await lines.getByRole("link", { name: "Matched", exact: true }).click();
    await page.getByRole("link", { name: "paid-1" }).click();
    const facts = page.getByRole("complementary", { name: "Facts" });
    await facts.getByText("€48.06 with").waitFor();
    expect(page.url()).toContain(paid);
    await expectSound(page, everyDesktopAndPhone);
    await facts.getByRole("link", { name: /^po_/ }).click();
    await page.getByRole("heading", { name: "€144.17 Paid" }).waitFor();

    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Settlement" }).click();
    const groups = page.getByRole("region", { name: "Open by reason and age" }).first();
    await groups.getByRole("rowheader", { name: "Overdue" }).waitFor();
    const overdue = (await cellsOf(page, "Ask the gateway when").allTextContents()).map((text) => text.trim());
    expect(overdue.slice(1)).toEqual(["0", "0", "1", "0", "€49.001 movement"]);
    const waiting = (await cellsOf(page, "Nothing to do").allTextContents()).map((text) => text.trim());
    expect(waiting.slice(1)).toEqual(["1", "0", "0", "0", "€49.001 movement"]);
    await expectSound(page, everyDesktopAndPhone);
    await groups.getByRole("row").filter({ hasText: "Overdue" }).getByRole("link").click();
    await expect.poll(() => new URL(page.url()).search).toBe("?reason=overdue");
    await expect
      .poll(() =>
        page.getByRole("region", { name: "Movements", exact: true }).first().getByRole("rowheader").allTextContents(),
      )
      .toEqual(["never"]);
    await page.getByRole("link", { name: "Paid out" }).click();
    await expect.poll(() => page.getByRole("rowheader").allTextContents()).toEqual(["paid-1", "paid-2"]);
    await expectSound(page, everyDesktopAndPhone);
    await page.getByRole("link", { name: "Open", exact: true }).click();
    await page.getByText("1 line of a statement matches no payment.").waitFor();
    await page.getByRole("link", { name: "See the lines" }).click();
    await page.getByRole("heading", { name: "Lines that match no payment" }).waitFor();
    await page.getByRole("link", { name: "differs" }).waitFor();
    await expectSound(page, everyDesktopAndPhone);
    await page.close();

    const never = await open("settlement?reason=overdue");
    await never.getByRole("link", { name: "never" }).click();
    await never.getByRole("complementary", { name: "Facts" }).getByText("Overdue").waitFor();
    await never.close();

    // What a refund takes is as much as the payment that waits: nothing is outstanding.
    await checkout.refund(unpaid, "refund-never");
    const refunded = await open("settlement?reason=not_due");
    const refund = refunded.getByRole("row").filter({ hasText: "Refund" }).getByRole("cell");
    await expect.poll(() => refund.allTextContents()).toContain("-€49.00");
    const balanced = (await cellsOf(refunded, "Nothing to do").allTextContents()).map((text) => text.trim());
    expect(balanced.slice(1)).toEqual(["2", "0", "0", "0", "–2 movements"]);
    await refunded.close();

    const costs = await open("analytics");
    await costs.getByText("Costs", { exact: true }).click();
    await costs
      .getByRole("table", { name: "Costs" })
      .or(costs.getByRole("region", { name: "Costs" }))
      .first()
      .waitFor();
    await costs.getByText("1.92%").waitFor();
    await expectSound(costs, everyDesktopAndPhone);
    await costs.close();
  });

  it("are where the alerts at home lead", { timeout: patienceMs }, async () => {
    // Alerts that hold: the worker ends all others.
    await rows(
      `INSERT INTO payout (id, merchant_id, connection_id, gateway, gateway_reference, status, amount_minor, currency, lines_known)
       SELECT gen_random_uuid(), merchant_id, id, gateway, 'po_unexplained', 'PAID', 100, 'EUR', true FROM connection
       WHERE gateway = 'SANDBOX_A' AND merchant_id = $1`,
      [merchant],
    );
    await rows(
      "UPDATE payout SET complete_at = now() WHERE gateway_reference = 'po_unexplained' AND merchant_id = $1",
      [merchant],
    );
    for (const [kind, detail] of [
      ["SETTLEMENT_OVERDUE", "1 captured payment is in no statement of SANDBOX_A, although the usual time has passed."],
      [
        "PAYOUT_REMAINDER",
        "The lines of the payout po_unexplained over 1.00 EUR do not add up: 1.00 EUR is not explained.",
      ],
    ])
      await rows(
        `INSERT INTO alert (id, merchant_id, kind, connection_id, gateway, since, detail, send_at)
         SELECT gen_random_uuid(), merchant_id, $1, id, gateway, app.clock(), $2, NULL
         FROM connection WHERE gateway = 'SANDBOX_A' AND merchant_id = $3 ON CONFLICT DO NOTHING`,
        [kind, detail, merchant],
      );
    const page = await open("home");
    const alertOf = (title: string) => page.getByRole("listitem").filter({ hasText: title });
    await alertOf("Payments not paid out").getByRole("link", { name: "See the open payments" }).click();
    await page.getByRole("heading", { level: 1, name: "Settlement" }).waitFor();
    expect(new URL(page.url()).search).toBe("?gateway=SANDBOX_A");
    await page.goBack();
    await alertOf("Payout does not add up").getByRole("link", { name: "See the payout" }).click();
    await page.getByRole("heading", { level: 1, name: "Payouts" }).waitFor();
    expect(new URL(page.url()).search).toBe("?remainder=true&gateway=SANDBOX_A");
    await page.getByRole("link", { name: "po_unexplained" }).click();
    await page.getByText("The lines do not explain €1.00 of this payout.").waitFor();
    await page.getByText("No lines yet").waitFor();
    await expectSound(page, everyDesktopAndPhone);
    await page.close();
  });
});
