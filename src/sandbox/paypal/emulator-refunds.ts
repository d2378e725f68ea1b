/** Refunds at PayPal's emulator: of a capture, once for each invoice number, readable one by one or by their order. */

import { unreachable } from "../../platform/errors.ts";
import type { Book, Books } from "../books.ts";
import type { Issuer } from "../issuer.ts";
import { type Ledger, type RefundRefusal, refundedValue } from "../ledger.ts";
import type { Route } from "../routes.ts";
import type { Executed } from "./emulator-keys.ts";
import { type Order, refundIdOf, refundView, refusal } from "./emulator-objects.ts";
import { type Asked, bodyOf, type EmulatorOrders, readMoney } from "./emulator-orders.ts";

export type RefundParts = { readonly ledger: Ledger; readonly issuer: Issuer; readonly books: Books };

// A day of a busy demo; beyond it the oldest are dropped.
const refundsMax = 100_000;

export class EmulatorRefunds {
  readonly #parts: RefundParts;
  readonly #orders: EmulatorOrders;
  /** The orders of the refunds, by PayPal's ids. */
  readonly #refunds: Book<Order>;

  constructor(parts: RefundParts, orders: EmulatorOrders) {
    this.#parts = parts;
    this.#orders = orders;
    this.#refunds = parts.books.open("paypal refund", refundsMax);
  }

  async create(asked: Asked): Promise<Executed> {
    const order = this.#orders.orderOfCapture(asked.request.parameters.id);
    const record = order?.authorization?.record;
    if (order?.account.id !== asked.account.id || record === undefined) {
      return { answer: refusal(404, "INVALID_RESOURCE_ID") };
    }
    const { amount, invoice_id: invoiceId } = bodyOf(asked);
    const left = { value: record.capturedValue - refundedValue(record), currency: record.currency };
    const money = amount === undefined ? left : readMoney(amount);
    if (typeof money === "string") return { answer: refusal(422, money) };
    if (money.currency !== record.currency) return { answer: refusal(422, "REFUND_CAPTURE_CURRENCY_MISMATCH") };
    return this.#orders.locked(order, async () => {
      const reference = typeof invoiceId === "string" ? invoiceId : "";
      const isKnown = record.refunds.some((one) => one.reference === reference && reference !== "");
      if (isKnown) return { answer: refusal(422, "DUPLICATE_INVOICE_ID") };
      const refund = this.#parts.ledger.refund(record, { reference, value: money.value });
      if (typeof refund === "string") return refused(refund, left.value);
      this.#refunds.set(refundIdOf(refund), order);
      if (record.refund === "slow") {
        void this.#parts.issuer.refundDelay(record).then(() => this.#parts.ledger.makeRefund(record, refund));
      } else {
        this.#parts.ledger.makeRefund(record, refund);
      }
      const answer = { status: 201, body: refundView(order, refund), about: order.reference };
      return { answer, again: { order, refundId: refund.id } };
    });
  }

  read({ account, request }: Asked): Executed {
    const id = request.parameters.id ?? "";
    const order = this.#refunds.get(id);
    const refund = order?.authorization?.record.refunds.find((one) => refundIdOf(one) === id);
    if (order?.account.id !== account.id || refund === undefined)
      return { answer: refusal(404, "INVALID_RESOURCE_ID") };
    return { answer: { status: 200, body: refundView(order, refund), about: order.reference } };
  }
}

/** Returns PayPal's refusal, which it repeats for the key. */
function refused(reason: RefundRefusal, left: number): Executed {
  const answer = refusal(422, issueOf(reason, left));
  return { answer, again: { answer } };
}

function issueOf(reason: RefundRefusal, left: number): string {
  switch (reason) {
    case "amount":
      return "CANNOT_BE_ZERO_OR_NEGATIVE";
    case "amount_exceeds_captured":
      return left === 0 ? "CAPTURE_FULLY_REFUNDED" : "REFUND_AMOUNT_EXCEEDED";
    case "not_captured":
    case "already_voided":
    case "already_declined":
    case "refund_not_allowed":
      return "REFUND_NOT_ALLOWED";
    default:
      return unreachable(reason);
  }
}

/** Wraps a route so that the first answer to a refund is lost if the card says so; outside the memory of keys. */
export function losingRefunds(orders: EmulatorOrders, { issuer }: RefundParts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const record = orders.orderOfCapture(request.parameters.id)?.authorization?.record;
      return (await issuer.carryRefund(record, () => route.handle(request))) ?? "hang_up";
    },
  };
}
