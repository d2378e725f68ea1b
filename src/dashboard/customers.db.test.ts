/** Finds payments by their customers and amounts: the search, one customer's lists and totals, and the API's list. */
import { describe, expect, it } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret } from "../platform/secrets.ts";
import { amountsIn } from "../reporting/amounts-in-text.ts";
import { listSessions } from "../reporting/session-list.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const made: Record<string, string> = {};

async function make(name: string, customer: { email?: string; name?: string }, payment: object = {}) {
  const { sessionId, sessionUuid } = await makePayment(dashboard, { orderRef: `order ${name}`, ...payment });
  const details = customer.name === undefined ? null : JSON.stringify({ customerName: customer.name });
  await dashboard.rows("UPDATE payment_session SET customer_email = $2, details = $3 WHERE id = $1", [
    ...[sessionUuid, customer.email ?? null, details],
  ]);
  made[name] = sessionId;
  return sessionUuid;
}

const dashboard = await forFile(startDashboardFixture);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
await openTables(dashboard);
const paid = await make("paid", { email: "Ada@Shop.example", name: "Ada Lovelace" }, { amountMinor: 5950 });
await make("declined", { email: "ada@shop.example" }, { status: "DECLINED", amountMinor: 5950 });
await make("yen", { email: "ada@shop.example", name: "100%_Ada" }, { amountMinor: 120, currency: "JPY" });
await make("other", { email: "bad-ada@shop.example", name: "adam smith" }, { amountMinor: 1 });
await make("unnamed", {}, { amountMinor: 5951 });
await make("foreign", { email: "ada@shop.example", name: "Ada Lovelace" }, { merchantUuid: systemRuntime.uuid() });
const merchant = decodeId("mer", dashboard.merchantId);
await dashboard.rows(`SET session_replication_role = replica;
  UPDATE payment_session SET refunds = 1 WHERE id = '${paid}';
  INSERT INTO refund (session_id, id, merchant_id, attempt_id, connection_id, gateway, amount_minor, currency, status)
  VALUES ('${paid}', '${paid}', '${merchant}', '${paid}', '${paid}', 'SANDBOX_A', 950, 'EUR', 'SUCCEEDED');
  SET session_replication_role = origin`);

const scope = () => ({ merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" as const });
const nameOf = (sessionId: string | undefined) => Object.keys(made).find((name) => made[name] === sessionId);
const search = async (text: string) => {
  const { matches = [] } = await client.payments.searchPayments({ ...scope(), text });
  return matches.map(({ payment, by }) => `${nameOf(payment?.sessionId)} ${by}`);
};

describe("the search", () => {
  it("finds payments by the whole address in any case, and by no part of it", async () => {
    const all = ["yen", "declined", "paid"].map((name) => `${name} CUSTOMER_EMAIL`);
    expect(await search("ADA@shop.EXAMPLE")).toEqual(all);
    expect(await search("ada@shop")).toEqual([]);
    expect(await search("%@shop.example")).toEqual([]);
  });

  it("finds payments by the beginning of the customer's name in any case, and takes no pattern", async () => {
    expect(await search("ADA")).toEqual(["other CUSTOMER_NAME", "paid CUSTOMER_NAME"]);
    expect(await search("100%_")).toEqual(["yen CUSTOMER_NAME"]);
    expect(await search("100_")).toEqual([]);
    expect(await search("Lovelace")).toEqual([]);
  });

  it("finds the newest of very many payments whose customers' names begin alike", async () => {
    await dashboard.rows(
      `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at, details)
       SELECT uuidv7(), $1, 100, 'EUR', 'many-' || n, 1, now() + interval '1 hour', '{"customerName":"Grace Many"}'
       FROM generate_series(1, 2002) AS n`,
      [merchant],
    );
    const newestRefs = Array.from({ length: 20 }, (_, index) => `many-${2_002 - index}`);
    const find = async () => {
      const { matches = [] } = await client.payments.searchPayments({ ...scope(), text: "grace m" });
      return matches.map(({ payment }) => payment?.orderRef);
    };
    expect(await find()).toEqual(newestRefs);
    await dashboard.rows("DELETE FROM payment_session WHERE order_ref IN ('many-1', 'many-2')");
    expect(await find()).toEqual(newestRefs);
    await dashboard.rows("DELETE FROM payment_session WHERE order_ref LIKE 'many-%'");
  });

  it("finds payments by an amount as people write it, of one currency if it is named", async () => {
    expect(await search("59.50")).toEqual(["declined AMOUNT", "paid AMOUNT"]);
    expect(await search("59,5")).toEqual(["declined AMOUNT", "paid AMOUNT"]);
    expect(await search("eur 59.51")).toEqual(["unnamed AMOUNT"]);
    expect(await search("120")).toEqual(["yen AMOUNT"]);
    expect(await search("120 EUR")).toEqual([]);
  });
});

describe("amountsIn()", () => {
  it.each([
    ["49 EUR", [{ currency: "EUR", amountMinor: 4900 }]],
    ["JPY 120", [{ currency: "JPY", amountMinor: 120 }]],
    ["1.234 KWD", [{ currency: "KWD", amountMinor: 1234 }]],
    ["EUR 49 EUR", []],
    ["49.001 EUR", []],
    ["49 XYZ", []],
    ["-49", []],
    ["order 49", []],
  ])("reads %s", (text, amounts) => expect(amountsIn(text)).toEqual(amounts));
});

describe("a customer", () => {
  it("is named in the list of payments, by the address where there is no name", async () => {
    const { payments = [] } = await client.payments.listPayments(scope());
    const customers = Object.fromEntries(payments.map(({ sessionId, customer }) => [nameOf(sessionId), customer]));
    expect(customers).toMatchObject({ paid: "Ada Lovelace", declined: "ada@shop.example", unnamed: "" });
  });

  it("has payments, refunds and totals by currency", async () => {
    const email = "ada@SHOP.example";
    const { totals } = await client.payments.getCustomerTotals({ ...scope(), email });
    expect(totals).toMatchObject([
      {
        payments: 2,
        succeeded: 1,
        captured: { amountMinor: "5950", currency: "EUR" },
        refunded: { amountMinor: "950" },
      },
      { payments: 1, succeeded: 1, captured: { amountMinor: "120", currency: "JPY" } },
    ]);
    const filter = { customerEmail: email };
    const { payments = [] } = await client.payments.listPayments({ ...scope(), filter });
    expect(payments.map(({ sessionId }) => nameOf(sessionId))).toEqual(["yen", "declined", "paid"]);
    const { refunds = [] } = await client.refunds.listRefunds({ ...scope(), filter });
    expect(refunds.map(({ sessionId }) => nameOf(sessionId))).toEqual(["paid"]);
    const others = await client.refunds.listRefunds({ ...scope(), filter: { customerEmail: "bad-ada@shop.example" } });
    expect(others.refunds ?? []).toEqual([]);
    expect(await client.payments.getCustomerTotals({ ...scope(), email: "nobody@shop.example" })).toEqual({
      totals: [],
    });
  });

  it("is a filter of the API's list, with pages of its own", async () => {
    const asked = {
      merchantId: decodeId("mer", dashboard.merchantId)!,
      filters: { customerEmail: "ADA@shop.example" },
      pageSize: 2,
      keys: [new Secret("page")] as const,
      now: new Date(),
    };
    const first = await listSessions([dashboard.database], asked);
    const second = await listSessions([dashboard.database], { ...asked, pageToken: first.nextPageToken });
    const names = [...first.sessions, ...second.sessions].map(({ id }) => nameOf(encodeId("ps", id)));
    expect(names).toEqual(["yen", "declined", "paid"]);
    const filters = { customerEmail: "other@shop.example" };
    await expect(
      listSessions([dashboard.database], { ...asked, filters, pageToken: first.nextPageToken }),
    ).rejects.toThrow();
  });

  it("is found by indexes that hold only sessions with an address or a name", async () => {
    const definitions = await dashboard.rows<{ definition: string }>(
      "SELECT indexdef AS definition FROM pg_indexes WHERE indexname IN ('payment_session_of_email', 'payment_session_of_name')",
    );
    expect(definitions).toHaveLength(2);
    for (const { definition } of definitions) expect(definition).toMatch(/WHERE .* IS NOT NULL/);
  });
});
