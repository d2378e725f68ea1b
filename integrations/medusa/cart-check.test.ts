import { expect, it } from "vitest";
import { cartCheck } from "./cart-check.ts";

/** A cart with this total, and one session of the provider; the collection may have an amount of its own. */
function cartOf(total: string, session: object = {}, collection = total) {
  const raw = (value: string) => ({ value, precision: 20 });
  const ours = {
    provider_id: "pp_switchyard_eu",
    status: "pending",
    raw_amount: raw("49"),
    data: { sessionId: "ps_1" },
  };
  const payment_sessions = [
    { ...ours, status: "error", raw_amount: raw("9") },
    { ...ours, ...session },
  ];
  return {
    raw_total: raw(total),
    payment_collection: { id: "pay_col_1", currency_code: "eur", raw_amount: raw(collection), payment_sessions },
  };
}

/** Runs the hook; returns what it changed in Medusa's payment module. */
async function changesOf(cart: Parameters<ReturnType<typeof cartCheck>>[0]["cart"]): Promise<unknown[]> {
  const changes: unknown[] = [];
  const payment = { updatePaymentCollections: async (...changed: unknown[]) => void changes.push(changed) };
  const refused = cartCheck()({ cart }, { container: { resolve: (name) => ({ payment })[name] } });
  return [
    ...(await refused.then(
      () => [],
      ({ message, type }) => [type, message],
    )),
    ...changes,
  ];
}

it("passes a cart whose total is the session's amount, and one that this provider does not take", async () => {
  for (const cart of [
    cartOf("49.00"),
    cartOf("49.004"),
    cartOf("98", { provider_id: "pp_system_default" }),
    cartOf("98", { status: "canceled" }),
    { raw_total: 98 },
  ]) {
    expect(await changesOf(cart)).toEqual([]);
  }
});

it("refuses a cart whose total is another than the session's amount, whatever the collection says", async () => {
  const words = /^The cart was changed while it was being paid: 49 is paid, and its total is 98\..* ps_1; void a hold/;
  expect(await changesOf(cartOf("98"))).toEqual(["not_allowed", expect.stringMatching(words)]);
  const repaired = ["pay_col_1", { amount: { value: "98", precision: 20 } }];
  expect(await changesOf(cartOf("98", {}, "49"))).toEqual(["not_allowed", expect.stringMatching(words), repaired]);
});

it("puts the collection's amount right after a change that Medusa refused", async () => {
  expect(await changesOf(cartOf("49", {}, "98"))).toEqual([["pay_col_1", { amount: { value: "49", precision: 20 } }]]);
});
