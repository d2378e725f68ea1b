/**
 * Payments at Adyen's emulator: authorized at once, captured and cancelled later, with a notification for each. Money
 * is in the ledger.
 */

import { currencies } from "../../gateways/adyen/currencies.ts";
import { reasonNames } from "../../gateways/adyen/declines.ts";
import type { Json } from "../../gateways/adyen/judge-decline.ts";
import { unreachable } from "../../platform/errors.ts";
import { isObject } from "../../platform/outbound-http.ts";
import type { Account, Accounts } from "../accounts.ts";
import type { NotificationContent, NotificationSender } from "../b-notifications.ts";
import { disputeContent } from "../b-unasked.ts";
import type { Book, Books } from "../books.ts";
import { asksExemption, type Challenge, type Challenges, cryptogramIn, proofIn } from "../challenges.ts";
import type { Faults } from "../faults.ts";
import type { CardResult, Issuer } from "../issuer.ts";
import {
  type Authorization,
  isPart,
  type Ledger,
  networkIdOf,
  type RefundRefusal,
  type UnaskedChange,
} from "../ledger.ts";
import { networkFields } from "../network-fields.ts";
import type { Pauses } from "../pauses.ts";
import type { SandboxRequest } from "../routes.ts";
import { type SavedCards, storedUseIn } from "../saved-cards.ts";
import { frictionlessOf, type SecureResult, secureResult } from "../secure-results.ts";
import type { Tasks } from "../tasks.ts";
import {
  askingOf,
  authenticatedFields,
  newPspReference,
  redirectTo,
  refusedFor,
  waitsForCustomer,
} from "./emulator-authentication.ts";
import {
  adyenTestNumbers,
  askedByHolder,
  askedBySecurityCode,
  cardErrorOf,
  pendingHolder,
  resultCodeOf,
} from "./emulator-cards.ts";
import { type Answered, type Executed, refusal } from "./emulator-keys.ts";

export type PaymentParts = {
  readonly ledger: Ledger;
  readonly issuer: Issuer;
  readonly challenges: Challenges;
  readonly savedCards: SavedCards;
  readonly notifications: NotificationSender;
  readonly pauses: Pauses;
  readonly faults: Faults;
  readonly accounts: Accounts;
  readonly books: Books;
  readonly tasks: Tasks;
};

export type Asked = { readonly request: SandboxRequest; readonly account: Account; readonly json: Json };

/** Work that is done after the answer to its request, and reported by a notification under its own reference. */
type Owed = { readonly account: Account; readonly pspReference: string; readonly merchantReference: string };
type OwedCapture = Owed & { readonly payment: Authorization; readonly value: number };
type OwedRefund = OwedCapture & {
  readonly refundId?: string | undefined;
  readonly refusal?: RefundRefusal | undefined;
};
type OwedCancel = Owed & {
  readonly eventCode: "CANCELLATION" | "TECHNICAL_CANCEL";
  /** The one payment; without it, every one under the reference by then. */
  readonly payment?: Authorization | undefined;
};

const refundFailures: Readonly<Partial<Record<RefundRefusal, string>>> = {
  not_captured: "Transaction hasn't been captured, refund not possible",
  amount_exceeds_captured: "Insufficient balance on payment",
};

// A day of a busy demo; beyond it the oldest are dropped.
const paymentsMax = 100_000;

export class EmulatorPayments {
  readonly #parts: PaymentParts;
  readonly #payments: Book<Authorization>;
  /** The references of payments and refunds, by their ids in the ledger. */
  readonly #references: Book<string>;
  /** The accounts of challenged customers, by the ids of the challenges. */
  readonly #accounts: Book<Account>;
  readonly #results = new WeakMap<Challenge, Promise<CardResult>>();
  readonly #captureLater: (owed: OwedCapture) => Promise<void>;
  readonly #refundLater: (owed: OwedRefund) => Promise<void>;
  readonly #cancelLater: (owed: OwedCancel) => Promise<void>;

  constructor(parts: PaymentParts) {
    this.#parts = parts;
    // Adyen does not document that only /payments/details authorizes a card. So its own card waits for that, and every
    // other is authorized as soon as the customer has passed, as at SANDBOX_B.
    parts.challenges.onPassed((challenge) => {
      const waits = adyenTestNumbers.includes(challenge.payment.number);
      if (this.#accounts.has(challenge.id) && !waits) void this.#settle(challenge);
    });
    this.#payments = parts.books.open("adyen payment", paymentsMax);
    this.#references = parts.books.open("adyen reference", 2 * paymentsMax);
    this.#accounts = parts.books.open("adyen challenge", paymentsMax);
    this.#captureLater = parts.tasks.define("adyen.capture", (owed) => this.#capture(owed));
    this.#refundLater = parts.tasks.define("adyen.refund", (owed) => this.#refund(owed));
    this.#cancelLater = parts.tasks.define("adyen.cancel", (owed) => this.#cancel(owed));
    parts.ledger.onUnasked((payment, change) => {
      if (payment.acquirer === "ADYEN") this.#reportUnasked(parts.accounts.find(payment.account), payment, change);
    });
  }

  /** Returns the pspReference of an authorization or a refund of the ledger. */
  referenceOf(id: string): string {
    return this.#references.get(id) ?? "";
  }

  find(pspReference: string | undefined): Authorization | undefined {
    return this.#payments.get(pspReference ?? "");
  }

  async authorize({ request, account, json }: Asked): Promise<Answered | Executed> {
    const { amount, paymentMethod, additionalData, reference } = json;
    if (!account.rawCards) return refusal(403, "010", "security");
    const isManual = isObject(additionalData) && additionalData.manualCapture === "true";
    if (!isManual || !account.manualCapture) return refusal(422, "000");
    if (typeof json.returnUrl !== "string") return refusal(422, "14_030");
    if (!isObject(paymentMethod) || typeof reference !== "string") return refusal(422, "14_004");
    const cardError = cardErrorOf(paymentMethod, new Date());
    if (cardError !== undefined) return refusal(422, cardError);
    const cryptogram = cryptogramIn(json);
    if ((paymentMethod.type === "networkToken") !== (cryptogram !== undefined)) return refusal(422, "14_004");
    if (!isObject(amount) || !Number.isSafeInteger(amount.value)) return refusal(422, "137");
    if (!Object.hasOwn(currencies, String(amount.currency))) return refusal(422, "138");
    let opened: Authorization | undefined;
    const result = await this.#parts.issuer.authorizeOrAsk(
      {
        acquirer: "ADYEN",
        account: account.id,
        reference,
        orderRef: String(json.merchantOrderReference ?? ""),
        number: String(paymentMethod.number),
        value: Number(amount.value),
        currency: String(amount.currency),
        cryptogram,
        proof: proofIn(json),
        isExemptionAsked: asksExemption(json),
        ...storedUseIn(json, String(paymentMethod.number), this.#parts.savedCards),
        asked: askedByHolder(paymentMethod.holderName) ?? askedBySecurityCode(paymentMethod.number, paymentMethod.cvc),
      },
      askingOf(json),
      (authorization) => {
        opened = authorization;
        this.#remember(authorization);
        this.#reportAuthorization(account, authorization);
      },
    );
    if (result.type !== "asked") return this.#answerTo(result, opened, paymentMethod.holderName === pendingHolder);
    this.#accounts.set(result.challenge.id, account);
    return redirectTo(result.challenge, request);
  }

  /** Returns the challenge that a customer's return leads on to, with its account. */
  findChallenge({ details }: Json): { readonly challenge: Challenge; readonly account: Account } | undefined {
    const challenge = this.#parts.challenges.find(isObject(details) ? String(details.redirectResult) : "");
    const account = challenge && this.#accounts.get(challenge.id);
    return challenge && account && { challenge, account };
  }

  async details(challenge: Challenge): Promise<Answered | Executed> {
    if (challenge.state === "waiting") return waitsForCustomer(challenge);
    if (challenge.state !== "passed") return refusedFor(challenge);
    const result = await this.#settle(challenge);
    const opened = this.#parts.ledger.record(challenge.id);
    return this.#answerTo(result, opened, false, secureResult("Y", challenge.id));
  }

  /** Decides a payment whose customer has passed, once. */
  #settle(challenge: Challenge): Promise<CardResult> {
    const known = this.#results.get(challenge);
    if (known !== undefined) return known;
    const decided = this.#parts.issuer.decided(challenge);
    const result = decided
      ? Promise.resolve(decided)
      : this.#parts.issuer.settle(challenge, (authorization) => {
          this.#remember(authorization);
          this.#reportAuthorization(this.#accounts.get(challenge.id)!, authorization);
        });
    this.#results.set(challenge, result);
    return result;
  }

  async capture({ request, account, json }: Asked): Promise<Answered> {
    const payment = this.find(request.parameters.id);
    const { amount, reference } = json;
    if (payment?.account !== account.id) return refusal(422, "167");
    const value = isObject(amount) ? Number(amount.value) : 0;
    if (!isObject(amount) || !isPart(value, payment.value)) return refusal(422, "137");
    if (amount.currency !== payment.currency) return refusal(422, "138");
    const pspReference = newPspReference();
    void this.#captureLater({ account, payment, pspReference, merchantReference: String(reference), value });
    const body = { paymentPspReference: request.parameters.id, pspReference, reference, amount, status: "received" };
    return { status: 201, body: { ...body, merchantAccount: account.id }, about: payment.reference };
  }

  /** Takes on a refund; whether it can be made, only its notification says. */
  async refund({ request, account, json }: Asked): Promise<Answered> {
    const payment = this.find(request.parameters.id);
    const { amount, reference } = json;
    if (payment?.account !== account.id) return refusal(422, "167");
    const value = isObject(amount) ? Number(amount.value) : 0;
    if (!isObject(amount) || !isPart(value, Number.MAX_SAFE_INTEGER)) return refusal(422, "137");
    if (amount.currency !== payment.currency) return refusal(422, "138");
    const pspReference = newPspReference();
    const { merchantRefundReason } = json;
    const merchantReference = String(reference ?? payment.reference);
    const taken = this.#parts.ledger.refund(payment, { reference: merchantReference, value });
    const outcome = typeof taken === "string" ? { refusal: taken } : { refundId: taken.id };
    if (typeof taken !== "string") this.#references.set(taken.id, pspReference);
    void this.#refundLater({ account, payment, pspReference, merchantReference, value, ...outcome });
    const body = { paymentPspReference: request.parameters.id, pspReference, reference, amount, status: "received" };
    return {
      status: 201,
      body: {
        ...body,
        merchantAccount: account.id,
        ...(merchantRefundReason !== undefined && { merchantRefundReason }),
      },
      about: payment.reference,
    };
  }

  async cancel({ request, account, json }: Asked): Promise<Answered> {
    const payment = this.find(request.parameters.id);
    const { reference } = json;
    if (payment?.account !== account.id) return refusal(422, "167");
    const pspReference = newPspReference();
    const merchantReference = String(reference);
    void this.#cancelLater({ account, payment, eventCode: "CANCELLATION", pspReference, merchantReference });
    const body = { paymentPspReference: request.parameters.id, pspReference, reference, status: "received" };
    return { status: 201, body: { ...body, merchantAccount: account.id }, about: payment.reference };
  }

  /** Cancels every payment that the reference holds by then; a later payment is accepted all the same. */
  async cancelByReference({ account, json }: Asked): Promise<Answered> {
    const { paymentReference, reference } = json;
    const merchantReference = String(paymentReference);
    const pspReference = newPspReference();
    void this.#cancelLater({ account, eventCode: "TECHNICAL_CANCEL", pspReference, merchantReference });
    const body = { paymentReference, pspReference, reference, status: "received", merchantAccount: account.id };
    return { status: 201, body, about: merchantReference };
  }

  #answerTo(
    result: CardResult,
    opened: Authorization | undefined,
    isPending: boolean,
    challenged?: SecureResult,
  ): Answered | Executed {
    switch (result.type) {
      case "held": {
        const resultCode = isPending ? "Received" : "Authorised";
        const { additionalData, ...secure } = secureFields(result, challenged);
        // Text of the OpenAPI file, `ResponseAdditionalDataCommon`.
        const networkTxReference = networkIdOf(result.authorization);
        const known = { ...additionalData, ...(networkTxReference !== undefined && { networkTxReference }) };
        return this.#resultOf(result.authorization, { resultCode, ...secure, additionalData: known });
      }
      case "declined": {
        const { code } = result;
        const refusalReason = reasonNames[code] ?? "Unknown";
        const refusal = { resultCode: resultCodeOf(code), refusalReasonCode: code, refusalReason };
        const secure = secureFields(result, challenged);
        const network = networkFields(result.authorization);
        const additionalData = { ...secure.additionalData, ...network.additionalData };
        const known = Object.keys(additionalData).length > 0 && { additionalData };
        return this.#resultOf(result.authorization, { ...refusal, ...known });
      }
      case "failed":
        return refusal(result.status, "901", "internal");
      case "refused":
        throw new Error("the emulator refuses no reference");
      case "silent": {
        const kept =
          opened === undefined ? refusal(500, "901", "internal") : this.#resultOf(opened, { resultCode: "Authorised" });
        return { answer: "hang_up", kept };
      }
      default:
        return unreachable(result);
    }
  }

  #resultOf({ id, reference, value, currency }: Authorization, details: object): Answered {
    const pspReference = this.#references.get(id);
    const body = { pspReference, merchantReference: reference, amount: { value, currency }, ...details };
    return { status: 200, body, about: reference };
  }

  #reportAuthorization(account: Account, authorization: Authorization): void {
    const { id, reference: merchantReference, declineCode } = authorization;
    const pspReference = this.#references.get(id) ?? "";
    const networkTxReference = networkIdOf(authorization);
    this.#report(account, {
      eventCode: "AUTHORISATION",
      success: declineCode === undefined,
      pspReference,
      merchantReference,
      authorization,
      reason: declineCode === undefined ? "" : (reasonNames[declineCode] ?? "Unknown"),
      // The OpenAPI file of webhooks (2026), AuthorisationNotificationAdditionalData.
      ...(networkTxReference !== undefined && { facts: { networkTxReference } }),
    });
  }

  async #capture({ account, payment, ...event }: OwedCapture): Promise<void> {
    const { issuer, ledger, faults, pauses } = this.#parts;
    await issuer.captureDelay(payment);
    await pauses.gate("adyen.result", payment.reference);
    await faults.beforeResult();
    if (payment.capture === "refuse") ledger.void(payment);
    const captured = ledger.capture(payment, event.value);
    const reason = captured ? "" : "Insufficient balance on payment";
    this.#reportChange(account, payment, { ...event, eventCode: "CAPTURE", success: captured, reason });
    if (!captured || payment.capture !== "fail_later") return;
    // The card scheme rejects the capture that Adyen sent to it.
    ledger.takeBack(payment);
    this.#reportChange(account, payment, {
      ...event,
      eventCode: "CAPTURE_FAILED",
      success: true,
      reason: "Capture Failed",
    });
  }

  async #refund({ account, payment, refundId, refusal, ...event }: OwedRefund): Promise<void> {
    const { issuer, ledger, faults, pauses } = this.#parts;
    await issuer.refundDelay(payment);
    await pauses.gate("adyen.result", payment.reference);
    await faults.beforeResult();
    const refund = payment.refunds.find(({ id }) => id === refundId);
    const success = refund !== undefined;
    if (success) ledger.makeRefund(payment, refund);
    // The sample of adyen-webhooks.json, REFUND.
    const reason = success ? "" : ((refusal && refundFailures[refusal]) ?? "Refund not possible");
    this.#reportChange(account, payment, { eventCode: "REFUND", success, reason, ...event });
  }

  /** Reports a change that no request made: by hand, under the payment's reference, or by Adyen itself. */
  #reportUnasked(account: Account, payment: Authorization, change: UnaskedChange): void {
    this.#reportChange(account, payment, { success: true, reason: "", ...this.#contentOf(payment, change) });
  }

  #contentOf(payment: Authorization, change: UnaskedChange): Omit<NotificationContent, "success" | "authorization"> {
    const named = { pspReference: newPspReference(), merchantReference: payment.reference };
    switch (change.type) {
      case "captured":
        return { ...named, eventCode: "CAPTURE", value: payment.capturedValue };
      case "voided":
        return { ...named, eventCode: "CANCELLATION" };
      case "expired":
        // The sample of adyen-webhooks.json names the payment alone.
        return { ...named, eventCode: "EXPIRE", pspReference: this.#references.get(payment.id) ?? "" };
      case "refunded":
        return { ...named, eventCode: "REFUND", value: change.refund.value };
      case "refundFailed": {
        const { refund } = change;
        const pspReference = this.#references.get(refund.id) ?? named.pspReference;
        const merchantReference = refund.reference === "" ? payment.reference : refund.reference;
        const content = { pspReference, merchantReference, value: refund.value };
        return { ...content, eventCode: "REFUND_FAILED", reason: "Refund Failed" };
      }
      case "disputed":
        return { ...named, ...disputeContent(change), value: payment.capturedValue };
      default:
        return unreachable(change);
    }
  }

  async #cancel({ account, payment, ...cancellation }: OwedCancel): Promise<void> {
    const { faults, ledger, pauses } = this.#parts;
    await pauses.gate("adyen.result", cancellation.merchantReference);
    await faults.beforeResult();
    const wanted = { acquirer: "ADYEN", account: account.id, reference: cancellation.merchantReference } as const;
    const named = payment ? [payment] : ledger.findByReference(wanted);
    const found = named.filter(({ status }) => status !== "declined");
    const captured = found.find(({ status }) => status === "captured");
    if (captured === undefined) for (const one of found) ledger.void(one);
    const success = captured === undefined && found.length > 0;
    const reason = success ? "" : captured === undefined ? "Payment not found" : "Payment already captured";
    this.#reportChange(account, captured ?? found[0], { ...cancellation, success, reason });
  }

  /** Reports a capture or cancellation under its own reference, with the payment's beside it. */
  #reportChange(
    account: Account,
    payment: Authorization | undefined,
    content: Omit<NotificationContent, "authorization">,
  ): void {
    const isNamed = payment !== undefined && content.eventCode !== "EXPIRE";
    const originalReference = isNamed ? this.#references.get(payment.id) : "";
    this.#report(account, { ...content, authorization: payment, originalReference });
  }

  #report(account: Account, content: NotificationContent): void {
    void this.#parts.notifications.send(account, { ...content, from: "adyen" });
  }

  #remember(authorization: Authorization): void {
    const pspReference = newPspReference();
    this.#references.set(authorization.id, pspReference);
    this.#payments.set(pspReference, authorization);
  }
}

function secureFields({ authorization }: { authorization: Authorization }, challenged: SecureResult | undefined) {
  return challenged ? authenticatedFields(challenged, "C") : authenticatedFields(frictionlessOf(authorization), "Y");
}
