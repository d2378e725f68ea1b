/** The money of all sandbox acquirers: holds, captures and voids. Knows no HTTP. */
import { randomUUID } from "node:crypto";
import type { CaptureBehaviour, Frictionless } from "../gateways/sandbox/card-behaviour.ts";
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
  readonly declineCode?: string;
  /** The result of an authentication without the customer. */
  readonly frictionless?: Frictionless | undefined;
  /** RFC 3339: the time of the decision, which may be long after the request. */
  readonly openedAt: string;
  status: "held" | "captured" | "voided" | "declined";
  capturedValue: number;
  /** True once a request for its capture, or the answer, was lost on the way. */
  captureWasLost?: boolean;
};

/** A merchant's request for a hold. */
export type NewAuthorization = Omit<Authorization, "id" | "status" | "capturedValue" | "openedAt"> & {
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

/** All money that the sandbox acquirers hold, have captured or have voided. */
export class Ledger {
  readonly #authorizations = new Map<string, Authorization>();
  /** References voided before they were ever authorized: a late authorize of one is refused. */
  readonly #refused = new Set<string>();

  readonly #clock: SandboxClock;

  constructor(clock: SandboxClock) {
    this.#clock = clock;
  }

  open(authorization: NewAuthorization): Authorization {
    const status = authorization.declineCode === undefined ? "held" : "declined";
    const openedAt = new Date(this.#clock.nowMs()).toISOString();
    const id = authorization.id ?? `auth_${randomUUID()}`;
    const opened = { ...authorization, id, status, capturedValue: 0, openedAt } as const;
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

  all(): readonly Authorization[] {
    return [...this.#authorizations.values()];
  }

  /** Captures the whole hold; returns false if there is none any more. */
  capture(authorization: Authorization): boolean {
    if (authorization.status !== "held") return false;
    authorization.status = "captured";
    authorization.capturedValue = authorization.value;
    return true;
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
}

function keyOf({ acquirer, account, reference }: Reference): string {
  return JSON.stringify([acquirer, account, reference]);
}

function dropOldest(kept: Map<string, unknown> | Set<string>): void {
  const oldest = kept.keys().next().value;
  if (kept.size > authorizationsMax && oldest !== undefined) kept.delete(oldest);
}
