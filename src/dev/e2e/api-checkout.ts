/** A checkout without a browser: sends the requests of shop backend, card frame and widget as plain HTTP. */
import { randomUUID } from "node:crypto";
import type {
  BrowserJson,
  GetCheckoutResponseJson,
  SaveCardConsentJson,
} from "../../../gen/payments/v1/checkout_pb.ts";
import type {
  CreatePaymentSessionResponseJson,
  PaymentSessionJson,
} from "../../../gen/payments/v1/payment_session_pb.ts";
import type { DemoFile } from "../../demo/demo-file.ts";
import { requireDocumented } from "../testing/edge/documented-answers.ts";

/** The create answer, with the fields that a checkout requires. */
export type OpenedSession = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly vault: { readonly sdkUrl: string; readonly sdkAuthorization: string; readonly publishableKey: string };
};

/** A customer's browser as the widget describes it: with it, gateways may challenge the customer. */
export const describedBrowser = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1_280,
  screenHeight: 800,
  timeZoneOffsetMinutes: 0,
  language: "en",
} satisfies BrowserJson;

export type CheckoutState = NonNullable<GetCheckoutResponseJson["checkout"]>;

/** A checkout in test of the demo's first merchant, or of the given key. */
export class ApiCheckout {
  readonly #file: DemoFile;
  readonly #secretKey: string;

  constructor(file: DemoFile, secretKey = file.merchants[0]!.test.secretKey) {
    this.#file = file;
    this.#secretKey = secretKey;
  }

  /** Sends a create request and returns the raw answer, which is as documented. */
  async create(fields: object = {}, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const response = await fetch(`${this.#file.restBase}/payment-sessions`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#secretKey}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: `order-${randomUUID()}`, ...fields }),
    });
    return asDocumented("POST", response);
  }

  async open(fields: object = {}, headers: Readonly<Record<string, string>> = {}): Promise<OpenedSession> {
    return (await expectOk(await this.create(fields, headers))) as OpenedSession & CreatePaymentSessionResponseJson;
  }

  async tokenize(
    { vault }: Pick<OpenedSession, "vault">,
    number: string,
    cvc = number.length === 15 ? "1234" : "123",
    more: object = {},
  ): Promise<string> {
    const response = await fetch(`${new URL(vault.sdkUrl).origin}/tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${vault.sdkAuthorization}`, "content-type": "application/json" },
      body: JSON.stringify({ number, expMonth: 4, expYear: new Date().getUTCFullYear() + 3, cvc, ...more }),
    });
    return ((await expectOk(response)) as { token: string }).token;
  }

  /** Waits for the outcome as the widget does: up to 20 s. With a browser, until a customer has to act. */
  async submit(
    session: OpenedSession,
    vaultToken: string,
    browser?: BrowserJson,
    saveCard?: SaveCardConsentJson,
  ): Promise<CheckoutState> {
    const { sessionId, clientSecret } = session;
    const response = await fetch(`${this.#file.connectOrigin}/payments.v1.CheckoutService/SubmitPayment`, {
      method: "POST",
      headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json" },
      body: JSON.stringify({ sessionId, vaultToken, browser, saveCard }),
    });
    return ((await expectOk(response)) as { checkout: CheckoutState }).checkout;
  }

  /** Looks at the session as the widget does when it is mounted, in a page of this origin if one is given. */
  async look({ sessionId, clientSecret }: OpenedSession, origin?: string): Promise<CheckoutState> {
    const page = origin === undefined ? {} : { origin };
    const response = await fetch(`${this.#file.connectOrigin}/payments.v1.CheckoutService/GetCheckout`, {
      method: "POST",
      headers: { ...page, authorization: `Bearer ${clientSecret}`, "content-type": "application/json" },
      body: JSON.stringify({ sessionId }),
    });
    return ((await expectOk(response)) as { checkout: CheckoutState }).checkout;
  }

  async pay(number: string, fields: object = {}): Promise<PaymentSessionJson> {
    const session = await this.open(fields);
    await this.submit(session, await this.tokenize(session, number));
    return this.read(session.sessionId);
  }

  /** Charges an agreement, as a merchant's server does, under its own key. */
  async charge(agreementId: string, fields: object): Promise<PaymentSessionJson> {
    const response = await fetch(`${this.#file.restBase}/agreements/${agreementId}/payment-sessions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.#secretKey}`,
        "content-type": "application/json",
        "idempotency-key": randomUUID(),
      },
      body: JSON.stringify(fields),
    });
    return (await expectOk(await asDocumented("POST", response))) as PaymentSessionJson;
  }

  /** Sends a refund request and returns the raw answer, which is as documented. */
  async refund(sessionId: string, key: string | undefined, fields: object = {}): Promise<Response> {
    const response = await fetch(`${this.#file.restBase}/payment-sessions/${sessionId}/refunds`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.#secretKey}`,
        "content-type": "application/json",
        ...(key !== undefined && { "idempotency-key": key }),
      },
      body: JSON.stringify(fields),
    });
    return asDocumented("POST", response);
  }

  async read(sessionId: string): Promise<PaymentSessionJson> {
    const response = await fetch(`${this.#file.restBase}/payment-sessions/${sessionId}`, {
      headers: { authorization: `Bearer ${this.#secretKey}` },
    });
    return (await expectOk(await asDocumented("GET", response))) as PaymentSessionJson;
  }
}

async function asDocumented(method: string, response: Response): Promise<Response> {
  const { url, status, headers } = response;
  requireDocumented({ method, target: new URL(url).pathname, status, headers, text: await response.clone().text() });
  return response;
}

async function expectOk(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} from ${new URL(response.url).pathname}: ${text}`);
  return JSON.parse(text);
}
