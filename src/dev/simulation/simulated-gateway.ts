/** A gateway's own records: its holds, captures and voids. The network delays, repeats and loses. */
import type { NotificationKind } from "../../gateways/connector.ts";
import type { Declined } from "../../gateways/declines.ts";
import type { DisputeSchedule } from "./dispute-plan.ts";
import type { RefundBehaviour } from "./refund-plan.ts";
import { SimulatedDisputes } from "./simulated-disputes.ts";
import { type RefundParts, SimulatedRefunds } from "./simulated-refunds.ts";
import { type Movement, SimulatedStatements } from "./simulated-statements.ts";
import type { Network } from "./wallets.ts";

/** Sets when a gateway challenges the customer: `if_asked` only if the request requires it. */
export type GatewayAsks = "as_needed" | "if_asked" | "never";

/** A challenge of one payment. The gateway accepts the customer's answer until `expiresAtMs`. */
type Challenge = { readonly payment: Payment; readonly expiresAtMs: number; state: "waiting" | "passed" | "failed" };

export type GatewayBehaviour = {
  readonly onAuthorize: "approve" | "approveWrongAmount" | "busy" | "down" | "silent" | Declined;
  /**
   * `refuseLanded` is false: the money is captured nevertheless. `fail` accepts the order and later reports that it
   * failed; `reverse` first reports the capture, and then that it failed.
   */
  readonly onCapture: "capture" | "refuse" | "refuseLanded" | "fail" | "reverse";
  /** Holds the money of a card that it declines. */
  readonly holdsDeclined: boolean;
  /** Number of voids that are accepted and then reported as refused, if results arrive as notifications. */
  readonly refusedVoids: number;
  /** Number of captures and voids that are first answered "not now". */
  readonly busyFor: number;
  /** A second capture under another key captures the money a second time, as at gateways with partial captures. */
  readonly capturesAgain: boolean;
};

export type GatewayShape = {
  /** False: capture and void are only accepted, and their results arrive as notifications. */
  readonly canRead: boolean;
  readonly refusesVoidedReference: boolean;
  readonly executionLimitMs: number;
  /** Time for which an idempotency key identifies its operation; later it counts as a new one. */
  readonly keyLifeMs: number;
  /** False: the customer's answer alone makes it hold. */
  readonly holdsOnlyWhenAsked: boolean;
  /** True if it takes a provider's proof. */
  readonly importsProof: boolean;
  /** Time after its opening for which a challenge can be answered where that makes it hold. */
  readonly actionLifeMs: number;
};

export type Payment = {
  readonly attemptReference: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** Present for a device's number. */
  readonly cryptogram?: string | undefined;
};

/** An authorization on a gateway's record, and the number of times its money was captured. */
export type Authorization = Payment & {
  readonly gatewayReference: string;
  state: "held" | "captured" | "voided" | "declined";
  captures: number;
  captureRefused: boolean;
  captureFailed: boolean;
  /** Its answer, if it has declined. */
  readonly declined?: Declined | undefined;
  /** True if it has answered a capture with a definitive refusal. */
  hasRefused?: boolean;
  capturedUnder?: string;
  /** The amount that was captured, if it is not the whole one. */
  capturedMinor?: number;
  /** True if a person has captured it. */
  isByHand?: boolean;
  /** True if its request required authentication, or gave the reason why that is needless. */
  readonly isAuthenticated: boolean;
};

export type AuthorizeReply =
  | { readonly type: "held"; readonly authorization: Authorization }
  | { readonly type: "action" }
  | { readonly type: "busy" }
  | { readonly type: "error" }
  | { readonly type: "silence" }
  | Declined;
export type AskReply = { readonly state: Challenge["state"]; readonly found: Authorization | undefined };
export type CaptureReply = { readonly type: "done" | "accepted" | "busy" | "refused" };
export type VoidReply = { readonly type: "done" | "accepted" | "busy" | "alreadyCaptured" | "absent" };

/** A request's permission to challenge the customer, and whether a proof or an exemption makes that needless. */
type Asked = {
  readonly wish: "as_needed" | "always" | undefined;
  readonly isProven: boolean;
  /** True if the request asks for an exemption, which the bank may refuse. */
  readonly isExempted: boolean;
};

const authenticationRequired: Declined = {
  type: "declined",
  kind: "SOFT_DECLINE",
  stop: "authentication_required",
  declineCode: "authentication_required",
  gatewayCode: "1A",
};
/** A decline after which the gateway allows a repeat. */
const tryAgain: Declined = {
  type: "declined",
  kind: "SOFT_DECLINE",
  stop: "none",
  declineCode: "card_declined",
  gatewayCode: "processing_error",
  again: true,
};
/** The network has seen the cryptogram before. */
const cryptogramUsed: Declined = {
  type: "declined",
  kind: "HARD_DECLINE",
  stop: "none",
  declineCode: "card_declined",
  gatewayCode: "cryptogram_used",
};
const authenticationFailed: Declined = {
  ...authenticationRequired,
  stop: "authentication_failed",
  declineCode: "authentication_failed",
};

/** Reports a change by a notification; only gateways that cannot be read do so. */
export type Report = (
  kind: NotificationKind,
  about: Payment & { readonly gatewayReference: string },
  declined?: Declined,
) => void;

type GatewayRefundParts = Pick<RefundParts, "after"> & {
  readonly refunds: RefundBehaviour;
  readonly disputes: DisputeSchedule | undefined;
  readonly reportLater: RefundParts["report"];
  readonly onChanged: RefundParts["onChanged"];
};

export class SimulatedGateway {
  readonly shape: GatewayShape;
  readonly authorizations: Authorization[] = [];
  readonly refunds: SimulatedRefunds;
  readonly disputes: SimulatedDisputes;
  readonly statements: SimulatedStatements;
  readonly #behaviour: GatewayBehaviour;
  readonly #report: Report;
  readonly #replies = new Map<string, { readonly reply: object; readonly atMs: number }>();
  readonly #nowMs: () => number;
  readonly #refusedReferences = new Set<string>();
  readonly #authenticated = new Set<string>();
  readonly #asks: GatewayAsks;
  /** The challenges by our reference. */
  readonly #challenges = new Map<string, Challenge>();
  readonly #network: Network;
  #busyLeft: number;
  #asksAgainLeft: number;
  #voidsToRefuse: number;

  constructor(
    shape: GatewayShape,
    behaviour: GatewayBehaviour,
    parts: {
      report: Report;
      nowMs: () => number;
      asks: GatewayAsks;
      asksAgain: number;
      network: Network;
    } & GatewayRefundParts,
  ) {
    const { canRead } = shape;
    this.statements = new SimulatedStatements({
      nowMs: parts.nowMs,
      hasCopies: parts.disputes?.hasCopies === true,
      hasPayouts: shape.refusesVoidedReference,
    });
    const onMoved = (movement: Movement) => this.statements.onMoved(movement);
    this.refunds = new SimulatedRefunds(parts.refunds, {
      canRead,
      authorizations: this.authorizations,
      nowMs: parts.nowMs,
      report: parts.reportLater,
      onMoved,
      after: parts.after,
      onChanged: parts.onChanged,
    });
    this.disputes = new SimulatedDisputes({
      plan: parts.disputes,
      canRead,
      nowMs: parts.nowMs,
      report: parts.reportLater,
      onMoved,
      after: parts.after,
      onChanged: parts.onChanged,
    });
    this.shape = shape;
    this.#asks = parts.asks;
    this.#network = parts.network;
    this.#behaviour = behaviour;
    this.#report = parts.report;
    this.#nowMs = parts.nowMs;
    this.#asksAgainLeft = parts.asksAgain;
    this.#busyLeft = behaviour.busyFor;
    this.#voidsToRefuse = behaviour.refusedVoids;
  }

  authorize(key: string, payment: Payment, asked: Asked): AuthorizeReply {
    const { wish, isProven, isExempted } = asked;
    return this.#once(key, () => {
      if (wish === "always" || isProven || isExempted) this.#authenticated.add(payment.attemptReference);
      if (this.#asks === "never" || this.#refusedReferences.has(payment.attemptReference)) return this.#decide(payment);
      if (isProven) return this.#decide(payment);
      if (wish === undefined || (this.#asks === "if_asked" && wish === "as_needed")) {
        return this.#decline(payment, authenticationRequired);
      }
      const { attemptReference } = payment;
      const known = this.#challenges.get(attemptReference);
      const expiresAtMs = this.#nowMs() + this.shape.actionLifeMs;
      if (known === undefined) this.#challenges.set(attemptReference, { payment, expiresAtMs, state: "waiting" });
      return { type: "action" };
    });
  }

  /** Completes a payment whose customer has passed. */
  complete(key: string, attemptReference: string): AuthorizeReply {
    return this.#once(key, () => {
      const challenge = this.#challenges.get(attemptReference);
      if (challenge === undefined || challenge.state === "waiting") return { type: "action" };
      if (challenge.state === "failed") return this.#decline(challenge.payment, authenticationFailed);
      return this.#decideOnce(challenge.payment);
    });
  }

  ask(attemptReference: string): AskReply {
    const state = this.#challenges.get(attemptReference)?.state ?? "waiting";
    return { state, found: this.#find({ attemptReference }) };
  }

  /** Takes the customer's answer at the bank. Returns false if the challenge is over. */
  answerChallenge(attemptReference: string, isPassed: boolean): boolean {
    const challenge = this.#challenges.get(attemptReference);
    if (challenge?.state !== "waiting") return false;
    if (!this.shape.holdsOnlyWhenAsked && this.#nowMs() > challenge.expiresAtMs) return false;
    challenge.state = isPassed ? "passed" : "failed";
    if (!this.shape.holdsOnlyWhenAsked && isPassed) this.#decideOnce(challenge.payment);
    return true;
  }

  /** Decides a payment once, by whichever comes first: the customer's answer or the completing request. */
  #decideOnce(payment: Payment): AuthorizeReply {
    return this.#once(`${payment.attemptReference} decided`, () => this.#decide(payment));
  }

  #decide(payment: Payment): AuthorizeReply {
    const { onAuthorize } = this.#behaviour;
    if (this.#refusedReferences.has(payment.attemptReference)) return { type: "error" };
    const isSeen = onAuthorize !== "busy" && onAuthorize !== "down" && onAuthorize !== "silent";
    const { cryptogram, attemptReference } = payment;
    if (cryptogram !== undefined && isSeen && !this.#network.take(cryptogram, attemptReference))
      return this.#decline(payment, cryptogramUsed);
    if (this.#asksAgainLeft > 0) {
      this.#asksAgainLeft--;
      return this.#decline(payment, tryAgain);
    }
    if (typeof onAuthorize === "object") return this.#decline(payment, onAuthorize);
    if (onAuthorize === "busy") return { type: "busy" };
    if (onAuthorize === "down") return { type: "error" };
    if (onAuthorize === "silent") return { type: "silence" };
    const wrong = onAuthorize === "approveWrongAmount";
    const authorization = this.#open({ ...payment, amountMinor: payment.amountMinor - (wrong ? 1 : 0) }, "held");
    this.#notify("held", authorization);
    return { type: "held", authorization };
  }

  capture(key: string, gatewayReference: string, captureMinor?: number): CaptureReply {
    if (this.#isBusy()) return { type: "busy" };
    return this.#once(key, () => {
      const authorization = this.#find({ gatewayReference });
      if (authorization === undefined) return { type: "refused" };
      if (authorization.state === "captured") {
        // No gateway captures more than it holds for a key that it has forgotten; one may for another key.
        if (this.#behaviour.capturesAgain && key !== authorization.capturedUnder) authorization.captures++;
        return { type: this.shape.canRead ? "done" : "accepted" };
      }
      const canCapture = authorization.state === "held" && !authorization.captureRefused;
      const reply: CaptureReply = canCapture ? this.#capture(authorization, key, captureMinor) : { type: "refused" };
      if (reply.type === "refused") authorization.hasRefused = true;
      return reply;
    });
  }

  #capture(authorization: Authorization, key: string, captureMinor?: number): CaptureReply {
    const { onCapture } = this.#behaviour;
    if (onCapture === "refuse") {
      authorization.captureRefused = true;
      return { type: "refused" };
    }
    const fails = (onCapture === "fail" || onCapture === "reverse") && !this.shape.canRead;
    authorization.state = fails ? "voided" : "captured";
    authorization.captures += fails ? 0 : 1;
    authorization.captureFailed = fails;
    authorization.capturedUnder = key;
    if (captureMinor !== undefined) authorization.capturedMinor = captureMinor;
    if (!fails) this.#onCaptured(authorization);
    if (onCapture !== "fail") this.#notify("captured", authorization);
    if (fails) this.#notify("capture_failed", authorization);
    if (onCapture === "refuseLanded") return { type: "refused" };
    return { type: this.shape.canRead ? "done" : "accepted" };
  }

  #onCaptured(captured: Authorization): void {
    const {
      gatewayReference: payment,
      attemptReference,
      currency,
      amountMinor,
      capturedMinor = amountMinor,
    } = captured;
    this.statements.onMoved({ kind: "CAPTURE", payment, attemptReference, currency, amountMinor: capturedMinor });
    this.disputes.onCaptured(captured);
  }

  void(key: string, wanted: { attemptReference: string; gatewayReference?: string | undefined }): VoidReply {
    if (this.#isBusy()) return { type: "busy" };
    return this.#once(key, () => {
      const found = this.#find(wanted);
      if (this.shape.refusesVoidedReference) this.#refusedReferences.add(wanted.attemptReference);
      if (!this.shape.canRead) return this.#voidAndTell(wanted, found);
      if (found === undefined || found.state === "declined") return { type: "absent" };
      if (found.state === "captured") return { type: "alreadyCaptured" };
      found.state = "voided";
      return { type: "done" };
    });
  }

  #voidAndTell(wanted: { attemptReference: string }, found: Authorization | undefined): VoidReply {
    if (found === undefined || found.state === "declined") {
      const { attemptReference } = wanted;
      this.#report("absent", {
        attemptReference,
        gatewayReference: `none_${attemptReference}`,
        amountMinor: 0,
        currency: "",
      });
    } else if (found.state === "captured") {
      this.#notify("already_captured", found);
    } else if (found.state === "held" && this.#voidsToRefuse-- > 0) {
      this.#notify("void_refused", found);
    } else {
      found.state = "voided";
      this.#notify("voided", found);
    }
    return { type: "accepted" };
  }

  /** Captures or voids a hold as a person does at the gateway. Returns false if there is no hold. */
  actByHand(attemptReference: string, act: "capture" | "void", amountMinor: number): boolean {
    const held = this.authorizations.find((one) => one.attemptReference === attemptReference && one.state === "held");
    if (held === undefined) return false;
    if (act === "capture") Object.assign(held, { captures: 1, capturedMinor: amountMinor, isByHand: true });
    held.state = act === "capture" ? "captured" : "voided";
    if (act === "capture") this.#onCaptured(held);
    this.#notify(act === "capture" ? "captured" : "voided", held);
    return true;
  }

  /** Reads a record without changing it. */
  lookUp(attemptReference: string): Authorization | undefined {
    return this.#find({ attemptReference });
  }

  #decline(payment: Payment, declined: Declined): Declined {
    this.#notify("declined", this.#open(payment, "declined", declined), declined);
    if (this.#behaviour.holdsDeclined) this.#notify("held", this.#open(payment, "held"));
    return declined;
  }

  #open(payment: Payment, state: "held" | "declined", declined?: Declined): Authorization {
    const gatewayReference = `${payment.attemptReference}/${this.authorizations.length + 1}`;
    const opened: Authorization = {
      ...payment,
      gatewayReference,
      state,
      declined,
      captures: 0,
      captureRefused: false,
      captureFailed: false,
      isAuthenticated: this.#authenticated.has(payment.attemptReference),
    };
    this.authorizations.push(opened);
    return opened;
  }

  #find(wanted: { attemptReference?: string; gatewayReference?: string | undefined }): Authorization | undefined {
    const found = this.authorizations.filter(({ attemptReference, gatewayReference }) =>
      wanted.gatewayReference === undefined
        ? attemptReference === wanted.attemptReference
        : gatewayReference === wanted.gatewayReference,
    );
    // The connectors' order: of several under one reference, captured money precedes a hold, and a hold precedes an
    // end.
    return (
      found.find(({ state }) => state === "captured") ??
      found.find(({ state }) => state === "held") ??
      found.find(({ state }) => state === "voided") ??
      found[0]
    );
  }

  /** Returns the first reply again for the same key, without a second effect, until the key is forgotten. */
  #once<Reply extends object>(key: string, act: () => Reply): Reply {
    const atMs = this.#nowMs();
    const known = this.#replies.get(key);
    if (known !== undefined && atMs - known.atMs < this.shape.keyLifeMs) return known.reply as Reply;
    const reply = act();
    this.#replies.set(key, { reply, atMs });
    return reply;
  }

  #isBusy(): boolean {
    return this.#busyLeft-- > 0;
  }

  #notify(kind: NotificationKind, authorization: Authorization, declined?: Declined): void {
    if (this.shape.canRead) return;
    const isOfCapture = kind === "captured" || kind === "already_captured" || kind === "capture_failed";
    const { amountMinor, capturedMinor = amountMinor } = authorization;
    this.#report(kind, isOfCapture ? { ...authorization, amountMinor: capturedMinor } : authorization, declined);
  }
}
