/** Request ids at PayPal's emulator: https://developer.paypal.com/api/rest/reference/idempotency/ (2026). */
import type { SandboxClock } from "../../gateways/sandbox/clock.ts";
import type { Book, Books } from "../books.ts";
import type { Refund } from "../ledger.ts";
import type { SandboxAnswer } from "../routes.ts";
import { loneAuthorizationView, type Order, orderView, refundView, refusal } from "./emulator-objects.ts";

type Answered = Exclude<SandboxAnswer, string>;

/** The answer to a repeat of a request: as it was, or the latest state of an order or a refund. */
export type Again =
  | { readonly answer: Answered }
  | { readonly order: Order; readonly view: "brief" | "whole" | "authorization" }
  | { readonly order: Order; readonly refundId: string };

/** The sender's answer, and that of a repeat; without that, the key is free again. */
export type Executed = { readonly answer: SandboxAnswer; readonly again?: Again | undefined };

type Kept = { readonly untilMs: number; again?: Again };

// "The server stores keys for 6 hours": https://developer.paypal.com/docs/api/orders/v2/#orders_create (2026).
const orderKeyLifeMs = 6 * 60 * 60 * 1_000;
/** "The server stores keys for 45 days": https://developer.paypal.com/docs/api/payments/v2/#captures_refund (2026). */
export const refundKeyLifeMs = 45 * 24 * 60 * 60 * 1_000;
// The most keys: one for each stored payment, and a few for each of its changes.
const keysMax = 400_000;

/** A repeat of a key changes nothing and shows the latest state of the first request, whatever its content. */
export class PayPalKeys {
  readonly #kept: Book<Kept>;
  readonly #clock: SandboxClock;

  constructor(clock: SandboxClock, books: Books) {
    this.#clock = clock;
    this.#kept = books.open("paypal key", keysMax);
  }

  /** Runs `act` once for a key; a repeat while the first one runs is refused. */
  async once(key: string | undefined, act: () => Promise<Executed>, lifeMs = orderKeyLifeMs): Promise<SandboxAnswer> {
    if (key === undefined) return (await act()).answer;
    const known = this.#kept.get(key);
    if (known !== undefined && this.#clock.nowMs() < known.untilMs)
      return known.again === undefined ? refusal(409, "PREVIOUS_REQUEST_IN_PROGRESS") : shownAgain(known.again);
    const entry: Kept = { untilMs: this.#clock.nowMs() + lifeMs };
    this.#kept.set(key, entry, { isWritten: false });
    try {
      const { answer, again } = await act();
      if (again !== undefined) {
        entry.again = again;
        this.#kept.set(key, entry);
      }
      return answer;
    } finally {
      if (entry.again === undefined && this.#kept.get(key) === entry) this.#kept.delete(key);
    }
  }
}

function shownAgain(again: Again): Answered {
  if ("answer" in again) return again.answer;
  const { order } = again;
  const about = order.reference;
  if ("view" in again) {
    const { authorization: held } = order;
    const isLone = again.view === "authorization" && held !== undefined;
    const body = isLone ? loneAuthorizationView(order, held) : orderView(order, again.view === "whole");
    return { status: 200, body, about };
  }
  const refund = order.authorization?.record.refunds.find((one: Refund) => one.id === again.refundId);
  // The OpenAPI file has no other status for a repeat.
  return refund === undefined
    ? refusal(404, "INVALID_RESOURCE_ID")
    : { status: 201, body: refundView(order, refund), about };
}
