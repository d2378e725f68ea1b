/** Adyen: the requests of a card payment. What its answers mean is in answers.ts, what its notifications mean in read-notification.ts. */
import { type Amount, toGatewayAmount } from "../amounts.ts";
import { withoutPlaceholders } from "../card-forwarder.ts";
import type {
  AttemptAtGateway,
  AuthorizeAnswer,
  AuthorizeRequest,
  CaptureAnswer,
  ChangingCall,
  Connector,
  CredentialField,
  Credentials,
  GatewayCall,
  Hold,
  LookUpAnswer,
  NotificationReading,
  RawNotification,
  VerifyRow,
  VoidAnswer,
} from "../connector.ts";
import type { GatewayReply } from "../gateway-http.ts";
import { isKeptError, readAuthorize, readCapture, readVoid } from "./answers.ts";
import { AdyenApi, type AdyenParts } from "./api.ts";
import { cardFields } from "./card-fields.ts";
import { credentialFields } from "./credentials.ts";
import { currencies, whyNotPayable } from "./currencies.ts";
import { readNotification } from "./read-notification.ts";
import { verifyAccount } from "./verify.ts";

/** The connector for Adyen's Checkout payments, with cards that the vault fills in. Its results come as notifications. */
export class AdyenConnector implements Connector {
  readonly gateway = "ADYEN";
  readonly canRead = false;
  /** Nothing says that a reference which was cancelled is refused to a payment that comes later. */
  readonly refusesVoidedReference = false;
  /** Twice as long as Adyen's own libraries wait for an answer (30 s: https://github.com/Adyen/adyen-node-api-library, src/config.ts, 2026). */
  readonly executionLimitMs = 60_000;
  readonly failsOnRequest = false;
  readonly forwardFeatures = [];
  readonly credentialFields: readonly CredentialField[];
  readonly #api: AdyenApi;

  constructor(parts: AdyenParts) {
    this.#api = new AdyenApi(parts);
    this.credentialFields = credentialFields(parts.environment);
  }

  whyNotPayable(amount: Amount): string | undefined {
    return whyNotPayable(amount);
  }

  async authorize(call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer> {
    const amount = toGatewayAmount(currencies, request);
    if (amount.type === "impossible") {
      return { outcome: { type: "notProcessed", cause: "request_refused", reason: amount.because } };
    }
    const { reply, card } = await this.#api.postCard(call, request, {
      ...cardFields,
      reference: request.attemptReference,
      amount: { value: amount.value, currency: request.currency },
      ...aboutPayment(request),
    });
    return { outcome: readAuthorize(reply, request), card };
  }

  async capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer> {
    const left = this.#api.sharedDeadline(call);
    const reply = await this.#capture(call, hold);
    const answer = readCapture(reply, hold);
    const isOver = answer.type === "accepted" || (answer.type === "refused" && answer.definitive);
    if (isOver || !isKeptError(reply)) return answer;
    // Adyen may give this error to every repeat of the key, for a week. Another key captures what is still held, and no
    // second time: more than was authorized cannot be captured (https://docs.adyen.com/development-resources/api-idempotency, 2026).
    // Repeats of one hour share it: one whose answer was lost is not sent anew, and later a notice has told of it.
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
    return { type: "cannotTell", reason: "Adyen cannot be read; its notifications tell" };
  }

  verify(call: GatewayCall): Promise<readonly VerifyRow[]> {
    return verifyAccount(this.#api, call);
  }

  async readNotification(credentials: Credentials, notification: RawNotification): Promise<NotificationReading> {
    return readNotification(credentials, notification, this.#api.environment);
  }

  /** Named after the attempt, so that the notices about the capture are found by it. */
  #capture(call: ChangingCall, hold: Hold): Promise<GatewayReply> {
    const amount = toGatewayAmount(currencies, hold);
    if (amount.type === "impossible") throw new Error("a hold is only made for an amount that can be paid");
    return this.#api.post(call, paymentPath(hold.gatewayReference, "captures"), {
      reference: hold.attemptReference,
      amount: { value: amount.value, currency: hold.currency },
    });
  }
}

const hourMs = 3_600_000;

function paymentPath(pspReference: string, action: "captures" | "cancels"): string {
  return `/payments/${encodeURIComponent(pspReference)}/${action}`;
}

/** What disputes, risk checks and the customer's statement need. The browser is not named: Adyen takes its description whole or not at all. */
function aboutPayment(request: AuthorizeRequest): object {
  const { orderRef, sessionId, customerEmail, shopperIp, statementDescriptor } = request;
  const email = customerEmail === undefined ? undefined : plainAddress(customerEmail);
  const statement = statementDescriptor === undefined ? undefined : plainStatement(statementDescriptor);
  return {
    merchantOrderReference: withoutPlaceholders(orderRef),
    metadata: { session_id: sessionId },
    ...(email === undefined ? {} : { shopperEmail: email }),
    ...(shopperIp === undefined ? {} : { shopperIP: shopperIp }),
    ...(statement === undefined ? {} : { shopperStatement: statement }),
  };
}

/** An address that a gateway finds malformed may cost the payment, so only a plain one is sent. */
function plainAddress(email: string): string | undefined {
  return /^[\w.+-]+@([a-z0-9-]+\.)+[a-z]{2,}$/i.test(email) ? email : undefined;
}

/** At most 22 characters, of these alone: the text of the OpenAPI file, `shopperStatement`. */
function plainStatement(descriptor: string): string | undefined {
  const plain = descriptor
    .replace(/[^a-zA-Z0-9 .,'_?+*/-]/g, "")
    .slice(0, 22)
    .trim();
  return plain === "" ? undefined : plain;
}
