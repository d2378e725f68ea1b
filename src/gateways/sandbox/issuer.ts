/** The pretend bank behind the test cards: what becomes of an authorize, for both acquirers. */
import type { AcquirerName, Authorization, Ledger, NewAuthorization, Reference } from "./ledger.ts";
import type { Pauses } from "./pauses.ts";
import { type CardBehaviour, testCards } from "./test-cards.ts";

export type CardPayment = Reference & {
  readonly number: string;
  readonly orderRef: string;
  readonly value: number;
  readonly currency: string;
};

/** Real durations, each cut short by a release signal. */
export type Delays = {
  /** How long an unanswered connection stays open. */
  readonly silenceMs: number;
  /** When a late approval happens; longer than the flow waits for an attempt. */
  readonly lateMs: number;
  /** How long a slow capture takes. */
  readonly slowCaptureMs: number;
};

/** `silent` means: close the connection without an answer. `refused`: the reference had been voided. */
export type CardResult =
  | { readonly type: "held"; readonly authorization: Authorization }
  | { readonly type: "declined"; readonly authorization: Authorization; readonly code: string }
  | { readonly type: "failed"; readonly status: number }
  | { readonly type: "refused" }
  | { readonly type: "silent" };

export class Issuer {
  readonly #ledger: Ledger;
  readonly #pauses: Pauses;
  readonly #delays: Delays;
  /** Behaviours set by a test, before those of the table. */
  readonly #overrides = new Map<string, CardBehaviour>();

  constructor(parts: { ledger: Ledger; pauses: Pauses; delays: Delays }) {
    this.#ledger = parts.ledger;
    this.#pauses = parts.pauses;
    this.#delays = parts.delays;
  }

  setBehaviour(acquirer: AcquirerName, number: string, behaviour: CardBehaviour): void {
    this.#overrides.set(`${acquirer} ${number}`, behaviour);
  }

  /** Decides as the card says; `onDecision` hears of every authorization, also one whose answer gets lost. */
  async authorize(payment: CardPayment, onDecision: (authorization: Authorization) => void): Promise<CardResult> {
    if (this.#ledger.isRefused(payment)) return { type: "refused" };
    const open = (difference: Partial<NewAuthorization> = {}): Authorization => {
      const { number, ...rest } = payment;
      const authorization = this.#ledger.open({
        ...rest,
        last4: number.slice(-4),
        capturesSlowly: false,
        ...difference,
      });
      onDecision(authorization);
      return authorization;
    };
    const behaviour = this.#behaviourOf(payment);
    switch (behaviour.act) {
      case "approve":
        return { type: "held", authorization: open() };
      case "approve_capture_slowly":
        return { type: "held", authorization: open({ capturesSlowly: true }) };
      case "approve_wrong_amount":
        return { type: "held", authorization: open({ value: payment.value - 1 }) };
      case "decline":
        return { type: "declined", authorization: open({ declineCode: behaviour.code }), code: behaviour.code };
      case "fail":
        return { type: "failed", status: behaviour.status };
      case "stay_silent":
        return this.#silence(payment, this.#delays.silenceMs);
      case "approve_lose_answer":
        open();
        return this.#silence(payment, this.#delays.silenceMs);
      case "approve_late":
        await this.#silence(payment, this.#delays.lateMs);
        if (this.#ledger.isRefused(payment)) return { type: "refused" };
        open();
        return { type: "silent" };
    }
  }

  /** Takes as long as a capture of this authorization takes. */
  async captureDelay(authorization: Authorization): Promise<void> {
    if (!authorization.capturesSlowly) return;
    const operation = `${authorization.acquirer.toLowerCase()}.slow-capture`;
    await this.#pauses.wait(operation, authorization.reference, this.#delays.slowCaptureMs);
  }

  async #silence(payment: CardPayment, durationMs: number): Promise<CardResult> {
    const operation = `${payment.acquirer.toLowerCase()}.silence`;
    await this.#pauses.wait(operation, payment.reference, durationMs);
    return { type: "silent" };
  }

  #behaviourOf({ acquirer, number }: CardPayment): CardBehaviour {
    const override = this.#overrides.get(`${acquirer} ${number}`);
    if (override !== undefined) return override;
    const card = testCards.find((one) => one.number === number);
    if (card === undefined) return { act: "decline", code: acquirer === "A" ? "incorrect_number" : "8" };
    return acquirer === "A" ? card.onA : card.onB;
  }
}
