/** The money of all sandbox acquirers: holds, captures, voids and refunds. Knows no HTTP. */
import { randomUUID } from "node:crypto";
import type {
  CaptureBehaviour,
  DisputeBehaviour,
  Frictionless,
  HoldBehaviour,
  RefundBehaviour,
  SettlementBehaviour,
} from "../gateways/sandbox/card-behaviour.ts";
import type { SandboxClock } from "../gateways/sandbox/clock.ts";
import { unreachable } from "../platform/errors.ts";
import type { Book, Books } from "./books.ts";
import {
  beginsDispute,
  type DisputeAnswer,
  type Disputed,
  type DisputeRecord,
  type DisputeReport,
  disputeRecords,
  movedBy,
  nextReport,
  verdictAfterMs,
  verdictIn,
} from "./disputes.ts";

/** SANDBOX_A, SANDBOX_B, and the emulators of real gateways. */
export const acquirerNames = ["A", "B", "STRIPE", "ADYEN", "PAYPAL"] as const;

export type AcquirerName = (typeof acquirerNames)[number];

// A second chargeback deducts the amount again, so it was returned for the defense: CHARGEBACK_REVERSED, "this stage is not final", and
// SECOND_CHARGEBACK, "the disputed amount is deducted", of the OpenAPI file of Adyen's webhooks.
const returnsFirst: ReadonlySet<AcquirerName> = new Set(["B", "ADYEN"]);

/** An authorization on record. Amounts are integers of the acquirer's own unit. */
export type Authorization = {
  readonly id: string;
  readonly acquirer: AcquirerName;
  readonly account: string;
  /**
   * The merchant side's name for it: our attempt id. Acquirers do not check it for uniqueness, so two may share one.
   */
  readonly reference: string;
  readonly orderRef: string;
  readonly last4: string;
  readonly network: "visa" | "mastercard" | "amex";
  readonly value: number;
  readonly currency: string;
  /** The fate of its hold until then. */
  readonly hold: HoldBehaviour;
  readonly capture: CaptureBehaviour;
  readonly refund: RefundBehaviour;
  readonly dispute?: DisputeBehaviour | undefined;
  readonly settles?: SettlementBehaviour | undefined;
  readonly declineCode?: string;
  /** The bank's own code for a decline, and Mastercard's advice. */
  readonly networkCode?: string | undefined;
  readonly adviceCode?: string | undefined;
  /** True if the acquirer does not pass on the network's name for it. */
  readonly hasNoNetworkId?: boolean | undefined;
  /** The acquirer's names for customer and card, if the payment stores the card or charges a stored one. */
  readonly saved?: { readonly customer: string; readonly method: string } | undefined;
  /** The result of an authentication without the customer. */
  readonly frictionless?: Frictionless | undefined;
  /** RFC 3339: the time of the decision, which may be long after the request. */
  readonly openedAt: string;
  /** RFC 3339: when the acquirer ends the hold by itself. */
  readonly holdEndsAt: string;
  status: "held" | "captured" | "voided" | "declined";
  capturedValue: number;
  captureId?: string;
  /** RFC 3339. */
  capturedAt?: string;
  /** True once a request for its capture, or the answer, was lost on the way. */
  captureWasLost?: boolean;
  /** Every refund of it, oldest first. */
  readonly refunds: Refund[];
  /** True once the answer to a request for a refund was lost on the way. */
  refundWasLost?: boolean;
  /** The dispute of it, once it has begun. */
  disputed?: Disputed;
};

export type Refund = {
  readonly id: string;
  /** The merchant side's name for it: our refund id. Empty if it was made by hand. */
  readonly reference: string;
  readonly value: number;
  readonly openedAt: string;
  status: "pending" | "succeeded" | "failed";
  /** RFC 3339: when it was made, and when the bank returned it. */
  madeAt?: string;
  failedAt?: string;
};

/** A reason not to refund. */
export type RefundRefusal =
  | "not_captured"
  | "already_voided"
  | "already_declined"
  | "amount"
  | "amount_exceeds_captured"
  | "refund_not_allowed";

/** A change that no request made: by hand at the acquirer, or by the acquirer itself. */
export type UnaskedChange =
  | { readonly type: "captured" | "voided" | "expired" }
  | { readonly type: "refunded" | "refundFailed"; readonly refund: Refund }
  /** The bank disputes the payment, under this reference. */
  | {
      readonly type: "disputed";
      readonly report: DisputeReport;
      readonly reference: string;
      readonly disputed: Disputed;
    };

type OnUnasked = (authorization: Authorization, change: UnaskedChange) => void;

export type NewAuthorization = Omit<
  Authorization,
  "id" | "status" | "capturedValue" | "openedAt" | "refunds" | "holdEndsAt"
> & {
  /** Present if the customer has authenticated first: the name by which the payment is known already. */
  readonly id?: string | undefined;
};

/** An account's authorization, by the merchant side's own name for it. */
export type Reference = {
  readonly acquirer: AcquirerName;
  readonly account: string;
  readonly reference: string;
};

// A day of a busy demo; beyond it the oldest are dropped.
const authorizationsMax = 100_000;
const dayMs = 24 * 60 * 60 * 1_000;
const byHandAfterMs = 5_000;
const endsEarlyAfterMs = 5_000;
const failsAfterMs = dayMs;

/**
 * The life of a hold. Of the real gateways it is the shortest of any card: 7 days at Stripe
 * (https://docs.stripe.com/payments/place-a-hold-on-a-payment-method, 2026), 5 at Adyen
 * (https://docs.adyen.com/online-payments/classic-integrations/modify-payments/capture, 2026), and 29 at PayPal
 * (https://developer.paypal.com/docs/api/payments/v2/, 2026).
 */
const holdLifeMs: Readonly<Record<AcquirerName, number>> = {
  A: 7 * dayMs,
  B: 5 * dayMs,
  STRIPE: 7 * dayMs,
  ADYEN: 5 * dayMs,
  PAYPAL: 29 * dayMs,
};

/** All money that the sandbox acquirers hold, have captured, have voided or have refunded. */
export class Ledger {
  readonly #authorizations: Book<Authorization>;
  readonly #refunded: Book<string>;
  /** References voided before they were ever authorized: a late authorize of one is refused. */
  readonly #refused: Book<true>;

  /** Cancels what ends a hold by itself. */
  readonly #holdEnds = new WeakMap<Authorization, () => void>();
  readonly #clock: SandboxClock;
  readonly #onUnasked: OnUnasked[] = [];

  constructor(clock: SandboxClock, books: Books) {
    this.#clock = clock;
    this.#authorizations = books.open("authorization", authorizationsMax);
    this.#refunded = books.open("refunded", authorizationsMax);
    this.#refused = books.open("refused", authorizationsMax);
  }

  /** Resumes the work that a stop has interrupted; called once every listener is there. */
  resume(): void {
    for (const authorization of this.#authorizations.values()) {
      const { status, refund, refunds } = authorization;
      if (status === "held") this.#scheduleEnd(authorization);
      const isAwaitingHand = status === "captured" && refund === "by_hand";
      if (isAwaitingHand && refunds.every(({ reference }) => reference !== ""))
        this.#scheduleRefundByHand(authorization);
      this.#scheduleDispute(authorization);
      this.#scheduleVerdict(authorization);
      for (const one of refunds) {
        if (one.status === "pending") this.makeRefund(authorization, one);
        else if (one.status === "succeeded") this.#scheduleFailure(authorization, one);
      }
    }
  }

  save(authorization: Authorization): void {
    this.#authorizations.set(authorization.id, authorization);
  }

  /** Calls the listener with each change that no request made, once it is made. */
  onUnasked(listener: OnUnasked): void {
    this.#onUnasked.push(listener);
  }

  open(authorization: NewAuthorization): Authorization {
    const status = authorization.declineCode === undefined ? "held" : "declined";
    const nowMs = this.#clock.nowMs();
    const openedAt = new Date(nowMs).toISOString();
    const lifeMs = holdLifeMs[authorization.acquirer];
    const holdEndsAt = new Date(nowMs + lifeMs).toISOString();
    const id = authorization.id ?? `auth_${randomUUID()}`;
    const opened: Authorization = { ...authorization, id, status, capturedValue: 0, refunds: [], openedAt, holdEndsAt };
    this.#authorizations.set(opened.id, opened);
    if (status === "held") this.#scheduleEnd(opened);
    return opened;
  }

  /** Returns an authorization of any account. */
  record(id: string): Authorization | undefined {
    return this.#authorizations.get(id);
  }

  find(acquirer: AcquirerName, account: string, id: string): Authorization | undefined {
    const found = this.#authorizations.get(id);
    return found?.acquirer === acquirer && found.account === account ? found : undefined;
  }

  findByReference(asked: Reference): readonly Authorization[] {
    return this.all().filter(
      (one) => one.reference === asked.reference && one.account === asked.account && one.acquirer === asked.acquirer,
    );
  }

  findRefund(
    acquirer: AcquirerName,
    account: string,
    id: string,
  ): { readonly authorization: Authorization; readonly refund: Refund } | undefined {
    const authorization = this.find(acquirer, account, this.#refunded.get(id) ?? "");
    const refund = authorization?.refunds.find((one) => one.id === id);
    return authorization && refund && { authorization, refund };
  }

  /** Returns an account's disputes, the newest first, with their payments. */
  disputes(acquirer: AcquirerName, account: string): readonly (DisputeRecord & { readonly payment: Authorization })[] {
    return this.all()
      .filter((one) => one.disputed !== undefined && one.acquirer === acquirer && one.account === account)
      .flatMap((payment) =>
        disputeRecords(`dispute_${payment.id}`, payment.dispute, payment.disputed).map((record) => ({
          ...record,
          payment,
        })),
      )
      .toSorted((left, right) => right.openedMs - left.openedMs || right.id.localeCompare(left.id));
  }

  all(): readonly Authorization[] {
    return this.#authorizations.values();
  }

  /** Captures the hold, or the part that is given, and releases the rest; returns false if there is none. */
  capture(authorization: Authorization, value = authorization.value): boolean {
    if (authorization.status !== "held" || !isPart(value, authorization.value)) return false;
    this.#cancelEnd(authorization);
    authorization.status = "captured";
    authorization.capturedValue = value;
    authorization.captureId = `cap_${randomUUID()}`;
    authorization.capturedAt = this.#now();
    this.save(authorization);
    if (authorization.refund === "by_hand") this.#scheduleRefundByHand(authorization);
    this.#beginDispute(authorization, "captured");
    return true;
  }

  /** Takes back a capture that the card scheme rejects. */
  takeBack(authorization: Authorization): void {
    authorization.status = "voided";
    authorization.capturedValue = 0;
    this.save(authorization);
  }

  /** Accepts a refund of at most the rest of the captured amount, or returns the reason why not. */
  refund(authorization: Authorization, asked: Pick<Refund, "reference" | "value">): Refund | RefundRefusal {
    const { status, capturedValue, refunds } = authorization;
    if (status === "held") return "not_captured";
    if (status !== "captured") return `already_${status}`;
    if (!isPart(asked.value, Number.MAX_SAFE_INTEGER)) return "amount";
    if (authorization.refund === "refuse") return "refund_not_allowed";
    if (asked.value > capturedValue - refundedValue(authorization)) return "amount_exceeds_captured";
    const openedAt = new Date(this.#clock.nowMs()).toISOString();
    const refund: Refund = { ...asked, id: `re_${randomUUID()}`, openedAt, status: "pending" };
    refunds.push(refund);
    this.save(authorization);
    this.#refunded.set(refund.id, authorization.id);
    this.#beginDispute(authorization, "refundTaken");
    return refund;
  }

  makeRefund(authorization: Authorization, refund: Refund): void {
    if (refund.status !== "pending") return;
    refund.status = "succeeded";
    refund.madeAt = this.#now();
    this.save(authorization);
    this.#scheduleFailure(authorization, refund);
    this.#beginDispute(authorization, "refundMade");
  }

  /** Refunds as a person does at the acquirer: without a reference of ours. */
  refundByHand(authorization: Authorization, value: number): Refund | RefundRefusal {
    const refund = this.refund(authorization, { reference: "", value });
    if (typeof refund === "string") return refund;
    this.makeRefund(authorization, refund);
    this.#report(authorization, { type: "refunded", refund });
    return refund;
  }

  captureByHand(authorization: Authorization, value?: number): boolean {
    const isCaptured = this.capture(authorization, value);
    if (isCaptured) this.#report(authorization, { type: "captured" });
    return isCaptured;
  }

  void(authorization: Authorization): boolean {
    if (authorization.status !== "held") return false;
    this.#cancelEnd(authorization);
    authorization.status = "voided";
    this.save(authorization);
    return true;
  }

  voidByHand(authorization: Authorization): boolean {
    const isVoided = this.void(authorization);
    if (isVoided) this.#report(authorization, { type: "voided" });
    return isVoided;
  }

  /** Refuses every authorize under this reference from now on. */
  refuse(reference: Reference): void {
    this.#refused.set(keyOf(reference), true);
  }

  isRefused(reference: Reference): boolean {
    return this.#refused.has(keyOf(reference));
  }

  #scheduleRefundByHand(authorization: Authorization): void {
    const value = Math.ceil(authorization.capturedValue / 2);
    this.#clock.at(this.#clock.nowMs() + byHandAfterMs, () => this.refundByHand(authorization, value));
  }

  #scheduleFailure(authorization: Authorization, refund: Refund): void {
    if (authorization.refund !== "fail_later") return;
    this.#clock.at(Date.parse(refund.openedAt) + failsAfterMs, () => {
      refund.status = "failed";
      refund.failedAt = this.#now();
      this.save(authorization);
      this.#report(authorization, { type: "refundFailed", refund });
    });
  }

  #beginDispute(authorization: Authorization, change: Parameters<typeof beginsDispute>[1]): void {
    if (authorization.disputed || !beginsDispute(authorization.dispute, change)) return;
    authorization.disputed = { fromMs: this.#clock.nowMs(), made: 0 };
    this.save(authorization);
    this.#scheduleDispute(authorization);
  }

  #scheduleDispute(authorization: Authorization): void {
    const { dispute, disputed } = authorization;
    const next = dispute && disputed && nextReport(dispute, disputed);
    if (next === undefined) return;
    this.#clock.at(next.timeMs, () => {
      const { report, unlessRefunded } = next;
      const now = authorization.disputed!;
      // The merchant's answer changes the plan.
      const isOver = now.answer !== undefined && (now.answer.type === "accept" || now.answer.verdict !== "none");
      const isRefunded = unlessRefunded && refundedValue(authorization) >= authorization.capturedValue;
      const isMade = !isOver && !isRefunded;
      const reports = [...(now.reports ?? []), ...(isMade ? [report] : [])];
      authorization.disputed = { ...now, made: now.made + 1, reports };
      this.save(authorization);
      if (isMade) this.#reportDispute(authorization, report);
      this.#scheduleDispute(authorization);
    });
  }

  /**
   * Takes the merchant's answer to a dispute that needs one, in its time; false otherwise. Words in the evidence decide (verdictIn()).
   */
  answerDispute(authorization: Authorization, type: DisputeAnswer["type"], evidence = ""): boolean {
    const { dispute, disputed, id } = authorization;
    const now = this.#clock.nowMs();
    const waiting = disputeRecords(id, dispute, disputed).find(({ status }) => status === "needs_response");
    if (disputed === undefined || waiting === undefined || now > waiting.respondByMs) return false;
    authorization.disputed = { ...disputed, answer: { type, atMs: now, verdict: verdictIn(evidence) } };
    this.save(authorization);
    this.#reportDispute(authorization, type === "accept" ? "DISPUTE_DEFENSE_PERIOD_ENDED" : "INFORMATION_SUPPLIED");
    this.#scheduleVerdict(authorization);
    return true;
  }

  /** Reports, once, that the answer to a response is lost on the way. */
  losesAnswer(authorization: Authorization): boolean {
    const { dispute, disputed } = authorization;
    if (dispute !== "answers_lost" || disputed === undefined || disputed.answerWasLost) return false;
    authorization.disputed = { ...disputed, answerWasLost: true };
    this.save(authorization);
    return true;
  }

  #scheduleVerdict(authorization: Authorization): void {
    const { answer } = authorization.disputed ?? {};
    if (answer === undefined || answer.verdict === "none" || answer.isDecided) return;
    this.#clock.at(answer.atMs + verdictAfterMs, () => {
      const isInquiry = authorization.disputed!.reports?.includes("CHARGEBACK") !== true;
      authorization.disputed = { ...authorization.disputed!, answer: { ...answer, isDecided: true } };
      this.save(authorization);
      const ofChargeback = answer.verdict === "won" ? "CHARGEBACK_REVERSED" : "SECOND_CHARGEBACK";
      if (!isInquiry && answer.verdict === "lost" && returnsFirst.has(authorization.acquirer))
        this.#reportDispute(authorization, "CHARGEBACK_REVERSED");
      this.#reportDispute(authorization, isInquiry ? "DISPUTE_DEFENSE_PERIOD_ENDED" : ofChargeback);
    });
  }

  #now(): string {
    return new Date(this.#clock.nowMs()).toISOString();
  }

  #reportDispute(authorization: Authorization, report: DisputeReport): void {
    const { id, disputed: before } = authorization;
    const moved = movedBy(report, before!, id);
    if (moved)
      authorization.disputed = { ...before!, moved: [...(before!.moved ?? []), { ...moved, at: this.#now() }] };
    if (moved) this.save(authorization);
    const { disputed } = authorization;
    this.#report(authorization, { type: "disputed", report, reference: `dispute_${id}`, disputed: disputed! });
  }

  #scheduleEnd(authorization: Authorization): void {
    const openedMs = Date.parse(authorization.openedAt);
    const atMs = (timeMs: number, act: () => void) => {
      this.#holdEnds.set(authorization, this.#clock.at(timeMs, act));
    };
    const expire = () => {
      if (this.void(authorization)) this.#report(authorization, { type: "expired" });
    };
    switch (authorization.hold) {
      case "lasts":
        atMs(Date.parse(authorization.holdEndsAt), expire);
        break;
      case "ends_early":
        atMs(openedMs + endsEarlyAfterMs, expire);
        break;
      case "captured_by_hand":
        atMs(openedMs + byHandAfterMs, () => this.captureByHand(authorization, Math.ceil(authorization.value / 2)));
        break;
      default:
        unreachable(authorization.hold);
    }
  }

  #cancelEnd(authorization: Authorization): void {
    this.#holdEnds.get(authorization)?.();
    this.#holdEnds.delete(authorization);
  }

  #report(authorization: Authorization, change: UnaskedChange): void {
    for (const listener of this.#onUnasked) listener(authorization, change);
  }
}

/** Returns the card network's name for an authorization, 15 characters like Visa's; undefined if it has none. */
export function networkIdOf({ id, declineCode, hasNoNetworkId }: Authorization): string | undefined {
  const hasNone = declineCode !== undefined || hasNoNetworkId === true;
  return hasNone ? undefined : id.replace(/auth_|-/g, "").slice(0, 15);
}

/** Reports whether this is an amount of at least one unit, and at most the whole. */
export function isPart(value: number, whole: number): boolean {
  return Number.isSafeInteger(value) && value >= 1 && value <= whole;
}

export function refundedValue({ refunds }: Authorization): number {
  return refunds.reduce((sum, { status, value }) => (status === "failed" ? sum : sum + value), 0);
}

function keyOf({ acquirer, account, reference }: Reference): string {
  return JSON.stringify([acquirer, account, reference]);
}
