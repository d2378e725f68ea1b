/** The customer at the page and the merchant's backend: sends their requests, and checks that the answers are true. */
import type { Payer } from "../../core/orders/order-winner.ts";
import { findCheckout, findSession } from "../../core/sessions.ts";
import { submitPayment } from "../../core/submit-payment.ts";
import { outcomeOf } from "../../edge/checkout-rpc.ts";
import { describeForEvent } from "../../edge/session-messages.ts";
import { Secret } from "../../platform/secrets.ts";
import { findFalseOutcome, findFalseRead, findFalseRefusal, type Moment } from "./invariants.ts";
import type { Member } from "./member.ts";
import type { Shown } from "./observed.ts";
import type { Submission } from "./schedule.ts";
import type { Stage } from "./simulated-process.ts";

export type RpcContextParts = {
  readonly stage: Stage;
  readonly members: readonly Member[];
  readonly merchantId: string;
  readonly price: { readonly amountMinor: number; readonly currency: string };
  /** True if the customer's page can show actions. */
  readonly canShow: boolean;
  /** True if the payment is captured later. */
  readonly manualCapture: boolean;
  /** True if the page reads the order before it submits. */
  readonly readsOrder: boolean;
  readonly moment: () => Moment;
  readonly violate: (violation: string | undefined) => void;
};

const submitsMax = 5;
const browser = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1_280,
  screenHeight: 800,
  timeZoneOffsetMinutes: 0,
  language: "en",
};

export class Callers {
  readonly #parts: RpcContextParts;

  constructor(parts: RpcContextParts) {
    this.#parts = parts;
  }

  /** Submits again if the request gets no answer, to any process that accepts it. */
  submit(submission: Submission, count = 1): void {
    const { stage, members, merchantId, price, violate } = this.#parts;
    const { timeline, dice } = stage;
    const repeatMs = dice.between(1_000, 25_000);
    const { process, core } = dice.pick(members);
    const begun = this.#parts.moment().observed;
    if (begun.session.phase !== "IDLE" || count > submitsMax) return;
    timeline.after(repeatMs, () => this.submit(submission, count + 1));
    if (!process.isRunning) return;
    const gone = new AbortController();
    timeline.after(submission.patienceMs, () => gone.abort());
    process.note(() => `receives the submission of ${submission.token}`);
    const vaultToken = new Secret(submission.token);
    const session = {
      id: begun.session.id,
      merchantId,
      phase: "IDLE" as const,
      details: null,
      ...price,
      manualCapture: this.#parts.manualCapture,
      captureBy: null,
      stored: false,
    };
    const shopper = this.#parts.canShow && !submission.hidesBrowser ? { shopper: { browser } } : {};
    const submit = (payer?: Payer) =>
      submitPayment(core, { session, vaultToken, signal: gone.signal, payer, ...shopper });
    const submitting = this.#parts.readsOrder
      ? findCheckout(core, session.id).then((found) => submit(found?.payer))
      : submit();
    submitting.then(
      (submitted) => {
        process.note(() => `answers the page: ${submitted.status}`);
        violate(findFalseOutcome(outcomeOf(submitted), { begun, now: this.#parts.moment().observed }));
      },
      (error: Error & { code?: string }) => {
        process.note(() => `answers the page: ${error.message}`);
        violate(findFalseRefusal(error.code, this.#parts.moment().observed));
      },
    );
  }

  /** Requests the outcome for the customer's page, or the session for the merchant. */
  read(reader: "merchant" | "customer"): void {
    const { stage, members, merchantId, violate } = this.#parts;
    const { process, core } = stage.dice.pick(members);
    const begun = this.#parts.moment().observed;
    if (!process.isRunning) return;
    findSession(core, { merchantId, sessionId: begun.session.id }).then(
      (found) => {
        process.note(() => `answers the ${reader}: ${found?.session.status}`);
        if (found === undefined) return violate(`the ${reader} is answered that the session does not exist`);
        const now = this.#parts.moment();
        const shown = describeForEvent(found) as Shown;
        if (reader === "merchant") return violate(findFalseRead(shown, { begun, now }));
        return violate(findFalseOutcome(outcomeOf(found.session), { begun, now: now.observed }));
      },
      (error: Error) => process.note(() => `answers the ${reader}: ${error.message}`),
    );
  }
}
