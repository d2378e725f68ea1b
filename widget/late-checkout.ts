/** The state machine of a payment, from before its part has loaded. */

import type { ApiAnswer, WidgetError } from "./answers.ts";
import type { Checkout, CheckoutResult, CheckoutState } from "./checkout.ts";
import { browserClock } from "./clock.ts";
import { type LazyParts, loadSessionPart, nextPaint, type SessionPart } from "./lazy-parts.ts";

/** The dependencies of a late state machine. */
type LateCheckoutParts = {
  readonly lazyParts: LazyParts;
  /** Aborted when the widget releases the session. */
  readonly closed: AbortSignal;
  /** Creates the state machine from its part. */
  readonly create: (part: SessionPart) => Checkout;
  /** The callbacks of the state machine, for a submit before it is loaded. */
  readonly onState: (state: CheckoutState) => void;
  readonly onResult: (result: CheckoutResult) => void;
};

// The state machine looks for the service for the same time.
const loadedWithinMs = 15_000;
const loadAgainMs = 1_000;

const failed = {
  kind: "failed",
  error: { code: "unreachable", message: "The payment service cannot be reached." },
} as const;

/** The error if the part could not be loaded, or the service not be reached. */
export const serviceUnreachable: WidgetError = failed.error;

/** Has the methods of Checkout, which its part brings. No promise here rejects. */
export class LateCheckout {
  readonly #parts: LateCheckoutParts;
  readonly #painted = nextPaint();
  #checkout: Checkout | undefined;
  #loading: Promise<Checkout | undefined> | undefined;
  /** A submit that waits for the part. */
  #early: Promise<CheckoutResult> | undefined;
  #isEarly = false;

  constructor(parts: LateCheckoutParts) {
    this.#parts = parts;
  }

  get state(): CheckoutState {
    const state = this.#checkout?.state ?? "idle";
    return this.#isEarly && state === "idle" ? "tokenizing" : state;
  }

  async resume(): Promise<ApiAnswer> {
    return (await this.#load())?.resume() ?? { kind: "unreachable" };
  }

  async refresh(): Promise<void> {
    await (this.#checkout?.refresh() ?? this.resume());
  }

  wake(): void {
    this.#checkout?.wake();
  }

  submit(): Promise<CheckoutResult> {
    if (this.#checkout) return this.#checkout.submit();
    this.#early ??= this.#submitEarly();
    return this.#early;
  }

  async #submitEarly(): Promise<CheckoutResult> {
    const { onState, onResult, closed } = this.#parts;
    this.#isEarly = true;
    onState("tokenizing");
    const checkout = await this.#load();
    const submitted = checkout?.submit();
    this.#early = undefined;
    this.#isEarly = false;
    if (submitted) return submitted;
    const result: CheckoutResult = closed.aborted ? { kind: "unmounted" } : failed;
    onState("idle");
    onResult(result);
    return result;
  }

  /** Loads the part, and again for a while; a load that failed or timed out is retried by the next call. */
  #load(): Promise<Checkout | undefined> {
    this.#loading ??= this.#loadWithin().then((checkout) => {
      if (!checkout) this.#loading = undefined;
      return checkout;
    });
    return this.#loading;
  }

  async #loadWithin(): Promise<Checkout | undefined> {
    const { closed, create, lazyParts } = this.#parts;
    await this.#painted;
    const giveUpAt = browserClock.now() + loadedWithinMs;
    for (let tries = 1; ; tries++) {
      const part = await loadSessionPart(lazyParts);
      if (closed.aborted) return undefined;
      if (part) {
        this.#checkout = create(part);
        return this.#checkout;
      }
      if (browserClock.now() >= giveUpAt) return undefined;
      await browserClock.wait(tries * loadAgainMs, closed);
    }
  }
}
