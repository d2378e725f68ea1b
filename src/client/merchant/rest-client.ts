/** Calls the public REST API from a merchant's backend, typed. */
import { ApiError } from "./api-error.ts";
import { checkHeaderText } from "./header-text.ts";
import { exchange, type HttpRequest } from "./http-exchange.ts";
import type {
  CreatedPaymentSession,
  Dispute,
  DisputeFilters,
  DisputePage,
  NewPaymentSession,
  NewRefund,
  PaymentSession,
  PaymentSessionSummary,
  Refund,
  SessionFilters,
  SessionPage,
} from "./payment-session.ts";
import { gatewayTryTimeoutMs, type Patience, patienceOf, sendUntilAnswered } from "./repeat.ts";
import { parseObject, refusalOf, unexpectedAnswer } from "./rest-error.ts";
import type {
  Agreement,
  AgreementFilters,
  AgreementPage,
  NewCharge,
  NewRecoveryLink,
  NewSetup,
  PaymentMethod,
  PaymentMethodFilters,
  PaymentMethodPage,
  RecoveryLink,
} from "./stored-card.ts";

/** The address of the service, the caller's key, and the bounds of a call. */
export type RestClientOptions = {
  /** The address with its version, such as https://pay.example.com/api/v1. */
  readonly restBase: string;
  readonly secretKey: string;
  /**
   * The limit of one request, in milliseconds; when not given, 25 s for captures and refunds, which wait for the
   * gateway, and 15 s for all others.
   */
  readonly tryTimeoutMs?: number;
  /** The limit of a whole call with its repeats, in milliseconds; 45 s when not given. */
  readonly timeoutMs?: number;
  /** Maximum number of times a request is sent; 4 when not given. */
  readonly triesMax?: number;
};

export type CallOptions = {
  /** Ends the call, which then rejects with the signal's reason. A session may have been created nevertheless. */
  readonly signal?: AbortSignal | undefined;
  /** The limit of the whole call with its repeats, in milliseconds. */
  readonly timeoutMs?: number | undefined;
};

/**
 * Repeats a call after a pause when no answer arrived, when the service asked for it, and after a 5xx; a creation
 * always with the same Idempotency-Key, so that it makes one session. Every method rejects with RestError.
 */
export class RestClient {
  readonly #restBase: string;
  readonly #secretKey: string;
  readonly #patience: Patience;
  /** The patience of calls that wait for a gateway. */
  readonly #longPatience: Patience;

  /** Throws TypeError for an invalid address or key. */
  constructor(options: RestClientOptions) {
    this.#restBase = checkRestBase(options.restBase);
    this.#secretKey = checkHeaderText("secretKey", options.secretKey);
    this.#patience = patienceOf(options);
    this.#longPatience = patienceOf({ ...options, tryTimeoutMs: options.tryTimeoutMs ?? gatewayTryTimeoutMs });
  }

  /**
   * Creates a session. Choose an `idempotencyKey`, such as the order's number with the number of the payment attempt:
   * every call with the same key returns the first session for 24 hours. Without one, a key is made for this call
   * alone.
   */
  createSession(
    session: NewPaymentSession,
    options: CallOptions & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<CreatedPaymentSession> {
    return this.#create("/payment-sessions", session, options);
  }

  /** Creates a session that stores a card without a payment. The key is as that of `createSession`. */
  createSetup(
    setup: NewSetup,
    options: CallOptions & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<CreatedPaymentSession> {
    return this.#create("/setup-sessions", setup, options);
  }

  async #create(
    path: string,
    session: object,
    options: CallOptions & { readonly idempotencyKey?: string | undefined },
  ): Promise<CreatedPaymentSession> {
    const idempotencyKey = checkHeaderText("idempotencyKey", options.idempotencyKey ?? crypto.randomUUID());
    const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey };
    const request = { method: "POST", path, headers, body: JSON.stringify(session) } as const;
    try {
      return await this.#call<CreatedPaymentSession>(request, "clientSecret", options);
    } catch (error) {
      if (error instanceof ApiError) error.idempotencyKey = idempotencyKey;
      throw error;
    }
  }

  /** Returns a session with its attempt trail. */
  getSession(sessionId: string, options: CallOptions = {}): Promise<PaymentSession> {
    const path = `/payment-sessions/${encodeURIComponent(sessionId)}`;
    return this.#call<PaymentSession>({ method: "GET", path }, "sessionId", options);
  }

  /**
   * Captures a held payment, whole or in part, and waits for the gateway. A repeat with the same amount captures nothing
   * twice and returns the session as it stands.
   */
  captureSession(
    sessionId: string,
    capture: { readonly amountMinor?: number | undefined } = {},
    options: CallOptions = {},
  ): Promise<PaymentSession> {
    const headers = { "content-type": "application/json" };
    const path = `/payment-sessions/${encodeURIComponent(sessionId)}/capture`;
    return this.#call<PaymentSession>(
      { method: "POST", path, headers, body: JSON.stringify(capture) },
      "sessionId",
      options,
      this.#longPatience,
    );
  }

  /**
   * Cancels a session that was not submitted, or a held payment: nothing is captured. A repeat returns the current
   * session.
   */
  cancelSession(sessionId: string, options: CallOptions = {}): Promise<PaymentSession> {
    const path = `/payment-sessions/${encodeURIComponent(sessionId)}/cancel`;
    return this.#call<PaymentSession>({ method: "POST", path }, "sessionId", options);
  }

  /**
   * Refunds a captured payment, whole or in part. The same `idempotencyKey` names the same refund for ever, so a repeat
   * refunds nothing twice: choose the id of the return in your system.
   */
  async createRefund(
    sessionId: string,
    refund: NewRefund,
    options: CallOptions & { readonly idempotencyKey: string },
  ): Promise<Refund> {
    const idempotencyKey = checkHeaderText("idempotencyKey", options.idempotencyKey);
    const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey };
    const path = `/payment-sessions/${encodeURIComponent(sessionId)}/refunds`;
    const request = { method: "POST", path, headers, body: JSON.stringify(refund) } as const;
    return this.#call<Refund>(request, "refundId", options, this.#longPatience);
  }

  /** Returns a refund. */
  getRefund(sessionId: string, refundId: string, options: CallOptions = {}): Promise<Refund> {
    const path = `/payment-sessions/${encodeURIComponent(sessionId)}/refunds/${encodeURIComponent(refundId)}`;
    return this.#call<Refund>({ method: "GET", path }, "refundId", options);
  }

  /** Returns one page of sessions, newest first. `pageToken` continues after a page with the same filters. */
  listSessions(
    filters: SessionFilters & { readonly pageToken?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<SessionPage> {
    const path = `/payment-sessions${queryOf(filters)}`;
    return this.#call<SessionPage>({ method: "GET", path }, "paymentSessions", options);
  }

  /** Yields every matching session, newest first, and reads pages as they are needed. */
  async *eachSession(filters: SessionFilters = {}, options: CallOptions = {}): AsyncGenerator<PaymentSessionSummary> {
    let pageToken: string | undefined;
    do {
      const page: SessionPage = await this.listSessions({ ...filters, pageToken }, options);
      yield* page.paymentSessions;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  /** Returns one page of disputes, newest first. `pageToken` continues after a page with the same filters. */
  listDisputes(
    filters: DisputeFilters & { readonly pageToken?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<DisputePage> {
    const path = `/disputes${queryOf(filters)}`;
    return this.#call<DisputePage>({ method: "GET", path }, "disputes", options);
  }

  /** Returns a dispute with its movements of money. */
  getDispute(disputeId: string, options: CallOptions = {}): Promise<Dispute> {
    return this.#call<Dispute>(
      { method: "GET", path: `/disputes/${encodeURIComponent(disputeId)}` },
      "disputeId",
      options,
    );
  }

  /** Returns one page of stored cards, newest first. `pageToken` continues after a page with the same filters. */
  listPaymentMethods(
    filters: PaymentMethodFilters & { readonly pageToken?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<PaymentMethodPage> {
    const path = `/payment-methods${queryOf(filters)}`;
    return this.#call<PaymentMethodPage>({ method: "GET", path }, "paymentMethods", options);
  }

  /** Returns a stored card. */
  getPaymentMethod(paymentMethodId: string, options: CallOptions = {}): Promise<PaymentMethod> {
    const path = `/payment-methods/${encodeURIComponent(paymentMethodId)}`;
    return this.#call<PaymentMethod>({ method: "GET", path }, "paymentMethodId", options);
  }

  /** Deletes a stored card for ever. Its agreements need another card then. A repeat is harmless. */
  async deletePaymentMethod(paymentMethodId: string, options: CallOptions = {}): Promise<void> {
    const path = `/payment-methods/${encodeURIComponent(paymentMethodId)}`;
    await this.#call<object>({ method: "DELETE", path }, undefined, options);
  }

  /** Returns one page of agreements, newest first. `pageToken` continues after a page with the same filters. */
  listAgreements(
    filters: AgreementFilters & { readonly pageToken?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<AgreementPage> {
    const path = `/agreements${queryOf(filters)}`;
    return this.#call<AgreementPage>({ method: "GET", path }, "agreements", options);
  }

  /** Returns an agreement with its charges. */
  getAgreement(agreementId: string, options: CallOptions = {}): Promise<Agreement> {
    const path = `/agreements/${encodeURIComponent(agreementId)}`;
    return this.#call<Agreement>({ method: "GET", path }, "agreementId", options);
  }

  /** Ends an agreement for ever. A repeat returns it as it stands. */
  cancelAgreement(agreementId: string, options: CallOptions = {}): Promise<Agreement> {
    const path = `/agreements/${encodeURIComponent(agreementId)}/cancel`;
    return this.#call<Agreement>({ method: "POST", path }, "agreementId", options);
  }

  /**
   * Charges an agreement without the customer, and waits for the gateway. The same `idempotencyKey` names the same try for ever, and a
   * charge is paid once at most, however often it is tried.
   */
  async chargeAgreement(
    agreementId: string,
    charge: NewCharge,
    options: CallOptions & { readonly idempotencyKey: string },
  ): Promise<PaymentSession> {
    const idempotencyKey = checkHeaderText("idempotencyKey", options.idempotencyKey);
    const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey };
    const path = `/agreements/${encodeURIComponent(agreementId)}/payment-sessions`;
    const request = { method: "POST", path, headers, body: JSON.stringify(charge) } as const;
    return this.#call<PaymentSession>(request, "sessionId", options, this.#longPatience);
  }

  /**
   * Makes the link by which the customer pays a charge that is not paid; a charge has one. Send it to the customer
   * alone: its holder can pay with the customer's stored cards.
   */
  createRecoveryLink(agreementId: string, link: NewRecoveryLink, options: CallOptions = {}): Promise<RecoveryLink> {
    const headers = { "content-type": "application/json" };
    const path = `/agreements/${encodeURIComponent(agreementId)}/recovery-links`;
    return this.#call<RecoveryLink>({ method: "POST", path, headers, body: JSON.stringify(link) }, "url", options);
  }

  /** `member` is always present in an answer of the service; without it, the answer is from another server. */
  async #call<Answer>(
    { path, headers, ...request }: Pick<HttpRequest, "method" | "body"> & { path: string; headers?: object },
    member: (keyof Answer & string) | undefined,
    options: CallOptions,
    bounds = this.#patience,
  ): Promise<Answer> {
    const { signal, timeoutMs } = options;
    const send = async (tryTimeoutMs: number) => {
      const authorization = `Bearer ${this.#secretKey}`;
      const whole = { ...request, url: this.#restBase + path, headers: { ...headers, authorization } };
      const answer = await exchange(whole, { timeoutMs: tryTimeoutMs, signal });
      if (answer.status < 200 || answer.status >= 300) throw refusalOf(answer);
      const body = parseObject(answer.text);
      if (body && (member === undefined || body[member] !== undefined)) return body as Answer;
      throw unexpectedAnswer(answer, `The answer is HTTP ${answer.status}, but not the service's.`);
    };
    const patience = patienceOf({ ...bounds, ...(timeoutMs !== undefined && { timeoutMs }) });
    return sendUntilAnswered(send, { ...patience, signal });
  }
}

function queryOf(filters: object): string {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  const pairs = given.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]);
  return pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : "";
}

// fetch would repeat an invalid address in its error, and with it a password.
function checkRestBase(restBase: string): string {
  const url = URL.canParse(restBase) ? new URL(restBase) : undefined;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (isPlain && /^https?:$/.test(url.protocol)) return restBase.replace(/\/+$/, "");
  throw new TypeError("restBase must be an http or https address without user, query and fragment.");
}
