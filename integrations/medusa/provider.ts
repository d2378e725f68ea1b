/** The payment provider: Medusa's IPaymentProvider on payment sessions. Each answer is the API's, none the browser's. */
import { ApiError } from "../../src/client/merchant/api-error.ts";
import type { NewPaymentSession, PaymentSession } from "../../src/client/merchant/payment-session.ts";
import { RestClient } from "../../src/client/merchant/rest-client.ts";
import { type ReceivedWebhook, verifyWebhook } from "../../src/client/merchant/verify-webhook.ts";
import type { WebhookEvent } from "../../src/client/merchant/webhook-event.ts";
import { currencyOf, decimalOf, decimalText, exactMinor, refusal, roundedMinor } from "./amounts.ts";
import { requireCartCheck } from "./cart-check.ts";

export type Options = {
  /** The service's origin, for this server and for the customer's browser. */
  readonly apiOrigin: string;
  readonly secretKey: string;
  /** The signing secret of the webhook endpoint; both during a rotation. */
  readonly webhookSecret: string | readonly string[];
  /** `manual` holds the amount until it is captured in Medusa. The default is `automatic`. */
  readonly capture?: "automatic" | "manual";
};

/** The rows that Medusa does not pass to a provider, from the payment module's own container. */
type Rows<Row> = {
  list(filters: { readonly id: string }, config: { readonly select: string[] }): Promise<readonly Row[]>;
};
export type Cradle = {
  readonly paymentSessionService: Rows<{ readonly payment_collection_id: string }>;
  readonly captureService: Rows<{ readonly raw_amount: unknown }>;
};

type Data = Readonly<Record<string, unknown>>;
type Input = {
  readonly data?: Data | undefined;
  readonly context?: { readonly idempotency_key?: string; readonly customer?: { readonly email?: string } };
};
type AmountInput = Input & { readonly amount: unknown; readonly currency_code: string };

type Status = "authorized" | "captured" | "pending" | "requires_more" | "error" | "canceled";
type Action = "authorized" | "captured" | "failed" | "pending" | "canceled" | "not_supported";

/** What `data` of a payment session in Medusa holds. The store API returns it to the customer's page. */
type SessionData = {
  readonly session_id: string;
  readonly sessionId: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** The amount as Medusa has it, which may have more decimals. */
  readonly amount: string;
  /** The capture in Medusa that the payment was captured for. */
  readonly captureId?: string;
};

/** The key of a session's metadata with the id of Medusa's payment session. */
const medusaSession = "medusa_payment_session";

const actions: Partial<Record<WebhookEvent["type"], Action>> = {
  "payment_session.succeeded": "captured",
  "payment_session.held": "authorized",
  "payment_session.declined": "failed",
  "payment_session.degraded": "failed",
  "payment_session.expired": "canceled",
  "payment_session.pending": "pending",
};

export class SwitchyardProvider {
  static readonly identifier = "switchyard";
  readonly #rows: Cradle;
  readonly #options: Options;
  readonly #payments: RestClient;

  static validateOptions(options: Partial<Options> | undefined): void {
    const names = ["apiOrigin", "secretKey", "webhookSecret"] as const;
    const missing = names.filter((name) => !options?.[name]?.length);
    if (missing.length > 0) throw new Error(`Options of the payment provider are missing: ${missing.join(", ")}.`);
    if (["automatic", "manual", undefined].includes(options?.capture)) return;
    throw new Error("The payment provider's option capture must be automatic or manual.");
  }

  constructor(cradle: Cradle, options: Options) {
    this.#rows = cradle;
    this.#options = options;
    this.#payments = new RestClient({ restBase: `${options.apiOrigin}/api/v1`, secretKey: options.secretKey });
  }

  getIdentifier(): string {
    return SwitchyardProvider.identifier;
  }

  async initiatePayment({ amount, currency_code, data, context }: AmountInput) {
    requireCartCheck();
    // The other fields of `data` are the customer's own.
    const session_id = String(data?.session_id);
    const collection = await this.#collectionOf(session_id);
    if (collection === undefined) throw refusal(`Medusa has no payment session ${session_id}.`);
    const { currency, decimals } = currencyOf(currency_code);
    const session = {
      amountMinor: roundedMinor(amount, decimals),
      currency,
      // One for all payments of a cart, so that it is paid once.
      orderRef: collection,
      customerEmail: context?.customer?.email,
      capture: this.#options.capture,
      metadata: { [medusaSession]: session_id },
    };
    return this.#create(session, { key: context?.idempotency_key ?? session_id, amount: decimalText(amount) });
  }

  async updatePayment({ amount, currency_code, data, context }: AmountInput) {
    const { sessionId } = dataOf(data);
    const old = await this.#read(sessionId);
    const { currency, decimals } = currencyOf(currency_code);
    const amountMinor = roundedMinor(amount, decimals);
    if (old.amountMinor === amountMinor && old.currency === currency) return { status: statusOf(old), data };
    const { orderRef, capture, metadata } = old;
    const customerEmail = context?.customer?.email ?? old.customerEmail;
    const session = { amountMinor, currency, orderRef, customerEmail, capture, metadata, replaces: sessionId };
    return this.#create(session, { key: `${sessionId}-${amountMinor}-${currency}`, amount: decimalText(amount) });
  }

  /** Ends a session that is not paid, or refunded. Another stays: customers can ask for the deletion. */
  async deletePayment({ data }: Input) {
    if (data?.sessionId === undefined) return { data };
    const { sessionId } = dataOf(data);
    const { held, status, amountCapturedMinor, amountRefundedMinor } = await this.#read(sessionId);
    if (status === "SUCCEEDED" && amountRefundedMinor === amountCapturedMinor) return { data };
    if (held !== undefined || status === "SUCCEEDED") throw refusal(`The payment ${sessionId} is paid.`);
    await this.#cancel(sessionId);
    return { data };
  }

  async cancelPayment({ data }: Input) {
    if (data?.sessionId !== undefined) await this.#cancel(dataOf(data).sessionId);
    return { data };
  }

  authorizePayment(input: Input) {
    return this.getPaymentStatus(input);
  }

  async getPaymentStatus({ data }: Input) {
    const status = statusOf(await this.#read(dataOf(data).sessionId));
    if (status === "pending" || status === "requires_more") return { status, data };
    // The page needs them no more.
    const { clientSecret: _, vault: __, ...kept } = { ...data };
    return { status, data: kept };
  }

  async retrievePayment({ data }: Input) {
    return { data: { ...(await this.#read(dataOf(data).sessionId)) } };
  }

  async capturePayment({ data, context }: Input) {
    const known = dataOf(data);
    const { sessionId, captureId } = known;
    const session = await this.#read(sessionId);
    if (session.capture === "automatic" && session.status === "SUCCEEDED") return { data };
    const id = String(context?.idempotency_key);
    if (captureId !== undefined && captureId !== id) {
      throw refusal(`The payment ${sessionId} was captured, and can be captured once.`);
    }
    // Medusa does not pass the amount: without it, a capture of a part would take the whole.
    const [capture] = await this.#rows.captureService.list({ id }, { select: ["id", "raw_amount"] });
    if (capture === undefined) throw refusal(`Medusa has no capture ${id}.`);
    const amountMinor = minorOf(capture.raw_amount, known);
    const { status } = await this.#call(() => this.#payments.captureSession(sessionId, { amountMinor }));
    if (status === "CREATED")
      throw refusal(`The capture of ${sessionId} is ordered, and not confirmed yet: repeat it.`);
    if (status !== "SUCCEEDED") throw refusal(`The gateway refused the capture of ${sessionId}; the hold is voided.`);
    return { data: { ...data, captureId: id } };
  }

  async refundPayment({ amount, data, context }: Input & { readonly amount: unknown }) {
    const known = dataOf(data);
    const idempotencyKey = String(context?.idempotency_key);
    const refund = { amountMinor: minorOf(amount, known), refundRef: idempotencyKey };
    const made = await this.#call(() => this.#payments.createRefund(known.sessionId, refund, { idempotencyKey }));
    if (made.status === "FAILED") throw refusal(`The refund ${made.refundId} failed: ${made.failureCode}.`);
    return { data };
  }

  /** Throws for a webhook that the service has not signed. Medusa then reads the session before it makes an order. */
  async getWebhookActionAndData(webhook: { readonly rawData: string | Uint8Array; readonly headers: unknown }) {
    const headers = webhook.headers as ReceivedWebhook["headers"];
    const event = verifyWebhook({ body: webhook.rawData, headers, secrets: this.#options.webhookSecret });
    const action = actions[event.type];
    if (action === undefined) return { action: "not_supported" as const };
    const { sessionId, currency, amountMinor, amountCapturedMinor, ...session } = event.data as PaymentSession;
    const session_id = session.metadata[medusaSession];
    // Another shop's with the same account, or a part that Medusa itself has captured and counted.
    const isPart = action === "captured" && amountCapturedMinor !== amountMinor;
    if (session_id === undefined || isPart) return { action: "not_supported" as const };
    const isPaid = action === "captured" || action === "authorized";
    // Without this row, Medusa's workflow would complete another cart.
    if (isPaid && (await this.#collectionOf(session_id)) === undefined) {
      throw new Error(`${sessionId} is paid, but Medusa has no payment session ${session_id} any more: refund it.`);
    }
    return { action, data: { session_id, amount: decimalOf(amountMinor, currencyOf(currency).decimals) } };
  }

  async #create(session: NewPaymentSession, { key, amount }: { readonly key: string; readonly amount: string }) {
    const created = await this.#call(() => this.#payments.createSession(session, { idempotencyKey: key }));
    const { sessionId, clientSecret, vault, amountMinor, currency } = created;
    const session_id = session.metadata?.[medusaSession];
    const apiBase = this.#options.apiOrigin;
    const data = { session_id, apiBase, sessionId, clientSecret, vault, amountMinor, currency, amount };
    return { id: sessionId, status: "pending" as const, data };
  }

  #read(sessionId: string): Promise<PaymentSession> {
    return this.#call(() => this.#payments.getSession(sessionId));
  }

  /** Cancels a session or voids its hold; does nothing if it has ended without a payment. */
  async #cancel(sessionId: string): Promise<void> {
    await this.#call(() =>
      this.#payments.cancelSession(sessionId).catch((error) => {
        const hasEnded = error instanceof ApiError && error.code === "session_ended";
        if (!hasEnded || error.state?.status === "SUCCEEDED") throw error;
      }),
    );
  }

  async #collectionOf(id: string): Promise<string | undefined> {
    const [row] = await this.#rows.paymentSessionService.list({ id }, { select: ["id", "payment_collection_id"] });
    return row?.payment_collection_id;
  }

  async #call<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof ApiError ? refusal(`${error.message} (${error.code})`, error) : error;
    }
  }
}

function dataOf(data: Data | undefined): SessionData {
  if (typeof data?.sessionId === "string") return data as SessionData;
  throw refusal("The payment has no session of this provider.");
}

/** Returns minor units of an amount that Medusa captures or refunds: the whole, as it was charged, or an exact part. */
function minorOf(amount: unknown, { amount: whole, amountMinor, currency }: SessionData): number {
  if (decimalText(amount) === whole) return amountMinor;
  return exactMinor(amount, currencyOf(currency).decimals);
}

function statusOf(session: PaymentSession): Status {
  const { status, held, awaitingCustomer, amountCapturedMinor, amountRefundedMinor, amountMinor } = session;
  switch (status) {
    case "SUCCEEDED":
      // Otherwise a cart that Medusa has refunded could be completed by the payment.
      if (amountRefundedMinor === amountCapturedMinor) return "canceled";
      return amountCapturedMinor === amountMinor ? "captured" : "authorized";
    case "CREATED":
      if (held !== undefined) return "authorized";
      return awaitingCustomer === undefined ? "pending" : "requires_more";
    case "EXPIRED":
      return "canceled";
    default:
      return "error";
  }
}
