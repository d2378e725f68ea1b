/** Sends a steady stream of customers, independent of the outcome of earlier ones. */
import { setTimeout as pause } from "node:timers/promises";
import type { Dice } from "../dice.ts";
import { pay, type Shop, secondTab } from "./customer.ts";
import { newOrder, type Order } from "./order.ts";

const paidInTwoTabs = 0.25;

// Customers accumulate while everything is down; a shop's own servers hold only so many at once.
const atOnceMax = 400;
// Customers who still wait at the end of the run are answered soon, because everything runs again.
const patienceMs = 60_000;

export class Load {
  readonly #shop: Shop;
  readonly #dice: Dice;
  readonly #prefix: string;
  readonly #inShop = new Set<Promise<void>>();
  #customers = 0;

  /** `prefix` distinguishes the orders of several loads. */
  constructor(shop: Shop, dice: Dice, prefix = "order") {
    this.#shop = shop;
    this.#dice = dice;
    this.#prefix = prefix;
  }

  get orders(): readonly Order[] {
    return this.#shop.orders;
  }

  /** Starts this many customers per second until `end`. */
  async run(ratePerSecond: number, end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      if (this.#inShop.size < atOnceMax) this.#letIn();
      // Twice the mean at most: customers arrive unevenly.
      await pause(this.#dice.between(0, Math.round(2_000 / ratePerSecond)), undefined, { signal: end }).catch(() => {});
    }
  }

  /** Resolves when all customers have left, or after the longest wait. */
  async empty(): Promise<void> {
    const patience = new AbortController();
    const waited = pause(patienceMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([Promise.allSettled(this.#inShop), waited]);
    patience.abort();
  }

  #letIn(): void {
    const orderRef = `${this.#prefix}-${++this.#customers}`;
    this.#pay(orderRef, orderRef);
    if (this.#dice.chance(paidInTwoTabs)) this.#pay(orderRef, `${orderRef}${secondTab}`);
  }

  #pay(orderRef: string, key: string): void {
    const order = newOrder(orderRef, key);
    this.#shop.orders.push(order);
    const payment = pay(this.#shop, this.#dice, order).finally(() => this.#inShop.delete(payment));
    this.#inShop.add(payment);
  }
}
