/** A gateway's own records of refunds: those that were requested, and those made by hand. */
import type { ListedRefund, Notification } from "../../gateways/connector.ts";
import { unreachable } from "../../platform/errors.ts";
import { type RefundBehaviour, refundKeyLifeMs } from "./refund-plan.ts";
import type { Movement } from "./simulated-statements.ts";

/** A refund on a gateway's record. `status` failed: no money left, or it came back. */
export type MadeRefund = {
  readonly attemptReference: string;
  readonly payment: string;
  readonly gatewayReference: string;
  /** Our reference; absent if it was made by hand. */
  readonly refundReference?: string | undefined;
  readonly amountMinor: number;
  readonly currency: string;
  /** True if notifications report its end. */
  readonly isReported: boolean;
  status: ListedRefund["status"];
};

export type RefundReply =
  | { readonly type: "done" | "accepted"; readonly gatewayReference: string }
  | { readonly type: "refused" | "error" };

type Asked = { readonly refundReference: string; readonly amountMinor: number; readonly currency: string };

/** A payment on the gateway's record. */
type Paid = Pick<MadeRefund, "attemptReference" | "gatewayReference" | "amountMinor" | "currency"> & {
  readonly state: string;
  readonly capturedMinor?: number;
};

export type RefundParts = {
  readonly canRead: boolean;
  readonly authorizations: readonly Paid[];
  readonly nowMs: () => number;
  readonly after: (ms: number, run: () => void) => void;
  readonly report: (notification: Omit<Notification, "notificationId">) => void;
  readonly onMoved: (movement: Movement) => void;
  /** Called after each change that no request made. */
  readonly onChanged: () => void;
};

export class SimulatedRefunds {
  readonly made: MadeRefund[] = [];
  readonly #behaviour: RefundBehaviour;
  readonly #parts: RefundParts;
  readonly #replies = new Map<string, { readonly reply: RefundReply; readonly atMs: number }>();
  #changesToCome = 0;

  constructor(behaviour: RefundBehaviour, parts: RefundParts) {
    this.#behaviour = behaviour;
    this.#parts = parts;
  }

  /** True while a refund will still change by itself. */
  get isChanging(): boolean {
    return this.#changesToCome > 0;
  }

  /** Executes a request once for its key, for as long as the gateway remembers that. */
  refund(key: string, payment: string, asked: Asked): RefundReply {
    const atMs = this.#parts.nowMs();
    const known = this.#replies.get(key);
    if (known !== undefined && atMs - known.atMs < refundKeyLifeMs) return known.reply;
    const reply = this.#execute(key, payment, asked);
    this.#replies.set(key, { reply, atMs });
    return reply;
  }

  /** Refunds as a person does at the gateway. Returns false if too little is left. */
  byHand(authorization: Paid, amountMinor: number): boolean {
    const { gatewayReference: payment, currency, attemptReference } = authorization;
    if (amountMinor > this.#leftOf(authorization)) return false;
    this.#finish(this.#add({ attemptReference, payment, amountMinor, currency }));
    return true;
  }

  of(payment: string): readonly MadeRefund[] {
    return this.made.filter((one) => one.payment === payment);
  }

  #execute(key: string, payment: string, asked: Asked): RefundReply {
    const { onRefund, takesMs, allowsMore } = this.#behaviour;
    const authorization = this.#parts.authorizations.find(({ gatewayReference }) => gatewayReference === payment);
    if (authorization?.state !== "captured") return { type: "refused" };
    const isFirstKey = key === asked.refundReference;
    if (onRefund === "refuse") return { type: "refused" };
    if (onRefund === "keepError" && isFirstKey) return { type: "error" };
    if (!allowsMore && asked.amountMinor > this.#leftOf(authorization)) return { type: "refused" };
    const { attemptReference } = authorization;
    const made = this.#add({ attemptReference, payment, ...asked });
    const { gatewayReference } = made;
    switch (onRefund) {
      case "takeOnAndFail":
        this.#later(takesMs, () => this.#fail(made));
        return { type: "accepted", gatewayReference };
      case "takeOn":
        this.#later(takesMs, () => this.#finish(made));
        return { type: "accepted", gatewayReference };
      case "make":
      case "keepError":
      case "makeAndKeepError":
        this.#finish(made);
        if (onRefund === "makeAndKeepError" && isFirstKey) return { type: "error" };
        return { type: this.#parts.canRead ? "done" : "accepted", gatewayReference };
      default:
        return unreachable(onRefund);
    }
  }

  #add(refund: Omit<MadeRefund, "gatewayReference" | "status" | "isReported">): MadeRefund {
    const isReported = !this.#parts.canRead;
    const added: MadeRefund = {
      ...refund,
      isReported,
      gatewayReference: `${refund.payment}/refund ${this.made.length + 1}`,
      status: "pending",
    };
    this.made.push(added);
    return added;
  }

  #finish(made: MadeRefund): void {
    made.status = "succeeded";
    this.#move("REFUND", made);
    this.#report("refunded", made);
    const { returnsAfterMs } = this.#behaviour;
    if (returnsAfterMs > 0) this.#later(returnsAfterMs, () => this.#fail(made));
  }

  #fail(made: MadeRefund): void {
    if (made.status === "succeeded") this.#move("REFUND_FAILED", made);
    made.status = "failed";
    this.#report("refund_failed", made);
  }

  #move(kind: Movement["kind"], { gatewayReference: refund, refundReference: ourRefund, ...made }: MadeRefund): void {
    const { payment, attemptReference, amountMinor, currency } = made;
    this.#parts.onMoved({ kind, payment, attemptReference, amountMinor, currency, refund, ourRefund });
  }

  #later(ms: number, change: () => void): void {
    this.#changesToCome++;
    this.#parts.after(ms, () => {
      this.#changesToCome--;
      change();
      this.#parts.onChanged();
    });
  }

  /** Reports a change; only gateways that cannot be read do so. */
  #report(kind: "refunded" | "refund_failed", made: MadeRefund): void {
    if (this.#parts.canRead) return;
    const { attemptReference, refundReference, payment, gatewayReference, amountMinor, currency } = made;
    this.#parts.report({
      kind,
      ...(refundReference ? { attemptReference: "", refundReference } : { attemptReference }),
      gatewayReference: payment,
      modificationReference: gatewayReference,
      amount: { amountMinor, currency },
    });
  }

  #leftOf({ amountMinor, capturedMinor = amountMinor, gatewayReference }: Paid): number {
    const standing = this.of(gatewayReference).filter(({ status }) => status !== "failed");
    return capturedMinor - standing.reduce((sum, one) => sum + one.amountMinor, 0);
  }
}
