/** Request ids at PayPal's emulator: https://developer.paypal.com/api/rest/reference/idempotency/ (2026). */
import type { SandboxClock } from "../../gateways/sandbox/clock.ts";
import type { SandboxAnswer } from "../routes.ts";
import { refusal } from "./emulator-objects.ts";

type Answered = Exclude<SandboxAnswer, string>;

/**
 * The sender's answer, and the function by which a repeat shows the latest state; without that, the key is free again.
 */
export type Executed = { readonly answer: SandboxAnswer; readonly again?: (() => Answered) | undefined };

type Kept = { readonly untilMs: number; again?: () => Answered };

// "The server stores keys for 6 hours": https://developer.paypal.com/docs/api/orders/v2/#orders_create (2026).
const orderKeyLifeMs = 6 * 60 * 60 * 1_000;
/** "The server stores keys for 45 days": https://developer.paypal.com/docs/api/payments/v2/#captures_refund (2026). */
export const refundKeyLifeMs = 45 * 24 * 60 * 60 * 1_000;
// One for each stored payment, and a few for each of its changes.
const keysMax = 400_000;

/** A repeat of a key changes nothing and shows the latest state of the first request, whatever its content. */
export class PayPalKeys {
  readonly #kept = new Map<string, Kept>();
  readonly #clock: SandboxClock;

  constructor(clock: SandboxClock) {
    this.#clock = clock;
  }

  /** Runs `act` once for a key; a repeat while the first one runs is refused. */
  async once(key: string | undefined, act: () => Promise<Executed>, lifeMs = orderKeyLifeMs): Promise<SandboxAnswer> {
    if (key === undefined) return (await act()).answer;
    const known = this.#kept.get(key);
    if (known !== undefined && this.#clock.nowMs() < known.untilMs)
      return known.again?.() ?? refusal(409, "PREVIOUS_REQUEST_IN_PROGRESS");
    const entry: Kept = { untilMs: this.#clock.nowMs() + lifeMs };
    this.#kept.set(key, entry);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > keysMax && oldest !== undefined) this.#kept.delete(oldest);
    try {
      const { answer, again } = await act();
      if (again !== undefined) entry.again = again;
      return answer;
    } finally {
      if (entry.again === undefined && this.#kept.get(key) === entry) this.#kept.delete(key);
    }
  }
}
