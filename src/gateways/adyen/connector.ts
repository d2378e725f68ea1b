/** Adyen: the requests of a card payment. answers.ts interprets its answers, read-notification.ts its notifications. */

import { withoutPlaceholders } from "../../card-vault/card-vault.ts";
import { isNetworkToken } from "../../platform/card-token.ts";
import type { GatewayReply } from "../../platform/outbound-http.ts";
import { type Amount, capturedAmountOf, toGatewayAmount } from "../amounts.ts";
import { redirectResultIn } from "../authentication.ts";
import type {
  AttemptAtGateway,
  AuthorizeAnswer,
  AuthorizeRequest,
  CaptureAnswer,
  ChangingCall,
  Connector,
  CredentialField,
  Credentials,
  GatewayAuthenticator,
  GatewayCall,
  GatewayDisputeAnswers,
  GatewayRefunds,
  Hold,
  LookUpAnswer,
  NotificationReading,
  RawNotification,
  VerifyRow,
  VoidAnswer,
} from "../connector.ts";
import { ofBothWallets } from "../network-tokens.ts";
import { chainOf } from "../renewal-chains.ts";
import type { GatewayStatements } from "../statements.ts";
import { notAnswered, withoutAction } from "../unanswered.ts";
import { isKeptError, readAuthenticated, readAuthorize, readCapture, readCompletion, readVoid } from "./answers.ts";
import { AdyenApi, type AdyenParts, paymentPath } from "./api.ts";
import { billingFields } from "./billing.ts";
import { askingFields, cardFields, customerFields, exemptionFields, importFields, tokenFields } from "./card-fields.ts";
import { credentialFields } from "./credentials.ts";
import { currencies, whyNotPayable } from "./currencies.ts";
import { AdyenDisputeAnswers } from "./dispute-answers.ts";
import { readNotification } from "./read-notification.ts";
import { AdyenRefunds } from "./refunds.ts";
import { adyenStatements } from "./settlement.ts";
import { mandatedFields, storedFields } from "./stored-cards.ts";
import { verifyAccount } from "./verify.ts";

const hourMs = 3_600_000;
const tokenRow = { connector: "ADYEN", operation: "network_token" } as const;

/**
 * The connector for Adyen's Checkout payments, with cards that the vault fills in. Notifications report its results.
 */
export class AdyenConnector implements Connector {
  readonly gateway = "ADYEN";
  readonly canRead = false;
  /** Adyen does not document that a cancelled reference is refused to a later payment. */
  readonly refusesVoidedReference = false;
  /**
   * Twice the time that Adyen's own libraries wait for an answer (30 s:
   * https://github.com/Adyen/adyen-node-api-library, src/config/config.ts, 2026).
   */
  readonly executionLimitMs = 60_000;
  readonly failsOnRequest = false;
  readonly importsProof = true;
  readonly asksExemptions = true;
  readonly storedCards = "network";
  readonly setsUp = true;
  readonly acceptsNetworkToken = ofBothWallets;
  readonly forwardFeatures = [];
  /**
   * The shortest life of any card's hold; most last longer, by card scheme:
   * https://docs.adyen.com/online-payments/adjust-authorisation (2026).
   */
  readonly holdLifeMs = 5 * 24 * hourMs;
  readonly credentialFields: readonly CredentialField[];
  readonly authentication: GatewayAuthenticator = {
    // Adyen does not document that a card is authorized only by /payments/details.
    holdsOnlyWhenAsked: false,
    // Assumed: Adyen does not document how long a customer may take.
    actionLifeMs: hourMs,
    framing: "frame",
    readReturn: redirectResultIn,
    complete: async (call, attempt, { returned }) => {
      if (returned === undefined) return { outcome: notAnswered };
      // The result names the payment, and so its account.
      const body = { merchantAccount: undefined, details: { redirectResult: returned.expose() } };
      const reply = await this.#api.post(call, "/payments/details", body);
      return { outcome: readCompletion(reply, attempt), authenticated: readAuthenticated(reply) };
    },
  };
  readonly refunds: GatewayRefunds;
  readonly disputeAnswers: GatewayDisputeAnswers;
  readonly statements: GatewayStatements;
  readonly #api: AdyenApi;

  constructor(parts: AdyenParts) {
    this.#api = new AdyenApi(parts);
    this.refunds = new AdyenRefunds(this.#api);
    this.disputeAnswers = new AdyenDisputeAnswers((...asked) => this.#api.postDispute(...asked));
    this.statements = adyenStatements({ download: (...asked) => this.#api.downloadReport(...asked) });
    this.credentialFields = credentialFields(parts.environment);
  }

  whyNotPayable(amount: Amount): string | undefined {
    return whyNotPayable(amount);
  }

  async authorize(call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer> {
    const amount = toGatewayAmount(currencies, request);
    if (amount.type === "impossible") {
      return { outcome: { type: "notProcessed", cause: "request_refused", reason: amount.reason } };
    }
    const { storedCard } = request;
    const chain = storedCard?.type === "renewal" ? chainOf(storedCard, this) : undefined;
    if (chain?.type === "notProcessed") return { outcome: chain };
    const asking = chain === undefined ? askingFields(request) : undefined;
    const isToken = isNetworkToken(request);
    const body = {
      ...(isToken ? tokenFields : cardFields),
      reference: request.attemptReference,
      ...billingFields(request),
      amount: { value: amount.value, currency: request.currency },
      ...aboutPayment(request),
      ...asking,
      ...importFields(request),
      ...exemptionFields(request),
      ...(storedCard && storedFields(storedCard, chain)),
      ...(storedCard && asking && mandatedFields(request)),
    };
    const { reply, card } = await this.#api.postCard(call, request, body, isToken ? tokenRow : undefined);
    const outcome = readAuthorize(reply, request);
    return {
      outcome: asking === undefined ? withoutAction(outcome) : outcome,
      card,
      authenticated: readAuthenticated(reply),
    };
  }

  async capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer> {
    if (whyNotPayable(capturedAmountOf(hold)) !== undefined) {
      return { type: "refused", definitive: true, gatewayCode: "amount" };
    }
    if (mayBeForgotten(hold)) return { type: "unknown", kind: "GATEWAY_ERROR", reason: forgotten };
    const left = this.#api.sharedDeadline(call);
    const reply = await this.#capture(call, hold);
    const answer = readCapture(reply, hold);
    const isOver = answer.type === "accepted" || (answer.type === "refused" && answer.definitive);
    if (isOver || !isKeptError(reply)) return answer;
    // A part leaves enough for a second capture, so it never gets another key: an alarm asks a person.
    if (hold.captureMinor !== undefined) return answer;
    if (answer.type === "unknown" && mayBeReportedYet(hold)) return answer;
    // Adyen may return this error to every repeat of the key, for a week. Another key captures an existing hold, and
    // cannot capture twice: more than was authorized cannot be captured
    // (https://docs.adyen.com/development-resources/api-idempotency, 2026). If the first capture was carried out, the
    // second is reported as failed under a separate reference, and the first stands. An error that does not say that
    // nothing was done is first repeated for a while: a notification makes the second capture unnecessary. Repeats
    // within one hour share the key: one whose answer was lost is not sent anew, and later a notification has reported
    // the result.
    const idempotencyKey = `${call.idempotencyKey}_${Math.floor(this.#api.nowMs() / hourMs)}`;
    return readCapture(await this.#capture({ ...left(), idempotencyKey }, hold), hold);
  }

  async void(call: ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer> {
    const { gatewayReference, attemptReference: reference } = attempt;
    const reply =
      gatewayReference === undefined
        ? await this.#api.post(call, "/cancels", { paymentReference: reference, reference })
        : await this.#api.post(call, paymentPath(gatewayReference, "cancels"), { reference });
    return readVoid(reply, attempt);
  }

  async lookUp(): Promise<LookUpAnswer> {
    return { type: "inconclusive", reason: "Adyen cannot be read; its notifications report the result" };
  }

  verify(call: GatewayCall): Promise<readonly VerifyRow[]> {
    return verifyAccount(this.#api, call);
  }

  async readNotification(credentials: Credentials, notification: RawNotification): Promise<NotificationReading> {
    return readNotification(credentials, notification, this.#api.environment);
  }

  /** Sends a capture named after the attempt, so that notifications about the capture are found by it. */
  #capture(call: ChangingCall, hold: Hold): Promise<GatewayReply> {
    const amount = toGatewayAmount(currencies, capturedAmountOf(hold));
    if (amount.type === "impossible") throw new Error("a capture is ordered only for an amount that can be paid");
    return this.#api.post(call, paymentPath(hold.gatewayReference, "captures"), {
      reference: hold.attemptReference,
      amount: { value: amount.value, currency: hold.currency },
    });
  }
}

// The time is counted from the attempt's start, of which its authorization takes at most 10 s. Notifications come
// within seconds; a session has 45 s in total, and a minute without an answer raises an alarm.
const reportWaitMs = 30_000;

function mayBeReportedYet({ ageMs }: Hold): boolean {
  return ageMs !== undefined && ageMs < reportWaitMs;
}

// Adyen keeps a key for seven days at least (https://docs.adyen.com/development-resources/api-idempotency, 2026), less a
// day for clocks and for a request on its way.
const partKeyLifeMs = 6 * 24 * hourMs;
const forgotten = "Adyen may have forgotten the key of this partial capture, so nothing is sent";

/** Reports whether a repeat could capture a part a second time, because it leaves enough of the hold. */
function mayBeForgotten({ captureMinor, attemptAgeMs }: Hold): boolean {
  return captureMinor !== undefined && attemptAgeMs !== undefined && attemptAgeMs > partKeyLifeMs;
}

/** Returns what disputes, risk checks and the customer's statement need. */
function aboutPayment(request: AuthorizeRequest): object {
  const { orderRef, sessionId, statementDescriptor } = request;
  const statement = statementDescriptor === undefined ? undefined : plainStatement(statementDescriptor);
  return {
    merchantOrderReference: withoutPlaceholders(orderRef),
    // A restored database has another session of the same renewal, which repeats this request.
    ...(request.storedCard?.type !== "renewal" && { metadata: { session_id: sessionId } }),
    ...customerFields(request),
    ...(statement === undefined ? {} : { shopperStatement: statement }),
  };
}

/** Returns at most 22 characters of the allowed set: the text of the OpenAPI file, `shopperStatement`. */
function plainStatement(descriptor: string): string | undefined {
  const plain = descriptor
    .replace(/[^a-zA-Z0-9 .,'_?+*/-]/g, "")
    .slice(0, 22)
    .trim();
  return plain === "" ? undefined : plain;
}
