/**
 * Authentication alone at Adyen's emulator (https://docs.adyen.com/online-payments/3d-secure/standalone-authentication,
 * 2026; the texts of the OpenAPI file, `authenticationOnly` and `ThreeDS2RequestFields`). The directory is that of
 * SANDBOX_3DS, so its proof counts at every gateway.
 */
import type { Json } from "../../gateways/adyen/judge-decline.ts";
import { isObject } from "../../platform/outbound-http.ts";
import type { Account } from "../accounts.ts";
import type { Book, Books } from "../books.ts";
import type { Challenge, Challenges } from "../challenges.ts";
import type { Issuer } from "../issuer.ts";
import { type Directory, resultOf, type Transaction } from "../three-d-secure.ts";
import { newPspReference, redirectTo, waitsForCustomer } from "./emulator-authentication.ts";
import { cardErrorOf } from "./emulator-cards.ts";
import { type Answered, refusal } from "./emulator-keys.ts";
import type { Asked } from "./emulator-payments.ts";

export type StandaloneParts = {
  readonly challenges: Challenges;
  readonly directory: Directory;
  readonly issuer: Issuer;
  readonly books: Books;
};

type Standalone = { readonly transaction: Transaction; readonly account: Account };

export function isStandalone({ authenticationData }: Json): boolean {
  return isObject(authenticationData) && authenticationData.authenticationOnly === true;
}

// A day of a busy demo; beyond it the oldest are dropped.
const openMax = 10_000;

/** The authentications that no payment of the emulator's follows. */
export class StandaloneAuthentications {
  readonly #parts: StandaloneParts;
  /** The authentications by the ids of their challenges. */
  readonly #open: Book<Standalone>;

  constructor(parts: StandaloneParts) {
    this.#parts = parts;
    this.#open = parts.books.open("adyen standalone", openMax);
  }

  /** Answers with the brands of a card: https://docs.adyen.com/api-explorer/Checkout/72/post/cardDetails (2026). */
  cardDetails({ account, json: { cardNumber } }: Asked): Answered {
    if (!account.rawCards) return refusal(403, "010", "security");
    const brand = brands[String(cardNumber).charAt(0)];
    return { status: 200, body: { brands: brand === undefined ? [] : [{ type: brand, supported: true }] } };
  }

  authenticate({ request, account, json }: Asked): Answered {
    const { amount, paymentMethod, browserInfo, threeDS2RequestData: merchant, reference, returnUrl } = json;
    if (!account.rawCards) return refusal(403, "010", "security");
    if (!isObject(amount) || !isObject(paymentMethod) || !isObject(browserInfo)) return refusal(422, "14_004");
    if (!isObject(merchant) || required.some((name) => typeof merchant[name] !== "string"))
      return refusal(422, "14_004");
    const cardError = cardErrorOf(paymentMethod, new Date());
    if (cardError !== undefined) return refusal(422, cardError);
    const number = String(paymentMethod.number);
    const transaction = this.#parts.directory.open(number, account.id);
    const about = String(reference);
    // Adyen does not document its answer about a card that no directory knows.
    if (transaction === undefined) return answerOf(about, { resultCode: "AuthenticationNotRequired" });
    transaction.areq = { purchaseAmount: String(amount.value) };
    const { answer } = transaction.behaviour;
    if (answer !== "challenge" && answer !== "app" && answer !== "blank") {
      transaction.transStatus = answer === "down" ? "U" : answer;
      this.#parts.directory.save(transaction);
      return finished(about, transaction);
    }
    const challenge = this.#parts.challenges.open({
      payment: {
        acquirer: "ADYEN",
        account: account.id,
        reference: about,
        number,
        orderRef: String(merchant.merchantName),
        value: Number(amount.value),
        currency: String(amount.currency),
      },
      passed: { act: "approve" },
      losesCompletion: false,
      returnUrl: String(returnUrl),
    });
    this.#parts.directory.save(transaction);
    this.#open.set(challenge.id, { transaction, account });
    return redirectTo(challenge, request);
  }

  /** Returns the challenge that a customer's return leads on to; undefined for that of a payment. */
  find({ details }: Json): (Standalone & { readonly challenge: Challenge }) | undefined {
    const challenge = this.#parts.challenges.find(isObject(details) ? String(details.redirectResult) : "");
    const found = challenge && this.#open.get(challenge.id);
    return challenge && found && { ...found, challenge };
  }

  /** Answers with the result. A request that does not repeat `authenticationOnly` authorizes the payment. */
  async details(
    { challenge, transaction }: { readonly challenge: Challenge; readonly transaction: Transaction },
    json: Json,
  ): Promise<Answered> {
    const { payment, state } = challenge;
    if (state === "waiting") return waitsForCustomer(challenge);
    if (state === "passed" && !isStandalone(json)) {
      await this.#parts.issuer.settle(challenge, () => {});
      return answerOf(payment.reference, { resultCode: "Authorised" });
    }
    transaction.transStatus = state === "passed" ? "Y" : "N";
    if (state === "cancelled") transaction.challengeCancel = "01";
    this.#parts.directory.save(transaction);
    return finished(payment.reference, transaction);
  }
}

const brands: Readonly<Record<string, string>> = { 3: "amex", 4: "visa", 5: "mc" };

// Required for authentication alone: the text of the OpenAPI file, `ThreeDS2RequestFields`.
const required = ["acquirerBIN", "acquirerMerchantID", "mcc", "merchantName"];

function finished(reference: string, transaction: Transaction): Answered {
  return answerOf(reference, { resultCode: "AuthenticationFinished", threeDS2Result: resultOf(transaction) });
}

function answerOf(merchantReference: string, content: object): Answered {
  const body = { pspReference: newPspReference(), merchantReference, ...content };
  return { status: 200, body, about: merchantReference };
}
