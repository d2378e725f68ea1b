/** Records every request sent to a gateway in a run, and finds those that must not be sent. */
import { encodeId } from "../../platform/ids.ts";
import type { Sent } from "./gateway-world.ts";
import type { Observed } from "./observed.ts";
import type { Timeline } from "./timeline.ts";

/** The requests of one run, by the attempt's reference. */
export class RequestsSeen {
  /** Captures that were sent and may still be executed, by the hold that they name: an attempt may get a second one. */
  readonly capturesOnTheirWay = new Map<string, number>();
  readonly voidsSentAt = new Map<string, Date>();
  readonly #authorized = new Set<string>();
  readonly #completions = new Map<string, number>();
  readonly #refunds = new Map<string, number>();
  /** The readings of disputes of each payment, without those that a refund was sent after. */
  readonly #readings = new Map<string, number>();
  #toRepeat = 0;

  /** True while a request is still to be executed again. */
  get isRepeating(): boolean {
    return this.#toRepeat > 0;
  }

  /** Executes a request again after this delay; never if it is 0. */
  repeatAfter(delayMs: number, timeline: Timeline, execute: () => void): void {
    if (delayMs === 0) return;
    this.#toRepeat++;
    timeline.after(delayMs, () => {
      this.#toRepeat--;
      execute();
    });
  }

  captureOnItsWay(gatewayReference: string, change: 1 | -1): void {
    this.capturesOnTheirWay.set(gatewayReference, (this.capturesOnTheirWay.get(gatewayReference) ?? 0) + change);
  }

  /** A completing request is sent only as often as is committed, and never after the customer gave up. */
  #addCompletion(attemptReference: string, observed: Observed | undefined): string | undefined {
    const count = (this.#completions.get(attemptReference) ?? 0) + 1;
    this.#completions.set(attemptReference, count);
    const asked = observed?.authentications.find(
      ({ attempt_id: id }) => id !== null && encodeId("att", id) === attemptReference,
    );
    if (count > 2) return "a payment was completed three times";
    if (asked === undefined || asked.completions_sent < count)
      return "a payment was completed before that was committed";
    return asked.cancel_asked_at === null ? undefined : "a payment was completed after the customer gave up";
  }

  #readingsOf(attemptReference: string): number {
    return this.#readings.get(attemptReference) ?? 0;
  }

  /** A refund is sent only as often as is committed, under no other key, and first after its payment's disputes were read. */
  #addRefund(
    { refundReference, key, attemptReference, readsDisputes }: Extract<Sent, { type: "refund" }>,
    observed: Observed | undefined,
  ): string | undefined {
    const refund = observed?.refunds.find(({ id }) => encodeId("ref", id) === refundReference);
    const sent = (this.#refunds.get(refundReference) ?? 0) + 1;
    this.#refunds.set(refundReference, sent);
    if (refund === undefined) return "a refund was sent before it was committed";
    const readings = this.#readingsOf(attemptReference);
    if (sent === 1 && readsDisputes && readings === 0)
      return "a refund was sent before its payment's disputes were read";
    if (sent === 1) this.#readings.set(attemptReference, readings - 1);
    const keys = [refundReference, `${refundReference}_2`].slice(0, refund.keys);
    return keys.includes(key) ? undefined : "a refund was sent before its key was committed";
  }

  add(
    sent: Sent,
    { observed, isRestored, now }: { observed: Observed | undefined; isRestored: boolean; now: Date },
  ): string | undefined {
    const { type, attemptReference } = sent;
    if (sent.type === "answerDispute") return findUncommitted(sent.responseReference, observed);
    if (sent.type === "readDisputes") this.#readings.set(attemptReference, this.#readingsOf(attemptReference) + 1);
    if (sent.type === "readDisputes" || sent.type === "readStatements") return undefined;
    if (sent.type === "refund") return this.#addRefund(sent, observed);
    if (type === "void") this.voidsSentAt.set(attemptReference, now);
    if (type === "authorize" && this.#authorized.has(attemptReference)) return "one attempt requested money twice";
    if (type === "authorize") this.#authorized.add(attemptReference);
    if (type === "complete") return this.#addCompletion(attemptReference, observed);
    const attempt = observed?.attempts.find(({ id }) => encodeId("att", id) === attemptReference);
    if (type === "void" && attempt?.status === "AWAITING_CUSTOMER")
      return "an action was cancelled at its gateway before its customer had given up";
    // After a restore the gateways are queried about attempts whose rows may be lost.
    const mayBeUnrecorded = isRestored && type !== "authorize" && type !== "capture";
    if (attempt === undefined && !mayBeUnrecorded) return `${type} was sent for an attempt that is not committed`;
    const isOrdered = type !== "capture" || attempt?.capture_ordered_at !== null;
    return isOrdered ? undefined : "a capture was sent before it was ordered";
  }
}

/** An answer to a dispute is sent only after it is committed. */
function findUncommitted(responseReference: string, observed: Observed | undefined): string | undefined {
  const responses = observed?.disputes.flatMap((one) => one.responses) ?? [];
  const isCommitted = responses.some(({ id, sends }) => encodeId("rsp", id) === responseReference && sends > 0);
  return isCommitted ? undefined : "an answer to a dispute was sent before that was committed";
}
