/** The merchant who captures or cancels a held payment, and the person who acts on the hold at the gateway. */
import { cancelSession, captureHeld } from "../../core/capture-later.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId } from "../../platform/ids.ts";
import type { LaterSchedule, PlannedOrder } from "./later-plan.ts";
import type { Member } from "./member.ts";
import type { Observed } from "./observed.ts";
import type { SimulatedGateway } from "./simulated-gateway.ts";
import type { Stage } from "./simulated-process.ts";

type Parts = {
  readonly stage: Stage;
  readonly members: readonly Member[];
  readonly merchantId: string;
  readonly plan: LaterSchedule | undefined;
  readonly gatewayOf: (connectionId: string) => SimulatedGateway;
  readonly observed: () => Observed;
  readonly isRestored: () => boolean;
  readonly violate: (violation: string | undefined) => void;
  readonly onByHand: () => void;
};

const callsMax = 6;

/** Plays the merchant of a run once its payment is held. */
export class LaterMerchant {
  /** The amounts whose capture was ordered, here or at the gateway. */
  readonly askedMinor = new Set<number>();
  readonly #parts: Parts;
  #hasBegun = false;
  #acts = 0;
  #cancels = false;
  #byHandMinor: number | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get isActing(): boolean {
    return this.#acts > 0;
  }

  /** True once a cancellation was requested. */
  get hasCancelled(): boolean {
    return this.#cancels;
  }

  /** Begins when the payment is held. */
  onChange({ session }: Observed): void {
    const { plan } = this.#parts;
    if (plan === undefined || this.#hasBegun || session.held_at === null) return;
    this.#hasBegun = true;
    for (const order of plan.orders) this.#after(order.afterMs, () => this.#ask(session.id, order));
    const { byHand } = plan;
    if (byHand) this.#after(byHand.afterMs, () => this.#actByHand(byHand));
  }

  /** Gives the order to any process, and again until one answers. */
  #ask(sessionId: string, order: PlannedOrder, count = 1): void {
    const { stage, members, merchantId } = this.#parts;
    const { process, core } = stage.dice.pick(members);
    let isAnswered = false;
    if (count < callsMax) {
      this.#after(stage.dice.between(1_000, 25_000), () => {
        if (!isAnswered) this.#ask(sessionId, order, count + 1);
      });
    }
    if (!process.isRunning) return;
    const { type, amountMinor } = order;
    const begun = this.#parts.observed();
    if (type === "capture") this.askedMinor.add(amountMinor ?? begun.session.amount_minor);
    else this.#cancels = true;
    process.note(() => `receives the order to ${type} ${amountMinor ?? ""}`);
    const named = { sessionId, merchantId };
    const gone = new AbortController();
    stage.timeline.after(stage.dice.pick([500, 30_000]), () => gone.abort());
    const given =
      type === "capture"
        ? captureHeld(core, { ...named, amountMinor, signal: gone.signal })
        : cancelSession(core, named);
    given.then(
      ({ session }) => {
        isAnswered = true;
        process.note(() => `answers the merchant: ${session.status}`);
        if (!this.#parts.isRestored())
          this.#parts.violate(findFalseAnswer(order, this.#parts.observed(), this.#byHandMinor));
      },
      (error: Error & { code?: string }) => {
        isAnswered = error instanceof DomainError && error.code !== "not_held";
        process.note(() => `answers the merchant: ${error.message}`);
        if (!this.#parts.isRestored()) this.#parts.violate(findFalseRefusal(error.code, this.#parts.observed()));
      },
    );
  }

  #actByHand({ type, amountMinor }: NonNullable<LaterSchedule["byHand"]>): void {
    const { stage, gatewayOf, onByHand, observed } = this.#parts;
    const { session, attempts } = observed();
    const winner = attempts.find(({ id }) => id === session.winner_attempt_id);
    if (winner === undefined || session.status !== "CREATED") return;
    const isDone = gatewayOf(winner.connection_id).actByHand(encodeId("att", winner.id), type, amountMinor);
    if (isDone && type === "capture") {
      this.askedMinor.add(amountMinor);
      this.#byHandMinor = amountMinor;
    }
    stage.history.add(
      stage.timeline.nowMs,
      "",
      () => `a person does ${type} ${amountMinor}${isDone ? "" : ", in vain"}`,
    );
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

function findFalseAnswer(
  { type, amountMinor }: PlannedOrder,
  { session, attempts }: Observed,
  byHandMinor: number | undefined,
): string | undefined {
  if (type === "cancel") {
    const isCancelled = session.decline_code === "capture_cancelled";
    return isCancelled ? undefined : `a cancellation was accepted, and the session is ${session.status}`;
  }
  const ordered = attempts.find(({ capture_ordered_at }) => capture_ordered_at !== null);
  const wanted = amountMinor ?? session.amount_minor;
  const orderedMinor = ordered?.captured_amount_minor;
  return orderedMinor === wanted || (byHandMinor !== undefined && orderedMinor === byHandMinor)
    ? undefined
    : `a capture of ${wanted} was accepted, and ${ordered?.captured_amount_minor ?? "none"} is ordered`;
}

function findFalseRefusal(code: unknown, { session }: Observed): string | undefined {
  const isWrong =
    (code === "capture_already_ordered" && session.capture_asked_at === null) ||
    (code === "not_held" && session.held_at !== null) ||
    code === "amount_exceeds_held" ||
    code === "not_found";
  return isWrong ? `the merchant received ${code}, but the session is ${session.status} ${session.phase}` : undefined;
}
