/**
 * A payment in the browser, from the click to its single outcome. Independent of the DOM, the network library and the
 * vault.
 */

import type {
  ApiAnswer,
  CardAnswer,
  CheckoutView,
  NextAction,
  Outcome,
  SaveCard,
  SessionApi,
  WidgetError,
} from "./answers.ts";

/** `idle` accepts a click; `done` never changes again. */
export type CheckoutState = "idle" | "tokenizing" | "submitting" | "waiting" | "action" | "done";

/** The result of a submit. Unless it is an outcome, the customer may submit again. */
export type CheckoutResult =
  | Outcome
  | { readonly kind: "pending" }
  | { readonly kind: "failed"; readonly error: WidgetError }
  | { readonly kind: "unmounted" };

/** Time, so that a test can hold it. `wait` returns early, without an error, when `signal` aborts. */
export type Clock = {
  now(): number;
  wait(durationMs: number, signal: AbortSignal): Promise<void>;
};

/** The dependencies of a checkout, and its callback. */
export type CheckoutParts = {
  readonly api: SessionApi;
  readonly tokenize: () => Promise<CardAnswer>;
  /** The origin of the loaded vault script. */
  readonly vaultOrigin: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Aborted when the widget releases this session. */
  readonly closed: AbortSignal;
  readonly onState: (state: CheckoutState) => void;
  readonly onView: (view: CheckoutView) => void;
  readonly onPending: () => void;
  /** Called after each status of a running payment, with the action that it waits for. */
  readonly onAction: (action: NextAction | undefined) => void;
  /** Called once for each submit or resumed payment; only once with a final result. */
  readonly onResult: (result: CheckoutResult) => void;
};

// The service's budget for one submission; longer than this means a gateway has not confirmed a capture.
const pendingAfterMs = 45_000;
// After that the outcome arrives by hand or by notification, so further polling would only load the service.
const giveUpAfterMs = pendingAfterMs + 10 * 60_000;
// Long enough for a phone to change networks, short enough that a customer still looks at the page.
const lookLimitMs = 15_000;
const pollFirstMs = 1_000;
const pollLongestMs = 5_000;

/**
 * PURE. Returns the pause before the next poll: 1 s growing to 5 s, a fifth more or less so that pages do not poll in
 * step.
 */
export function pollDelayMs(tries: number, random: () => number): number {
  return Math.min(pollFirstMs * 1.5 ** tries, pollLongestMs) * (0.8 + 0.4 * random());
}

/**
 * PURE. Returns the pause after an answer, in milliseconds: the service's pause plus up to a second, or that of a poll.
 */
function pauseMs(answer: ApiAnswer | undefined, tries: number, random: () => number): number {
  return answer?.kind === "later" ? answer.waitMs + pollFirstMs * random() : pollDelayMs(tries, random);
}

// No usable answer arrived within the time that a customer waits.
const unreachable: WidgetError = { code: "unreachable", message: "The payment service cannot be reached." };
// Another session pays the order.
const orderTaken: ApiAnswer = {
  kind: "refused",
  error: { code: "order_being_paid", message: "This order is being paid in another tab or window." },
};
const vaultOriginMismatch: ApiAnswer = {
  kind: "refused",
  error: { code: "vault_origin_mismatch", message: "vault.sdkUrl is not on the origin of this session's vault." },
};

/** Refusals that the card form, or the list of stored cards, shows by itself. */
export const fieldProblems: readonly string[] = [
  "stored_card_unavailable",
  "invalid_card",
  "invalid_field",
  "test_card_required",
];

/** Pays one session at most once. No promise here rejects. */
export class Checkout {
  readonly #parts: CheckoutParts;
  #state: CheckoutState = "idle";
  #looking: Promise<ApiAnswer> | undefined;
  #running: Promise<CheckoutResult> | undefined;
  #pending: "early" | "due" | "done" = "early";
  /** The service's budget stands still while the customer acts. */
  #pendingAt = 0;
  #pause: AbortController | undefined;
  /** True if the last status showed that the submit has not arrived. */
  #untouched = false;

  constructor(parts: CheckoutParts) {
    this.#parts = parts;
    parts.closed.addEventListener("abort", () => this.wake());
  }

  get state(): CheckoutState {
    return this.#state;
  }

  /** Loads the session's status; a payment submitted before a reload is followed to its result. */
  async resume(): Promise<ApiAnswer> {
    const looked = await this.#look();
    if (looked.kind !== "checkout") this.#looking = undefined;
    else if (isTakenUp(looked.checkout)) this.#start(() => this.#follow(looked.checkout));
    return looked;
  }

  /**
   * Loads the status again unless a payment is running: the session may have ended meanwhile, by time or in another
   * tab.
   */
  async refresh(): Promise<void> {
    if (this.#running) return;
    this.#looking = undefined;
    await this.resume();
  }

  /** Ends the pause before the next look at a running payment. */
  wake(): void {
    this.#pause?.abort();
  }

  /** Pays. While it runs, and after a final result, every further call returns the same promise. */
  submit(): Promise<CheckoutResult> {
    return this.#start(() => this.#pay());
  }

  #start(work: () => Promise<CheckoutResult>): Promise<CheckoutResult> {
    this.#running ??= work().then((found) => {
      const result: CheckoutResult = this.#parts.closed.aborted ? { kind: "unmounted" } : found;
      const final = !["pending", "failed", "unmounted"].includes(result.kind);
      if (!final) {
        this.#running = undefined;
        this.#looking = undefined;
      }
      this.#enter(final ? "done" : "idle");
      this.#parts.onResult(result);
      return result;
    });
    return this.#running;
  }

  async #pay(): Promise<CheckoutResult> {
    if (this.#parts.closed.aborted) return { kind: "unmounted" };
    this.#enter("tokenizing");
    const looked = await this.#look();
    if (looked.kind !== "checkout") return failed(looked);
    if (isTakenUp(looked.checkout)) return this.#follow(looked.checkout);

    const first = await this.#payByCard();
    // The form still holds the card, so another token is one call; after a second refusal the customer decides.
    return first.kind === "failed" && first.error.code === "token_refused" ? this.#payByCard() : first;
  }

  async #payByCard(): Promise<CheckoutResult> {
    this.#enter("tokenizing");
    const card = await this.#parts.tokenize();
    if (card.kind === "refused") {
      if (fieldProblems.includes(card.error.code)) return failed(card);
      // The vault accepts no card for a session that was paid, or has ended, in another window.
      const known = await this.#parts.api.getCheckout();
      return known.kind === "checkout" && isTakenUp(known.checkout) ? this.#follow(known.checkout) : failed(card);
    }

    this.#enter("submitting");
    return this.#reportPending(() => this.#submitUntilTakenUp(card.token, card.saveCard));
  }

  /**
   * Submits until the service has the payment. A submit without an answer may have arrived, so the session's status
   * decides: a payment that arrived is followed, one that did not is submitted again with the same token, which the
   * service joins to a submission it already has. A submit that has not arrived within the budget has failed: no
   * customer should wait for a payment that does not exist.
   */
  async #submitUntilTakenUp(vaultToken: string, saveCard?: SaveCard): Promise<CheckoutResult> {
    const startedAt = this.#parts.clock.now();
    const isWithin = (limitMs: number) => this.#parts.clock.now() < startedAt + limitMs;
    let mayHaveArrived = false;
    for (let tries = 0; isWithin(giveUpAfterMs) && !this.#parts.closed.aborted; tries++) {
      const submitted = await this.#parts.api.submitPayment(vaultToken, saveCard);
      mayHaveArrived ||= submitted.kind !== "later" || !submitted.isUntouched;
      const known = submitted.kind === "checkout" ? submitted : await this.#parts.api.getCheckout();
      this.#untouched = known.kind === "checkout" || !mayHaveArrived;
      if (known.kind === "checkout") {
        this.#parts.onView(known.checkout);
        if (isTakenUp(known.checkout)) return this.#poll(known.checkout, startedAt + giveUpAfterMs);
        if (known.checkout.isOrderTaken) return failed(orderTaken);
      }
      const isRefused = submitted.kind === "refused" && (known.kind === "checkout" || known.kind === "refused");
      if (isRefused || (this.#untouched && !isWithin(pendingAfterMs))) return failed(submitted);
      this.#emitPending();
      await this.#pauseAfter(submitted.kind === "later" && known.kind !== "later" ? submitted : known, tries);
    }
    return { kind: "pending" };
  }

  #pauseAfter(answer: ApiAnswer | undefined, tries: number): Promise<void> {
    const { clock, closed, random } = this.#parts;
    this.#pause = new AbortController();
    if (closed.aborted) this.wake();
    return clock.wait(pauseMs(answer, tries, random), this.#pause.signal);
  }

  #follow(view: CheckoutView): Promise<CheckoutResult> {
    return this.#reportPending(() => this.#poll(view, this.#parts.clock.now() + giveUpAfterMs));
  }

  async #poll(first: CheckoutView, until: number): Promise<CheckoutResult> {
    this.#untouched = false;
    this.#emitPending();
    const { clock, onAction } = this.#parts;
    let giveUpAt = until;
    let view = first;
    let answer: ApiAnswer | undefined;
    for (let tries = 0; clock.now() < giveUpAt && !this.#parts.closed.aborted; tries++) {
      onAction(view.action);
      if (view.outcome) return view.outcome;
      if (view.action) {
        giveUpAt = clock.now() + giveUpAfterMs;
        this.#pendingAt = clock.now() + pendingAfterMs;
      }
      this.#enter(view.action && !view.action.isHidden ? "action" : "waiting");
      await this.#pauseAfter(answer, tries);
      if (this.#pause?.signal.aborted) tries = -1;
      answer = await this.#parts.api.getCheckout();
      if (answer.kind === "checkout") view = answer.checkout;
    }
    return { kind: "pending" };
  }

  /** Calls onPending, once for the session, when `work` outlives the service's budget. */
  async #reportPending(work: () => Promise<CheckoutResult>): Promise<CheckoutResult> {
    const finished = new AbortController();
    const { clock } = this.#parts;
    if (this.#pending === "due") this.#pending = "early";
    this.#pendingAt = clock.now() + pendingAfterMs;
    const awaitBudget = async (): Promise<void> => {
      await clock.wait(this.#pendingAt - clock.now(), finished.signal);
      if (finished.signal.aborted || this.#pending === "done") return;
      if (this.#state === "action") this.#pendingAt = clock.now() + pendingAfterMs;
      if (clock.now() < this.#pendingAt) return awaitBudget();
      this.#pending = "due";
      this.#emitPending();
    };
    void awaitBudget();
    try {
      return await work();
    } finally {
      finished.abort();
    }
  }

  #emitPending(): void {
    if (this.#pending !== "due" || this.#untouched) return;
    this.#pending = "done";
    this.#parts.onPending();
  }

  /** Loads the status once for mount and an early click; a failed run is forgotten. */
  #look(): Promise<ApiAnswer> {
    this.#looking ??= this.#lookUntilReached();
    return this.#looking;
  }

  async #lookUntilReached(): Promise<ApiAnswer> {
    const { api, clock, closed, onView } = this.#parts;
    const startedAt = clock.now();
    for (let tries = 0; ; tries++) {
      const answer = await api.getCheckout();
      if (answer.kind === "checkout") {
        onView(answer.checkout);
        const { vaultOrigin, isOrderTaken } = answer.checkout;
        if (isTakenUp(answer.checkout)) return answer;
        if (isOrderTaken) return orderTaken;
        return vaultOrigin === this.#parts.vaultOrigin ? answer : vaultOriginMismatch;
      }
      if (answer.kind === "refused" || closed.aborted) return answer;
      // A service that says when to retry is reachable: it gets more time than one that does not answer.
      const limitMs = answer.kind === "later" ? giveUpAfterMs : lookLimitMs;
      if (clock.now() >= startedAt + limitMs) return answer;
      await this.#pauseAfter(answer, tries);
    }
  }

  #enter(state: CheckoutState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#parts.onState(state);
  }
}

function failed(answer: ApiAnswer | CardAnswer): CheckoutResult {
  return { kind: "failed", error: answer.kind === "refused" ? answer.error : unreachable };
}

/** PURE. Reports whether the customer can no longer start another payment in this session. */
function isTakenUp(view: CheckoutView): boolean {
  return view.processing || view.outcome !== undefined;
}
