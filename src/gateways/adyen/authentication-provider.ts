/**
 * ADYEN_3DS: authentication alone at Adyen's Checkout API, for a payment at any gateway
 * (https://docs.adyen.com/online-payments/3d-secure/standalone-authentication, 2026). Adyen runs the device check on
 * the page to which it redirects, so the check is not a separate step. authentication-answers.ts interprets the
 * answers.
 */
import { probe, withoutPlaceholders } from "../../card-vault/card-vault.ts";
import { Secret, sha256 } from "../../platform/secrets.ts";
import { toGatewayAmount } from "../amounts.ts";
import { redirectResultIn } from "../authentication.ts";
import type {
  AuthenticationProvider,
  AuthenticationRequest,
  Prepared,
  ProviderAnswer,
  ProviderEnd,
  ProviderResult,
  Unavailable,
} from "../authentication-provider.ts";
import type { CardOfRequest, CredentialField, Credentials, GatewayCall, VerifyRow } from "../connector.ts";
import { mandateFields } from "../stored-cards.ts";
import { isKeptError, readVoid } from "./answers.ts";
import { AdyenApi, type AdyenParts, paymentPath } from "./api.ts";
import {
  type Kept,
  paymentIn,
  readAnswer,
  readCardDetails,
  readDetails,
  readKept,
  unavailable,
} from "./authentication-answers.ts";
import { billingFields } from "./billing.ts";
import { askingFields, cardFields, customerFields } from "./card-fields.ts";
import { authenticationCredentialFields, clear } from "./credentials.ts";
import { currencies } from "./currencies.ts";

const cardDetails = { connector: "ADYEN_3DS", operation: "card_details" } as const;
const payments = { connector: "ADYEN_3DS", operation: "payment" } as const;

export class AdyenAuthenticationProvider implements AuthenticationProvider {
  readonly gateway = "ADYEN_3DS";
  readonly forwardFeatures = [];
  readonly credentialFields: readonly CredentialField[];
  readonly #api: AdyenApi;

  constructor(parts: AdyenParts) {
    this.#api = new AdyenApi(parts);
    this.credentialFields = authenticationCredentialFields(parts.environment);
  }

  readReturn(fields: URLSearchParams): string | undefined {
    return redirectResultIn(fields);
  }

  /** Sends the card for its brands: the vault says its network, on which the acquirer's data depend. */
  async prepare(call: GatewayCall, card: CardOfRequest): Promise<Prepared> {
    const { reply, card: summary } = await this.#api.postCard(call, card, cardNumber, cardDetails);
    const network = summary?.brand;
    return readCardDetails(reply) ?? { type: "ready", keep: keepOf({ reference: card.sessionId, network }), network };
  }

  async authenticate(call: GatewayCall, request: AuthenticationRequest): Promise<ProviderAnswer> {
    const { browser, returnUrl, shopperUserAgent, currency } = request;
    const amount = toGatewayAmount(currencies, request);
    if (amount.type === "impossible") return unavailable(amount.reason);
    const asking = askingFields({ authentication: { wish: "always", browser, returnUrl }, shopperUserAgent });
    if (asking === undefined) return unavailable("the browser has not said its name");
    const kept = { ...readKept(request.keep), challengeIndicator: request.isMandated || request.mandate ? "04" : "01" };
    const left = this.#api.sharedDeadline(call);
    const { reply } = await this.#api.postCard(
      call,
      request,
      {
        ...withoutSecurityCode,
        reference: kept.reference,
        amount: { value: amount.value, currency },
        ...customerFields(request),
        ...billingFields(request),
        ...asking,
        authenticationData: { ...asking.authenticationData, authenticationOnly: true },
        threeDS2RequestData: {
          ...merchantFields(call.credentials, request, kept),
          ...(request.mandate && mandateFields(request.mandate, request)),
        },
      },
      payments,
    );
    const payment = paymentIn(reply, kept, kept.reference);
    if (payment !== undefined) return this.#cancel(left(), payment, kept);
    const read = readAnswer(reply, kept);
    return read.type === "challenge" ? { ...read, keep: keepOf({ ...kept, isRedirected: true }) } : read;
  }

  async result(call: GatewayCall, keep: Secret, returned?: Secret): Promise<ProviderResult> {
    // Adyen has no request for the state of an action: only the customer's return leads to the result.
    if (returned === undefined) return { type: "waiting" };
    const redirectResult = returned.expose();
    const left = this.#api.sharedDeadline(call);
    const ask = (key: string) =>
      this.#api.post({ ...left(), idempotencyKey: sha256(key).toString("hex") }, "/payments/details", {
        // The result names the payment, and so its account.
        merchantAccount: undefined,
        details: { redirectResult },
        // It is false by default, and the payment would be authorized: the text of the OpenAPI file.
        authenticationData: { authenticationOnly: true },
      });
    const first = await ask(redirectResult);
    // Adyen may return its error to every repeat of the key, for a week. Asking under another one authorizes nothing.
    const isStuck = first.type === "answer" && first.status >= 500 && isKeptError(first);
    const reply = isStuck ? await ask(`${redirectResult} ${this.#api.nowMs()}`) : first;
    const kept = readKept(keep);
    const payment = paymentIn(reply, kept);
    return payment === undefined ? readDetails(reply, kept) : this.#cancel(left(), payment, kept);
  }

  /**
   * Cancels a payment that Adyen authorized in spite of `authenticationOnly`, and ends without a result. A cancellation
   * that Adyen has not accepted leaves the authentication unanswered: asked for its result again, it cancels again.
   */
  async #cancel(
    call: GatewayCall,
    gatewayReference: string,
    { reference: attemptReference }: Kept,
  ): Promise<ProviderEnd | Unavailable> {
    const cancelling = { ...call, idempotencyKey: `${gatewayReference}_cancel` };
    const path = paymentPath(gatewayReference, "cancels");
    const reply = await this.#api.post(cancelling, path, { reference: attemptReference });
    if (readVoid(reply, { gatewayReference, attemptReference }).type === "accepted") {
      return { type: "ended", result: {} };
    }
    return unavailable(`Adyen authorized ${gatewayReference}, and has not accepted its cancellation`);
  }

  async verify(call: GatewayCall): Promise<readonly VerifyRow[]> {
    const { reply } = await this.#api.postCard(call, probe, cardNumber, cardDetails);
    const problem = readCardDetails(reply)?.reason;
    return [
      {
        check: "credentials",
        state: problem === undefined ? "passed" : "failed",
        required: true,
        detail:
          problem === undefined ? "Adyen answered for a test card that the vault sent." : `Not accepted: ${problem}.`,
      },
    ];
  }
}

const cardNumber = { cardNumber: "{{card.number}}" } as const;

const { cvc: _, ...paymentMethod } = cardFields.paymentMethod;
// Manual capture: even a payment that Adyen authorized all the same would take no money.
const withoutSecurityCode = { ...cardFields, paymentMethod };

/**
 * Returns the merchant as its acquirer and the directory know it: the text of the OpenAPI file,
 * `ThreeDS2RequestFields`. Visa alone expects the requestor.
 */
function merchantFields(credentials: Credentials, { acquirer, returnUrl }: AuthenticationRequest, kept: Kept): object {
  return {
    acquirerBIN: acquirer.acquirerBin,
    acquirerMerchantID: acquirer.acquirerMerchantId,
    mcc: acquirer.mcc,
    merchantName: withoutPlaceholders(acquirer.merchantName).slice(0, 40),
    threeDSRequestorChallengeInd: kept.challengeIndicator,
    threeDSRequestorURL: new URL(returnUrl).origin,
    ...(kept.network === "visa" && {
      threeDSRequestorID: clear(credentials, "threeDSRequestorId"),
      threeDSRequestorName: clear(credentials, "threeDSRequestorName"),
    }),
  };
}

function keepOf(kept: Kept): Secret {
  return new Secret(JSON.stringify(kept));
}
