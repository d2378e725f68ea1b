/** The money of all sandbox acquirers: holds, captures, voids and refunds. Knows no HTTP. */
import { randomUUID } from "node:crypto";
import type { CaptureBehaviour, Frictionless, RefundBehaviour } from "../gateways/sandbox/card-behaviour.ts";
import type { SandboxClock } from "../gateways/sandbox/clock.ts";

/** SANDBOX_A, SANDBOX_B, and the emulators of real gateways. */
export const acquirerNames = ["A", "B", "STRIPE", "ADYEN", "PAYPAL"] as const;

/** A sandbox acquirer or an emulator. */
export type AcquirerName = (typeof acquirerNames)[number];

/** One authorization on record. Amounts are integers of the acquirer's own unit. */
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
  readonly value: number;
  readonly currency: string;
  /** The fate of its capture. */
  readonly capture: CaptureBehaviour;
  /** The fate of its refunds. */
  readonly refund: RefundBehaviour;
  readonly declineCode?: string;
  /** The result of an authentication without the customer. */
  readonly frictionless?: Frictionless | undefined;
  /** RFC 3339: the time of the decision, which may be long after the request. */
  readonly openedAt: string;
  status: "held" | "captured" | "voided" | "declined";
  capturedValue: number;
  /** True once a request for its capture, or the answer, was lost on the way. */
  captureWasLost?: boolean;
  /** Every refund of it, oldest first. */
  readonly refunds: Refund[];
  /** True once the answer to a request for a refund was lost on the way. */
  refundWasLost?: boolean;
};

/** One refund on record. */
export type Refund = {
  readonly id: string;
  /** The merchant side's name for it: our refund id. Empty if it was made by hand. */
  readonly reference: string;
  readonly value: number;
  readonly openedAt: string;
  status: "pending" | "succeeded" | "failed";
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
export type UnaskedChange = { readonly type: "refunded" | "refundFailed"; readonly refund: Refund };

type OnUnasked = (authorization: Authorization, change: UnaskedChange) => void;

/** A merchant's request for a hold. */
export type NewAuthorization = Omit<Authorization, "id" | "status" | "capturedValue" | "openedAt" | "refunds"> & {
  /** Given where the customer has authenticated first: the name by which the payment is known already. */
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
const byHandAfterMs = 5_000;
const failsAfterMs = 24 * 60 * 60 * 1_000;

/** All money that the sandbox acquirers hold, have captured, have voided or have refunded. */
export class Ledger {
  readonly #authorizations = new Map<string, Authorization>();
  /** The authorization of each refund, by their ids. */
  readonly #refunded = new Map<string, string>();
  /** References voided before they were ever authorized: a late authorize of one is refused. */
  readonly #refused = new Set<string>();

  readonly #clock: SandboxClock;
  readonly #onUnasked: OnUnasked[] = [];

  constructor(clock: SandboxClock) {
    this.#clock = clock;
  }

  /** Calls the listener with each change that no request made, once it is made. */
  onUnasked(listener: OnUnasked): void {
    this.#onUnasked.push(listener);
  }

  open(authorization: NewAuthorization): Authorization {
    const status = authorization.declineCode === undefined ? "held" : "declined";
    const openedAt = new Date(this.#clock.nowMs()).toISOString();
    const id = authorization.id ?? `auth_${randomUUID()}`;
    const opened: Authorization = { ...authorization, id, status, capturedValue: 0, refunds: [], openedAt };
    this.#authorizations.set(opened.id, opened);
    dropOldest(this.#authorizations);
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

  all(): readonly Authorization[] {
    return [...this.#authorizations.values()];
  }

  /** Captures the whole hold; returns false if there is none any more. */
  capture(authorization: Authorization): boolean {
    if (authorization.status !== "held") return false;
    authorization.status = "captured";
    authorization.capturedValue = authorization.value;
    if (authorization.refund === "by_hand") {
      const value = Math.ceil(authorization.capturedValue / 2);
      this.#clock.at(this.#clock.nowMs() + byHandAfterMs, () => this.refundByHand(authorization, value));
    }
    return true;
  }

  /** Takes on a refund of at most what is left of the captured amount, or says why not. */
  refund(authorization: Authorization, asked: Pick<Refund, "reference" | "value">): Refund | RefundRefusal {
    const { status, capturedValue, refunds } = authorization;
    if (status === "held") return "not_captured";
    if (status !== "captured") return `already_${status}`;
    if (!Number.isSafeInteger(asked.value) || asked.value < 1) return "amount";
    if (authorization.refund === "refuse") return "refund_not_allowed";
    if (asked.value > capturedValue - refundedValue(authorization)) return "amount_exceeds_captured";
    const openedAt = new Date(this.#clock.nowMs()).toISOString();
    const refund: Refund = { ...asked, id: `re_${randomUUID()}`, openedAt, status: "pending" };
    refunds.push(refund);
    this.#refunded.set(refund.id, authorization.id);
    dropOldest(this.#refunded);
    return refund;
  }

  /** Makes a refund that was taken on. */
  makeRefund(authorization: Authorization, refund: Refund): void {
    if (refund.status !== "pending") return;
    refund.status = "succeeded";
    if (authorization.refund !== "fail_later") return;
    this.#clock.at(this.#clock.nowMs() + failsAfterMs, () => {
      refund.status = "failed";
      this.#report(authorization, { type: "refundFailed", refund });
    });
  }

  /** Refunds as a person does at the acquirer: without a reference of ours. */
  refundByHand(authorization: Authorization, value: number): Refund | RefundRefusal {
    const refund = this.refund(authorization, { reference: "", value });
    if (typeof refund === "string") return refund;
    this.makeRefund(authorization, refund);
    this.#report(authorization, { type: "refunded", refund });
    return refund;
  }

  void(authorization: Authorization): void {
    if (authorization.status === "held") authorization.status = "voided";
  }

  /** Refuses every authorize under this reference from now on. */
  refuse(reference: Reference): void {
    this.#refused.add(keyOf(reference));
    dropOldest(this.#refused);
  }

  isRefused(reference: Reference): boolean {
    return this.#refused.has(keyOf(reference));
  }

  #report(authorization: Authorization, change: UnaskedChange): void {
    for (const listener of this.#onUnasked) listener(authorization, change);
  }
}

/** Returns what was refunded or is about to be. */
export function refundedValue({ refunds }: Authorization): number {
  return refunds.reduce((sum, { status, value }) => (status === "failed" ? sum : sum + value), 0);
}

function keyOf({ acquirer, account, reference }: Reference): string {
  return JSON.stringify([acquirer, account, reference]);
}

function dropOldest(kept: Map<string, unknown> | Set<string>): void {
  const oldest = kept.keys().next().value;
  if (kept.size > authorizationsMax && oldest !== undefined) kept.delete(oldest);
}
