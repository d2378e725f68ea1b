/** The test bank behind the test cards: decides authorizes for all acquirers. */

import { randomUUID } from "node:crypto";
import type { CardBehaviour } from "../gateways/sandbox/card-behaviour.ts";
import type { SandboxClock } from "../gateways/sandbox/clock.ts";
import { unreachable } from "../platform/errors.ts";
import { behaviourAt, customerWanted, renewalAt, setUpAt, usedCryptogramAt } from "./behaviour-at.ts";
import type { Book, Books } from "./books.ts";
import type { Asking, CardPayment, Challenge, Challenges, StoredPayment } from "./challenges.ts";
import type { AcquirerName, Authorization, Ledger, NewAuthorization } from "./ledger.ts";
import type { Pauses } from "./pauses.ts";
import type { SavedCards } from "./saved-cards.ts";
import type { Directory } from "./three-d-secure.ts";

/** Real durations, each cut short by a release signal. */
export type Delays = {
  /** Time that an unanswered connection stays open. */
  readonly silenceMs: number;
  /** Delay of a late approval; longer than the flow waits for an attempt. */
  readonly lateMs: number;
  /** Duration of a slow capture; longer than one request for it waits. */
  readonly slowCaptureMs: number;
  /** Duration of an overdue capture; longer than a whole payment may take. */
  readonly overdueCaptureMs: number;
  readonly slowRefundMs: number;
  /** Time for which Stripe's search cannot find a new payment. */
  readonly searchLagMs: number;
};

/** `silent`: the connection is closed without an answer. `refused`: the reference had been voided. */
export type CardResult =
  | { readonly type: "held"; readonly authorization: Authorization }
  | { readonly type: "declined"; readonly authorization: Authorization; readonly code: string }
  | { readonly type: "failed"; readonly status: number }
  | { readonly type: "refused" }
  | { readonly type: "silent" };

// A day of a busy demo; beyond it the oldest are dropped.
const ordersMax = 100_000;

type OnDecision = (authorization: Authorization) => void;

/** Answers authorizes by the test card's behaviour, for all acquirers. */
export class Issuer {
  readonly #ledger: Ledger;
  readonly #pauses: Pauses;
  readonly #delays: Delays;
  readonly #challenges: Challenges;
  readonly #directory: Directory;
  readonly #savedCards: SavedCards;
  readonly #clock: SandboxClock;
  readonly #declinedOnce: Book<true>;
  /** The cryptograms that the networks behind all acquirers have seen. */
  readonly #usedCryptograms: Book<true>;
  /** Behaviours set by a test, which precede those of the table. */
  readonly #overrides = new Map<string, CardBehaviour>();

  constructor(parts: {
    ledger: Ledger;
    pauses: Pauses;
    delays: Delays;
    challenges: Challenges;
    directory: Directory;
    savedCards: SavedCards;
    clock: SandboxClock;
    books: Books;
  }) {
    this.#declinedOnce = parts.books.open("declined once", ordersMax);
    this.#usedCryptograms = parts.books.open("used cryptograms", ordersMax);
    this.#challenges = parts.challenges;
    this.#directory = parts.directory;
    this.#savedCards = parts.savedCards;
    this.#clock = parts.clock;
    this.#ledger = parts.ledger;
    this.#pauses = parts.pauses;
    this.#delays = parts.delays;
  }

  setBehaviour(acquirer: AcquirerName, number: string, behaviour: CardBehaviour): void {
    this.#overrides.set(`${acquirer} ${number}`, behaviour);
  }

  /** Decides as the card says; `onDecision` receives every authorization, also one whose answer is lost. */
  authorize(payment: CardPayment, onDecision: OnDecision): Promise<CardResult> {
    return this.#decide(payment, this.#behaviourOf(payment), onDecision);
  }

  /** Decides by the card, or challenges the customer first if the card requires it and the request permits it. */
  async authorizeOrAsk(
    payment: CardPayment,
    asking: Asking | undefined,
    onDecision: OnDecision,
  ): Promise<CardResult | { readonly type: "asked"; readonly challenge: Challenge }> {
    const behaviour = this.#behaviourOf(payment);
    if (payment.renews !== undefined) return this.#decide(payment, behaviour, onDecision);
    if (behaviour.act === "authenticate" && payment.proof) {
      const isAccepted = !behaviour.refusesProof && this.#directory.isProof(payment.proof, payment);
      const refused = { act: "decline", code: behaviour.code } as const;
      return this.#decide(payment, isAccepted ? behaviour.passed : refused, onDecision);
    }
    if (behaviour.act === "authenticate" && payment.isExemptionAsked && behaviour.grantsExemption) {
      return this.#decide(payment, behaviour.passed, onDecision);
    }
    const asks =
      behaviour.act === "authenticate" && asking && (behaviour.when === "as_needed" || asking.wish === "always");
    const permitted = asking ? behaviour : unasked(behaviour);
    if (!asks || this.#ledger.isRefused(payment)) return this.#decide(payment, permitted, onDecision);
    const { passed, losesCompletion = false } = behaviour;
    const { returnUrl, cancelUrl } = asking;
    const challenge = this.#challenges.open({ payment, passed, losesCompletion, returnUrl, cancelUrl });
    return { type: "asked", challenge };
  }

  /** Decides a payment whose customer has passed. */
  settle({ id, payment, passed }: Challenge, onDecision: OnDecision): Promise<CardResult> {
    return this.#decide(payment, passed, onDecision, id);
  }

  /** Returns the decision about a payment whose customer has passed, if it was made before a restart. */
  decided({ id }: Challenge): CardResult | undefined {
    const authorization = this.#ledger.record(id);
    if (authorization === undefined) return undefined;
    const { declineCode: code } = authorization;
    return code === undefined ? { type: "held", authorization } : { type: "declined", authorization, code };
  }

  async #decide(payment: CardPayment, wanted: CardBehaviour, onDecision: OnDecision, id?: string): Promise<CardResult> {
    if (this.#ledger.isRefused(payment)) return { type: "refused" };
    const behaviour = this.#byNetwork(payment, wanted);
    const open = (difference: Partial<NewAuthorization> = {}): Authorization => {
      const {
        number,
        asked: _,
        proof: __,
        isExemptionAsked: ___,
        saves: ____,
        renews: _____,
        cryptogram,
        ...rest
      } = payment;
      if (cryptogram !== undefined) this.#usedCryptograms.set(cryptogram, true);
      const authorization = this.#ledger.open({
        ...rest,
        id,
        saved: difference.declineCode === undefined ? savedNames(payment) : undefined,
        last4: number.slice(-4),
        network: number.startsWith("4") ? "visa" : number.startsWith("3") ? "amex" : "mastercard",
        hold: "lasts",
        capture: "at_once",
        refund: "at_once",
        ...difference,
      });
      this.#savedCards.save(payment, authorization);
      onDecision(authorization);
      return authorization;
    };
    switch (behaviour.act) {
      case "approve":
        return { type: "held", authorization: open(approvalOf(behaviour)) };
      case "approve_wrong_amount":
        return { type: "held", authorization: open({ value: payment.value - 1 }) };
      case "approve_wrong_currency":
        return { type: "held", authorization: open({ currency: payment.currency === "USD" ? "EUR" : "USD" }) };
      case "approve_wrong_reference":
        // The record is right: only the answer names another payment.
        return { type: "held", authorization: { ...open(), reference: `${payment.reference}_other` } };
      case "decline": {
        const { code, frictionless, once, networkCode, adviceCode } = behaviour;
        const order = `${payment.acquirer} ${payment.account} ${payment.orderRef} ${payment.number}`;
        if (once && this.#declinedOnce.has(order)) return { type: "held", authorization: open() };
        if (once) this.#declinedOnce.set(order, true);
        const named = { declineCode: code, frictionless, networkCode, adviceCode };
        return { type: "declined", authorization: open(named), code };
      }
      case "authenticate":
        if (behaviour.when === "if_wanted") return this.#decide(payment, behaviour.passed, onDecision, id);
        return { type: "declined", authorization: open({ declineCode: behaviour.code }), code: behaviour.code };
      case "fail":
        return { type: "failed", status: behaviour.status };
      case "approve_then_fail":
        open();
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
      default:
        return unreachable(behaviour);
    }
  }

  /** Declines a cryptogram that the network has seen, unless the card's network takes it again. What never reaches the network is not seen there. */
  #byNetwork({ acquirer, cryptogram }: CardPayment, behaviour: CardBehaviour): CardBehaviour {
    if (cryptogram === undefined || behaviour.act === "fail" || behaviour.act === "stay_silent") return behaviour;
    const isTakenAgain = behaviour.act === "approve" && behaviour.takesUsedCryptogram;
    return this.#usedCryptograms.has(cryptogram) && !isTakenAgain ? usedCryptogramAt(acquirer) : behaviour;
  }

  async captureDelay({ acquirer, reference, capture }: Authorization): Promise<void> {
    const { slowCaptureMs, overdueCaptureMs } = this.#delays;
    const operation = `${acquirer.toLowerCase()}.slow-capture`;
    if (capture === "slow") await this.#pauses.wait(operation, reference, slowCaptureMs);
    if (capture === "overdue") await this.#pauses.wait(operation, reference, overdueCaptureMs);
  }

  /**
   * Carries a request for a capture to the acquirer, and its answer back. If the card says so, the first one is lost on
   * the way there or on the way back; it then returns `undefined`, after the time that an unanswered connection stays
   * open.
   */
  async carryCapture<Answer>(
    authorization: Authorization | undefined,
    deliver: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const loses = authorization?.capture === "lose_request" || authorization?.capture === "lose_answer";
    if (!loses || authorization.captureWasLost) return deliver();
    authorization.captureWasLost = true;
    this.#ledger.save(authorization);
    if (authorization.capture === "lose_answer") await deliver();
    const operation = `${authorization.acquirer.toLowerCase()}.lost-capture`;
    await this.#pauses.wait(operation, authorization.reference, this.#delays.silenceMs);
    return undefined;
  }

  async refundDelay({ acquirer, reference, refund }: Authorization): Promise<void> {
    const operation = `${acquirer.toLowerCase()}.slow-refund`;
    if (refund === "slow") await this.#pauses.wait(operation, reference, this.#delays.slowRefundMs);
  }

  /** Carries the answer to a request for a refund back. If the card says so, the first one is lost. */
  async carryRefund<Answer>(
    authorization: Authorization | undefined,
    deliver: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    if (authorization?.refund !== "lose_answer" || authorization.refundWasLost) return deliver();
    authorization.refundWasLost = true;
    this.#ledger.save(authorization);
    await deliver();
    const operation = `${authorization.acquirer.toLowerCase()}.lost-refund`;
    await this.#pauses.wait(operation, authorization.reference, this.#delays.silenceMs);
    return undefined;
  }

  /** Carries the answer to a completing request back. If the card says so, the first one is lost. */
  async carryCompletion<Answer>(
    challenge: Challenge | undefined,
    deliver: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    if (!challenge?.losesCompletion || challenge.completionWasLost) return deliver();
    challenge.completionWasLost = true;
    this.#challenges.save(challenge);
    await deliver();
    await this.#silence(challenge.payment, this.#delays.silenceMs);
    return undefined;
  }

  async #silence(payment: CardPayment, durationMs: number): Promise<CardResult> {
    const operation = `${payment.acquirer.toLowerCase()}.silence`;
    await this.#pauses.wait(operation, payment.reference, durationMs);
    return { type: "silent" };
  }

  #behaviourOf({ acquirer, number, value, asked, renews }: CardPayment): CardBehaviour {
    // A charge without its customer and without a known first payment: banks want the customer.
    if (renews === "unknown") return { act: "decline", code: customerWanted[acquirer] };
    if (asked !== undefined) return asked;
    const override = this.#overrides.get(`${acquirer} ${number}`);
    if (override !== undefined) return override;
    const setUp = value === 0 ? setUpAt(acquirer, number) : undefined;
    if (renews === undefined) return setUp ?? behaviourAt[acquirer](number);
    const behaviour = renewalAt[acquirer](number);
    return behaviour.act === "decline" && this.#isOver(behaviour.until, renews) ? { act: "approve" } : behaviour;
  }

  /** Reports whether a decline of renewals has ended for a card that was stored at that time. */
  #isOver(until: "next_day" | "stored_again" | undefined, stored: StoredPayment): boolean {
    if (until === "stored_again") return stored.isAgain;
    const today = new Date(this.#clock.nowMs()).toISOString().slice(0, 10);
    return until === "next_day" && stored.savedAt.slice(0, 10) < today;
  }
}

/** Returns the acquirer's names of a card that a payment stores, or of the stored one that it charges. */
function savedNames({ saves, renews }: CardPayment): Authorization["saved"] {
  if (saves !== undefined) return { customer: saves.customer, method: saves.method ?? `pm_${randomUUID()}` };
  return typeof renews === "object" ? { customer: renews.customer, method: renews.method } : undefined;
}

function approvalOf(behaviour: Extract<CardBehaviour, { act: "approve" }>) {
  const {
    hold = "lasts",
    capture = "at_once",
    refund = "at_once",
    dispute,
    settles,
    frictionless,
    givesNoNetworkId,
  } = behaviour;
  return { hold, capture, refund, dispute, settles, frictionless, ...(givesNoNetworkId && { hasNoNetworkId: true }) };
}

/** Returns the behaviour where the request does not permit authentication. */
function unasked(behaviour: CardBehaviour): CardBehaviour {
  return "frictionless" in behaviour ? { ...behaviour, frictionless: undefined } : behaviour;
}
