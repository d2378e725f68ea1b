/** A gateway's own records: what it holds, has captured and has voided. Requests reach it late, twice or never; that is the network's doing. */

import type { NoticeKind } from "../gateways/connector.ts";
import type { Declined } from "../gateways/declines.ts";

/** How one account at a gateway behaves in one run. */
export type GatewayBehaviour = {
  readonly onAuthorize: "approve" | "approveWrongAmount" | "busy" | "down" | "silent" | Declined;
  /** `refuseLanded` lies: the money is taken all the same. `fail` takes the order on and reports later that it failed. */
  readonly onCapture: "take" | "refuse" | "refuseLanded" | "fail";
  /** So many captures and voids are first answered "not now". */
  readonly busyFor: number;
  /** A second capture under another key takes the money a second time, as gateways with partial captures do. */
  readonly capturesAgain: boolean;
};

/** What kind of gateway it is. */
export type GatewayShape = {
  /** Not readable: capture and void are only taken on, and their results come as notices. */
  readonly canRead: boolean;
  readonly refusesVoidedReference: boolean;
  readonly executionLimitMs: number;
};

/** What a request to a gateway is about. */
export type Payment = { readonly attemptReference: string; readonly amountMinor: number; readonly currency: string };

/** One authorization on a gateway's record, and how often its money was taken. */
export type Authorization = Payment & {
  readonly gatewayReference: string;
  state: "held" | "captured" | "voided" | "declined";
  /** How often the money was taken. */
  taken: number;
  captureRefused: boolean;
  captureFailed: boolean;
};

/** What a gateway says to an authorize. */
export type AuthorizeReply =
  | { readonly type: "held"; readonly authorization: Authorization }
  | { readonly type: "busy" }
  | { readonly type: "error" }
  | { readonly type: "silence" }
  | Declined;
/** What a gateway says to a capture. */
export type CaptureReply = { readonly type: "done" | "accepted" | "busy" | "refused" };
/** What a gateway says to a void. */
export type VoidReply = { readonly type: "done" | "accepted" | "busy" | "alreadyCaptured" | "absent" };

/** Tells of a change by a notice; only gateways that cannot be read do. */
export type Report = (
  kind: NoticeKind,
  about: Payment & { readonly gatewayReference: string },
  declined?: Declined,
) => void;

/** One gateway of a run, with its records and its moods. */
export class SimulatedGateway {
  readonly shape: GatewayShape;
  readonly authorizations: Authorization[] = [];
  readonly #behaviour: GatewayBehaviour;
  readonly #report: Report;
  readonly #replies = new Map<string, object>();
  readonly #refusedReferences = new Set<string>();
  #busyLeft: number;

  constructor(shape: GatewayShape, behaviour: GatewayBehaviour, report: Report) {
    this.shape = shape;
    this.#behaviour = behaviour;
    this.#report = report;
    this.#busyLeft = behaviour.busyFor;
  }

  authorize(key: string, payment: Payment): AuthorizeReply {
    return this.#once(key, () => {
      const { onAuthorize } = this.#behaviour;
      if (this.#refusedReferences.has(payment.attemptReference)) return { type: "error" };
      if (typeof onAuthorize === "object") return this.#decline(payment, onAuthorize);
      if (onAuthorize === "busy") return { type: "busy" };
      if (onAuthorize === "down") return { type: "error" };
      if (onAuthorize === "silent") return { type: "silence" };
      const wrong = onAuthorize === "approveWrongAmount";
      const authorization = this.#open({ ...payment, amountMinor: payment.amountMinor - (wrong ? 1 : 0) }, "held");
      this.#tell("held", authorization);
      return { type: "held", authorization };
    });
  }

  capture(key: string, gatewayReference: string): CaptureReply {
    if (this.#isBusy()) return { type: "busy" };
    return this.#once(key, () => {
      const authorization = this.#find({ gatewayReference });
      if (authorization === undefined) return { type: "refused" };
      if (authorization.state === "captured") {
        if (this.#behaviour.capturesAgain) authorization.taken++;
        return { type: this.shape.canRead ? "done" : "accepted" };
      }
      if (authorization.state !== "held" || authorization.captureRefused) return { type: "refused" };
      return this.#take(authorization);
    });
  }

  #take(authorization: Authorization): CaptureReply {
    const { onCapture } = this.#behaviour;
    if (onCapture === "refuse") {
      authorization.captureRefused = true;
      return { type: "refused" };
    }
    const fails = onCapture === "fail" && !this.shape.canRead;
    authorization.state = fails ? "voided" : "captured";
    authorization.taken += fails ? 0 : 1;
    authorization.captureFailed = fails;
    this.#tell(fails ? "capture_failed" : "captured", authorization);
    if (onCapture === "refuseLanded") return { type: "refused" };
    return { type: this.shape.canRead ? "done" : "accepted" };
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
      this.#tell("already_captured", found);
    } else {
      found.state = "voided";
      this.#tell("voided", found);
    }
    return { type: "accepted" };
  }

  /** A read: it changes nothing. */
  lookUp(attemptReference: string): Authorization | undefined {
    return this.#find({ attemptReference });
  }

  #decline(payment: Payment, declined: Declined): Declined {
    this.#tell("declined", this.#open(payment, "declined"), declined);
    return declined;
  }

  #open(payment: Payment, state: "held" | "declined"): Authorization {
    const gatewayReference = `${payment.attemptReference}/${this.authorizations.length + 1}`;
    const opened: Authorization = {
      ...payment,
      gatewayReference,
      state,
      taken: 0,
      captureRefused: false,
      captureFailed: false,
    };
    this.authorizations.push(opened);
    return opened;
  }

  #find(wanted: { attemptReference?: string; gatewayReference?: string | undefined }): Authorization | undefined {
    return this.authorizations.find(({ attemptReference, gatewayReference }) =>
      wanted.gatewayReference === undefined
        ? attemptReference === wanted.attemptReference
        : gatewayReference === wanted.gatewayReference,
    );
  }

  /** The same key gets the first reply again, and nothing happens a second time. */
  #once<Reply extends object>(key: string, act: () => Reply): Reply {
    const known = this.#replies.get(key) as Reply | undefined;
    if (known !== undefined) return known;
    const reply = act();
    this.#replies.set(key, reply);
    return reply;
  }

  #isBusy(): boolean {
    return this.#busyLeft-- > 0;
  }

  #tell(kind: NoticeKind, authorization: Authorization, declined?: Declined): void {
    if (!this.shape.canRead) this.#report(kind, authorization, declined);
  }
}
