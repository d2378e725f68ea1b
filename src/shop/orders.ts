/** The shop's orders. In memory: a real shop keeps them in its database. */
import { EventEmitter } from "node:events";
import type { CreatedPaymentSession, PaymentSession } from "../client/merchant/payment-session.ts";
import type { Customer } from "./customers.ts";
import type { Product } from "./products.ts";

export type ReceivedWebhook = {
  readonly webhookId: string;
  readonly type: string;
  readonly receivedAt: Date;
};

/** A purchase, with the shop's knowledge of its payment. */
export type Order = {
  readonly orderRef: string;
  readonly product: Product;
  /** The customer who was signed in. */
  readonly customer: Customer | undefined;
  amountMinor: number;
  readonly currency: string;
  /** The payment sessions of this order: one, and one more for every attempt with another card and every other amount. */
  readonly sessions: CreatedPaymentSession[];
  /** The newest session as the service last returned it. */
  state: PaymentSession | undefined;
  readonly webhooks: ReceivedWebhook[];
  /** The later charges of a subscription. */
  readonly renewals: PaymentSession[];
  /** The links by which the customer pays charges that were declined, by the charge's reference. */
  readonly links: Map<string, string>;
};

// A demo may run for weeks; orders beyond the latest thousand are dropped.
const ordersMax = 1_000;

/** The latest orders, and a signal when one changes. */
export class Orders {
  readonly #orders = new Map<string, Order>();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  /** A payment session of this merchant, of an order or of a webhook; undefined before the first. */
  ownSessionId: string | undefined;

  add(order: Pick<Order, "orderRef" | "product" | "customer">): Order {
    const { amountMinor, currency } = order.product;
    const later = { sessions: [], state: undefined, webhooks: [], renewals: [], links: new Map<string, string>() };
    const added: Order = { ...order, amountMinor, currency, ...later };
    this.#orders.set(order.orderRef, added);
    const oldest = this.#orders.keys().next().value;
    if (this.#orders.size > ordersMax && oldest !== undefined) this.#orders.delete(oldest);
    return added;
  }

  find(orderRef: string): Order | undefined {
    return this.#orders.get(orderRef);
  }

  setAmount(order: Order, amountMinor: number): void {
    order.amountMinor = amountMinor;
    this.#changes.emit(order.orderRef);
  }

  /** Stores the service's state of the order's newest session; an answer about an older one changes nothing. */
  recordState(order: Order, state: PaymentSession): void {
    if (state.sessionId !== order.sessions.at(-1)?.sessionId) return;
    order.state = state;
    this.#changes.emit(order.orderRef);
  }

  /** A charge that was answered twice, after a double click, is one. */
  recordRenewal(order: Order, renewal: PaymentSession): void {
    if (order.renewals.some(({ sessionId }) => sessionId === renewal.sessionId)) return;
    order.renewals.push(renewal);
    this.#changes.emit(order.orderRef);
  }

  /** Records that a charge was paid by its link; a payment of anything else changes nothing. */
  recordPaidByLink(paid: PaymentSession): void {
    for (const order of this.#orders.values()) {
      const index = order.renewals.findIndex(({ orderRef }) => orderRef === paid.orderRef);
      if (index < 0) continue;
      order.renewals[index] = paid;
      this.#changes.emit(order.orderRef);
    }
  }

  /** Returns false for a webhook that was already received: deliveries are repeated until they are acknowledged. */
  recordWebhook(order: Order, webhook: ReceivedWebhook): boolean {
    if (order.webhooks.some(({ webhookId }) => webhookId === webhook.webhookId)) return false;
    order.webhooks.push(webhook);
    this.#changes.emit(order.orderRef);
    return true;
  }

  /** Calls `listener` after every change of the order until the returned function is called. */
  subscribe(order: Order, listener: () => void): () => void {
    this.#changes.on(order.orderRef, listener);
    return () => this.#changes.off(order.orderRef, listener);
  }
}
