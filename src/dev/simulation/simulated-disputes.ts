/** A gateway's own records of disputes: the banks' actions, and the answers that it took. */
import type { Notification } from "../../gateways/connector.ts";
import type { DisputeEvent } from "../../gateways/dispute-notice.ts";
import type { DisputeReading, DisputeStage, DisputeStatus } from "../../gateways/dispute-readings.ts";
import { unreachable } from "../../platform/errors.ts";
import type { BankStep, DisputeSchedule, PlannedDispute } from "./dispute-plan.ts";
import type { Movement } from "./simulated-statements.ts";

/** A payment on the gateway's record. */
type Paid = Pick<MadeDispute, "attemptReference" | "gatewayReference" | "amountMinor" | "currency"> & {
  readonly capturedMinor?: number;
};

type Answer = { readonly key: string; readonly type: "ACCEPT" | "EVIDENCE"; readonly stage: DisputeStage };

/** A dispute on a gateway's record, or a network's warning of fraud. */
export type MadeDispute = {
  readonly gatewayReference: string;
  readonly payment: string;
  readonly attemptReference: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly openedAtMs: number;
  stage: DisputeStage;
  status: DisputeStatus;
  takenMinor: number;
  returnedMinor: number;
  changedAtMs: number;
  /** The answers that the gateway accepted. */
  readonly answers: Answer[];
  readonly isAnswerable: boolean;
};

export type AnswerReply = { readonly type: "done" | "refused" };

type DisputeParts = {
  readonly plan: DisputeSchedule | undefined;
  readonly canRead: boolean;
  readonly nowMs: () => number;
  readonly after: (ms: number, run: () => void) => void;
  readonly report: (notification: Omit<Notification, "notificationId">) => void;
  readonly onMoved: (movement: Movement) => void;
  /** Called after each change that no request made. */
  readonly onChanged: () => void;
};

export class SimulatedDisputes {
  readonly made: MadeDispute[] = [];
  readonly #parts: DisputeParts;
  readonly #replies = new Map<string, AnswerReply>();
  /** The steps of a dispute's bank that an answer takes the place of. */
  readonly #unanswered = new Map<MadeDispute, { isOver: boolean; readonly decides: readonly BankStep[] }>();
  #changesToCome = 0;

  constructor(parts: DisputeParts) {
    this.#parts = parts;
  }

  /** True while a dispute will still change by itself. */
  get isChanging(): boolean {
    return this.#changesToCome > 0;
  }

  /** Lets the customer dispute a payment that was captured. */
  onCaptured(paid: Paid): void {
    for (const [index, planned] of (this.#parts.plan?.disputes ?? []).entries())
      this.#later(planned.afterMs, () => this.#begin(paid, planned, `${paid.gatewayReference}/dispute ${index + 1}`));
  }

  /** Takes an answer, or refuses it. A gateway that can be read knows a repeat by its key. */
  answer(gatewayReference: string, { key, type }: Pick<Answer, "key" | "type">): AnswerReply {
    const known = this.#parts.canRead ? this.#replies.get(key) : undefined;
    if (known) return known;
    const reply = this.#take(gatewayReference, { key, type });
    this.#replies.set(key, reply);
    return reply;
  }

  takesAnswer(gatewayReference: string): boolean {
    return this.#find(gatewayReference)?.status === "NEEDS_RESPONSE" && this.#find(gatewayReference)!.isAnswerable;
  }

  /** Returns the gateway's record of a dispute as it is now. */
  readingOf(made: MadeDispute, epochMs: number): DisputeReading {
    const { gatewayReference, payment, attemptReference, amountMinor, currency, stage, status } = made;
    const { takenMinor, returnedMinor, openedAtMs, answers } = made;
    return {
      ...{ gatewayReference, paymentReference: payment, attemptReference, stage, status },
      amount: { amountMinor, currency },
      reason: "fraudulent",
      openedAt: new Date(epochMs + openedAtMs),
      isAnswered: answers.some((one) => one.stage === stage),
      taken: takenMinor > 0 ? [{ currency, takenMinor, returnedMinor }] : [],
    };
  }

  #begin(paid: Paid, planned: PlannedDispute, gatewayReference: string): void {
    const [first, ...rest] = planned.begins;
    if (first!.event === "fraudReported") {
      this.#open(paid, planned, { gatewayReference, stage: "FRAUD_WARNING", status: "CLOSED" });
      this.#notify(this.made.at(-1)!, "fraudReported");
      if (rest[0])
        this.#later(rest[0].afterMs, () => this.#begin(paid, { ...planned, begins: rest }, gatewayReference));
      return;
    }
    const made = this.#open(paid, planned, { gatewayReference, stage: "CHARGEBACK", status: "NEEDS_RESPONSE" });
    this.#change(made, first!.event);
    this.#play(made, rest, () => this.#waitForAnswer(made, planned));
  }

  #open(
    { gatewayReference: payment, attemptReference, amountMinor, capturedMinor = amountMinor, currency }: Paid,
    { percent, isAnswerable }: PlannedDispute,
    given: Pick<MadeDispute, "gatewayReference" | "stage" | "status">,
  ): MadeDispute {
    const nowMs = this.#parts.nowMs();
    const made: MadeDispute = {
      ...{ ...given, payment, attemptReference, currency, isAnswerable, answers: [] },
      amountMinor: Math.max(1, Math.floor((capturedMinor * percent) / 100)),
      ...{ takenMinor: 0, returnedMinor: 0, openedAtMs: nowMs, changedAtMs: nowMs },
    };
    this.made.push(made);
    return made;
  }

  #waitForAnswer(made: MadeDispute, { decides, answerMs, isAnswerable }: PlannedDispute): void {
    if (made.status !== "NEEDS_RESPONSE") return;
    const waiting = { isOver: false, decides };
    this.#unanswered.set(made, waiting);
    this.#later(answerMs, () => {
      if (waiting.isOver) return;
      waiting.isOver = true;
      this.#play(made, isAnswerable ? [{ event: "answerTimeOver", afterMs: 0 }] : decides);
    });
  }

  #take(gatewayReference: string, answer: Pick<Answer, "key" | "type">): AnswerReply {
    const made = this.#find(gatewayReference);
    if (made === undefined || !made.isAnswerable) return { type: "refused" };
    const { stage, status, answers } = made;
    const isAgain = this.#parts.plan?.takesAgain && status === "UNDER_REVIEW" && answer.type === "EVIDENCE";
    if (status !== "NEEDS_RESPONSE" && !isAgain) return { type: "refused" };
    answers.push({ ...answer, stage });
    if (isAgain) return { type: "done" };
    const waiting = this.#unanswered.get(made);
    if (waiting) waiting.isOver = true;
    this.#change(made, answer.type === "ACCEPT" ? "answerTimeOver" : "answered");
    if (answer.type === "EVIDENCE") this.#play(made, waiting?.decides ?? [{ event: "answerTimeOver", afterMs: 1_000 }]);
    return { type: "done" };
  }

  #play(made: MadeDispute, [next, ...rest]: readonly BankStep[], then: () => void = () => {}): void {
    if (next === undefined) {
      then();
      return;
    }
    this.#later(next.afterMs, () => {
      this.#change(made, next.event);
      this.#play(made, rest, then);
    });
  }

  #change(made: MadeDispute, event: DisputeEvent): void {
    const { amountMinor } = made;
    made.changedAtMs = this.#parts.nowMs();
    switch (event) {
      case "inquiryOpened":
        made.stage = "INQUIRY";
        break;
      case "chargebackOpened":
        made.stage = "CHARGEBACK";
        break;
      case "charged":
        made.stage = "CHARGEBACK";
        made.takenMinor += amountMinor;
        this.#move("CHARGEBACK", made);
        break;
      case "answered":
        made.status = "UNDER_REVIEW";
        break;
      case "answerTimeOver":
        made.status = made.stage === "INQUIRY" ? "CLOSED" : "LOST";
        break;
      case "issuerSilent":
      case "preArbitrationWon":
        made.status = "WON";
        break;
      case "returned":
        made.status = "WON";
        made.returnedMinor += amountMinor;
        this.#move("CHARGEBACK_REVERSED", made);
        break;
      case "chargedAgain":
        made.status = "LOST";
        made.takenMinor += amountMinor;
        this.#move("CHARGEBACK", made);
        break;
      case "preArbitrationOpened":
        made.stage = "PRE_ARBITRATION";
        made.status = "UNDER_REVIEW";
        break;
      case "preArbitrationLost":
        made.status = "LOST";
        break;
      case "fraudReported":
      case "remark":
        break;
      default:
        unreachable(event);
    }
    this.#notify(made, event);
  }

  #move(kind: Movement["kind"], { gatewayReference: dispute, ...made }: MadeDispute): void {
    const { payment, attemptReference, amountMinor, currency } = made;
    this.#parts.onMoved({ kind, payment, attemptReference, amountMinor, currency, dispute });
  }

  /** Gateways that can be read send no reports. */
  #notify(made: MadeDispute, event: DisputeEvent): void {
    if (this.#parts.canRead) return;
    const { attemptReference, payment, gatewayReference, amountMinor, currency } = made;
    this.#parts.report({
      ...{ kind: "dispute", attemptReference, gatewayReference: payment, modificationReference: gatewayReference },
      amount: { amountMinor, currency },
      dispute: { event },
    });
  }

  #find(gatewayReference: string): MadeDispute | undefined {
    return this.made.find((one) => one.gatewayReference === gatewayReference && one.stage !== "FRAUD_WARNING");
  }

  #later(ms: number, change: () => void): void {
    this.#changesToCome++;
    this.#parts.after(ms, () => {
      this.#changesToCome--;
      change();
      this.#parts.onChanged();
    });
  }
}
