/** A steady stream of customers, whatever becomes of the ones before. */
import { setTimeout as pause } from "node:timers/promises";
import type { Dice } from "../dice.ts";
import { type Order, pay, type Shop } from "./customer.ts";

// While everything is down customers pile up; a shop's own servers take no more than so many at once.
const atOnceMax = 400;
// Customers who still wait when the run is over are answered soon, for everything runs again by then.
const patienceMs = 60_000;

/** The customers of a run, with what became of their orders. */
export class Load {
  readonly orders: Order[] = [];
  readonly #shop: Shop;
  readonly #dice: Dice;
  readonly #inShop = new Set<Promise<void>>();

  constructor(shop: Shop, dice: Dice) {
    this.#shop = shop;
    this.#dice = dice;
  }

  /** Lets so many customers in every second until it is told to end. */
  async run(ratePerSecond: number, end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      if (this.#inShop.size < atOnceMax) this.#letIn();
      // Twice the mean at most: customers come unevenly.
      await pause(this.#dice.between(0, Math.round(2_000 / ratePerSecond)), undefined, { signal: end }).catch(() => {});
    }
  }

  /** Resolves when the shop is empty, or has waited long enough. */
  async empty(): Promise<void> {
    const patience = new AbortController();
    const waited = pause(patienceMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([Promise.allSettled(this.#inShop), waited]);
    patience.abort();
  }

  #letIn(): void {
    const order: Order = { orderRef: `order-${this.orders.length + 1}`, created: [], submitted: false, heard: [] };
    this.orders.push(order);
    const visit = pay(this.#shop, this.#dice, order).finally(() => this.#inShop.delete(visit));
    this.#inShop.add(visit);
  }
}
