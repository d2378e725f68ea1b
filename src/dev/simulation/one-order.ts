/** The run's session as one of two of an order, at a merchant that takes one payment for an order, and the checks of that. */
import { type Kept, keptQuery, type Observed } from "./observed.ts";
import { Rival, type RivalParts, type RivalPlan } from "./rival.ts";
import type { Authorization } from "./simulated-gateway.ts";
import type { MadeRefund } from "./simulated-refunds.ts";

type Parts = Omit<RivalParts, "plan" | "onDone"> & {
  readonly plan: RivalPlan | undefined;
  readonly orderRef: string;
  readonly authorizations: () => readonly Authorization[];
  readonly refundsMade: () => readonly MadeRefund[];
  readonly violate: (violation: string | undefined) => void;
};

/** Plays the other session of the order, in the runs that have one, and checks after each change that the order is paid once. */
export class OneOrder {
  readonly #parts: Parts;
  #rival: Rival | undefined;
  #isRestored = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get isActing(): boolean {
    return this.#rival?.isActing === true;
  }

  /** The id of the other session, once there is one. */
  get rivalId(): string | undefined {
    return this.#rival?.id;
  }

  async start(sessionId: string): Promise<void> {
    const { plan, orderRef } = this.#parts;
    if (plan === undefined) return;
    this.#rival = new Rival(sessionId, { ...this.#parts, plan, onDone: () => this.check(undefined) });
    await this.#rival.start(orderRef);
  }

  /** Gives the order to the run's session as its restored rows say. The other session begins after that. */
  async restore(sessionId: string): Promise<void> {
    if (this.#parts.plan === undefined) return;
    this.#isRestored = true;
    await this.#parts.server.observe(
      `DELETE FROM app.order_winner WHERE session_id = '${sessionId}'; SELECT app.update_order('${sessionId}')`,
    );
  }

  /** Checks the rows of both sessions, and with the run's session also the money that its gateways have taken. */
  async check(observed: Observed | undefined): Promise<void> {
    const { plan, server, merchantId, orderRef, violate } = this.#parts;
    if (plan === undefined) return;
    const kept = observed?.kept ?? ((await server.observe(keptQuery(merchantId, orderRef))).rows[0] as Kept);
    if (kept.unalarmed > 1) violate("two sessions have one order");
    if (kept.kept > 0 && kept.owner === null) violate("an order is free, and its money is kept");
    if (observed !== undefined) violate(this.#findOfOwn(observed, kept));
  }

  #findOfOwn({ session: { id, paying_session_id: payer } }: Observed, { owner, hasItem }: Kept): string | undefined {
    const { allowed } = this.#parts.plan!;
    if (payer !== null && allowed !== undefined) return "a payment that may repeat an order was declined for it";
    if (payer !== null && payer !== this.rivalId)
      return "a payment was declined for an order that no other session has";
    if (allowed === "own") return owner === id ? "a payment that may repeat an order has it" : undefined;
    if (owner === id || hasItem || this.#isRestored) return undefined;
    const isTaken = this.#parts.authorizations().some((one) => this.#isKept(one));
    return isTaken
      ? `the money was captured, and its order is ${owner === null ? "free" : "another session's"}`
      : undefined;
  }

  /** Reports whether a gateway has taken money on our order without a later order to pay it back. */
  #isKept({ captures, captureFailed, isByHand, capturedMinor, amountMinor, gatewayReference }: Authorization): boolean {
    if (captures === 0 || captureFailed || isByHand) return false;
    const refunds = this.#parts.refundsMade().filter(({ payment }) => payment === gatewayReference);
    return refunds.reduce((sum, one) => sum + one.amountMinor, 0) < (capturedMinor ?? amountMinor);
  }
}
