/**
 * The merchant who refunds, and the person who refunds by hand at the gateway: simultaneously, again under the same
 * key, long after the answer was lost.
 */
import { DomainError } from "../../platform/errors.ts";
import { encodeId } from "../../platform/ids.ts";
import { requestRefund } from "../../refunds/request-refund.ts";
import type { Member } from "./member.ts";
import type { Observed } from "./observed.ts";
import type { PlannedRefund, RefundSchedule } from "./refund-plan.ts";
import type { SimulatedGateway } from "./simulated-gateway.ts";
import type { Stage } from "./simulated-process.ts";

type MerchantParts = {
  readonly stage: Stage;
  readonly members: readonly Member[];
  readonly merchantId: string;
  readonly plan: RefundSchedule | undefined;
  readonly gatewayOf: (connectionId: string) => SimulatedGateway;
  readonly onByHand: () => void;
};

const callsMax = 6;

/** Plays the merchant of a run once its payment has succeeded. */
export class Merchant {
  readonly #parts: MerchantParts;
  #hasBegun = false;
  #acts = 0;

  constructor(parts: MerchantParts) {
    this.#parts = parts;
  }

  get isActing(): boolean {
    return this.#acts > 0;
  }

  /** Begins when the payment has succeeded. */
  onChange({ session, attempts }: Observed): void {
    const { plan } = this.#parts;
    if (plan === undefined || this.#hasBegun || session.status !== "SUCCEEDED") return;
    this.#hasBegun = true;
    for (const request of plan.requests) this.#after(request.afterMs, () => this.#ask(session.id, request));
    const winner = attempts.find(({ id }) => id === session.winner_attempt_id);
    const { byHand } = plan;
    if (byHand && winner) this.#after(byHand.afterMs, () => this.#refundByHand(winner, byHand.amountMinor));
  }

  /** Asks any process, and again until one answers. */
  #ask(sessionId: string, request: PlannedRefund, count = 1): void {
    const { stage, members, merchantId } = this.#parts;
    const { process, core } = stage.dice.pick(members);
    let isAnswered = false;
    if (count < callsMax) {
      this.#after(stage.dice.between(1_000, 25_000), () => {
        if (!isAnswered) this.#ask(sessionId, request, count + 1);
      });
    }
    if (!process.isRunning) return;
    const { key, amountMinor } = request;
    process.note(() => `receives the refund ${key} of ${amountMinor ?? "everything"}`);
    requestRefund(core, { sessionId, merchantId, key, amountMinor }).then(
      ({ refund }) => {
        isAnswered = true;
        process.note(() => `answers the merchant: ${refund.status} ${encodeId("ref", refund.id)}`);
      },
      (error: Error) => {
        isAnswered = error instanceof DomainError;
        process.note(() => `answers the merchant: ${error.message}`);
      },
    );
  }

  #refundByHand({ id, connection_id }: Observed["attempts"][number], amountMinor: number): void {
    const { stage, gatewayOf, onByHand } = this.#parts;
    const gateway = gatewayOf(connection_id);
    const paid = gateway.authorizations.find(
      ({ attemptReference, state }) => attemptReference === encodeId("att", id) && state === "captured",
    );
    const isMade = paid !== undefined && gateway.refunds.byHand(paid, amountMinor);
    stage.history.add(stage.timeline.nowMs, "", () => `a person refunds ${amountMinor}${isMade ? "" : ", in vain"}`);
    onByHand();
  }

  #after(ms: number, act: () => void): void {
    this.#acts++;
    this.#parts.stage.timeline.after(ms, () => {
      this.#acts--;
      act();
    });
  }
}
