/** A CheckoutService over real HTTP whose answers a test decides. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import {
  type Browser,
  type Checkout,
  CheckoutSchema,
  CheckoutService,
  type ListStoredCardsResponse,
  ListStoredCardsResponseSchema,
  NextAction_Framing,
  NextActionSchema,
  OutcomeSchema,
  type SaveCardConsent,
} from "../../../gen/payments/v1/checkout_pb.ts";
import {
  PaymentSession_ExpiredBecause,
  PaymentSession_Status as Status,
} from "../../../gen/payments/v1/payment_session_pb.ts";

/** The session that the emulator begins with, and below it its client secret. */
export const emulatorSession = "ps_01k0emulator";
export const emulatorClientSecret = clientSecretOf(emulatorSession);

/** The emulator accepts any session whose id begins like its own: a fresh one after `reopen`. */
export function clientSecretOf(sessionId: string): string {
  return `${sessionId}_secret_t1_abcdef`;
}

/** A refusal in the service's form: with its own detail, which no intermediary adds. */
export function refusalOf(code: Code, reason: string): ConnectError {
  return new ConnectError(reason.toLowerCase(), code, undefined, [{ desc: ErrorInfoSchema, value: { reason } }]);
}

/** The vault's address that the emulator returns, and the handler of other requests. */
export type CheckoutEmulatorOptions = {
  readonly vaultOrigin: string;
  /** Answers requests that are no RPC. */
  readonly fallback?: RequestListener;
};

const answerNotFound: RequestListener = (_request, response) => void response.writeHead(404).end();

/** An open session of 49.00 EUR. Its fields change during a test. */
export class CheckoutEmulator {
  readonly checkout: Checkout;
  /** Tokens of all SubmitPayment calls, in order. */
  readonly submitted: string[] = [];
  /** The consents of all SubmitPayment calls, in order. */
  readonly consents: (Pick<SaveCardConsent, "template" | "locale"> | undefined)[] = [];
  /** The stored cards of the customer, and the choice of storing another. */
  stored: ListStoredCardsResponse = create(ListStoredCardsResponseSchema, { securityCodeRequired: true });
  /** Returns the token of a stored card; by default the card no longer exists. */
  onUse: (paymentMethodId: string) => string | Promise<string> = () => {
    throw refusalOf(Code.NotFound, "NOT_FOUND");
  };
  /** The browser of the last SubmitPayment call. */
  browser: Browser | undefined;
  looks = 0;
  /** The merchant's key that calls must have; any if undefined. */
  publishableKey: string | undefined;
  /** The number of next calls of either kind to refuse, each with this Retry-After. */
  limited = { calls: 0, retryAfter: "" };
  /**
   * The number of next calls of either kind that a firewall answers in the service's place: a page of HTML with this
   * status.
   */
  walled = { calls: 0, status: 403 };
  /** Decides each submit; by default it is accepted and `processing` from then on. */
  onSubmit: (vaultToken: string) => Checkout | Promise<Checkout> = () => this.takeUp();
  /** Holds the answers of OpenAction. */
  opening = Promise.resolve();
  readonly #server: Server;
  /** Cross-origin access for browsers, as the edge grants it. */
  readonly #cors = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers":
      "authorization, publishable-key, content-type, connect-protocol-version, connect-timeout-ms",
    "Access-Control-Expose-Headers": "retry-after",
  };

  private constructor({ vaultOrigin, fallback = answerNotFound }: CheckoutEmulatorOptions) {
    this.checkout = create(CheckoutSchema, {
      sessionId: emulatorSession,
      amountMinor: 4900n,
      currency: "EUR",
      merchantName: "Demo shop",
      status: Status.CREATED,
      vaultOrigin,
    });
    const handle = connectNodeAdapter({
      fallback: (request, response) => fallback(request as IncomingMessage, response as ServerResponse),
      routes: (router) =>
        router.service(CheckoutService, {
          getCheckout: (_request, { requestHeader }) => {
            this.#authenticate(requestHeader);
            this.#limit();
            this.looks += 1;
            return { checkout: this.checkout };
          },
          listStoredCards: (_request, { requestHeader }) => {
            this.#authenticate(requestHeader);
            return this.stored;
          },
          useStoredCard: async ({ paymentMethodId }, { requestHeader }) => {
            this.#authenticate(requestHeader);
            return { vaultToken: await this.onUse(paymentMethodId) };
          },
          submitPayment: async ({ vaultToken, browser, saveCard }, { requestHeader }) => {
            this.#authenticate(requestHeader);
            this.#limit();
            this.submitted.push(vaultToken);
            this.consents.push(saveCard && { template: saveCard.template, locale: saveCard.locale });
            this.browser = browser;
            return { checkout: await this.onSubmit(vaultToken) };
          },
          openAction: async (_request, { requestHeader }) => {
            this.#authenticate(requestHeader);
            await this.opening;
            const path = `${this.origin}/authentication/test`;
            return { ticket: "ticket", frameUrl: `${path}/frame`, windowUrl: `${path}/window#ticket` };
          },
          cancelAction: (_request, { requestHeader }) => {
            this.#authenticate(requestHeader);
            return { checkout: this.decline("authentication_failed") };
          },
        }),
    });
    this.#server = createServer((request, response) => {
      for (const [name, value] of Object.entries(this.#cors)) response.setHeader(name, value);
      if (request.method === "OPTIONS") response.writeHead(204).end();
      else if (request.method === "POST" && this.walled.calls-- > 0)
        response.writeHead(this.walled.status, { "Content-Type": "text/html" }).end("<h1>Blocked</h1>");
      else handle(request, response);
    });
  }

  static async start(options: CheckoutEmulatorOptions): Promise<CheckoutEmulator> {
    const emulator = new CheckoutEmulator(options);
    await new Promise<void>((resolve) => emulator.#server.listen(0, "127.0.0.1", resolve));
    return emulator;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Gives the customer this many stored cards, of which one is an American Express card. */
  store(count: number, saving?: { readonly agreementText?: string; readonly isSetUp?: boolean }): void {
    const brands = ["visa", "mastercard", "amex"];
    const storedCards = Array.from({ length: count }, (_, index) => ({
      paymentMethodId: `pm_${index + 1}`,
      brand: brands[index % 3]!,
      last4: String(4242 + index),
      expMonth: index + 1,
      expYear: 2031,
    }));
    this.stored = create(ListStoredCardsResponseSchema, { storedCards, securityCodeRequired: true, saving });
  }

  takeUp(): Checkout {
    this.checkout.processing = true;
    return this.checkout;
  }

  /** Accepts a submit, and asks for the customer: with the whole time left, in a frame, unless `action` says otherwise. */
  ask(action: MessageInitShape<typeof NextActionSchema> = {}): Checkout {
    const { FRAME } = NextAction_Framing;
    const asked = { authenticationId: "atn_1", framing: FRAME, expiresInSeconds: 600, ...action };
    this.checkout.nextAction = create(NextActionSchema, asked);
    return this.takeUp();
  }

  /** Replaces the session by a fresh one of the same order. */
  reopen(): void {
    this.checkout.outcome = undefined;
    this.#end(Status.CREATED);
  }

  succeed(): Checkout {
    const value = { capturedVia: "SANDBOX_B", failoverUsed: true };
    this.checkout.outcome = create(OutcomeSchema, { outcome: { case: "success", value } });
    return this.#end(Status.SUCCEEDED);
  }

  decline(declineCode: string): Checkout {
    this.checkout.outcome = create(OutcomeSchema, { outcome: { case: "decline", value: { declineCode } } });
    return this.#end(Status.DECLINED);
  }

  degrade(): Checkout {
    return this.#end(Status.DEGRADED);
  }

  expire(because: PaymentSession_ExpiredBecause = PaymentSession_ExpiredBecause.LIFETIME): Checkout {
    this.checkout.expiredBecause = because;
    return this.#end(Status.EXPIRED);
  }

  /** Cuts every connection, so that callers get no answer at all. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /**
   * Stops answering, with every connection cut, until the returned function is called; then listens again at the same
   * address.
   */
  async goAway(): Promise<() => Promise<void>> {
    const { port } = this.#server.address() as AddressInfo;
    await this.close();
    return () => new Promise((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #end(status: Status): Checkout {
    this.checkout.status = status;
    this.checkout.processing = false;
    this.checkout.nextAction = undefined;
    return this.checkout;
  }

  #limit(): void {
    if (this.limited.calls === 0) return;
    this.limited.calls -= 1;
    throw new ConnectError("too many requests", Code.ResourceExhausted, { "Retry-After": this.limited.retryAfter });
  }

  #authenticate(headers: Headers): void {
    const [, sessionId = ""] = /^Bearer (ps_\w+?)_secret_/.exec(headers.get("Authorization") ?? "") ?? [];
    const isRight = headers.get("Authorization") === `Bearer ${clientSecretOf(sessionId)}`;
    if (!isRight || !sessionId.startsWith(emulatorSession)) {
      throw refusalOf(Code.Unauthenticated, "INVALID_CLIENT_SECRET");
    }
    const key = headers.get("Publishable-Key");
    if (this.publishableKey !== undefined && key !== this.publishableKey) {
      throw refusalOf(Code.Unauthenticated, "INVALID_KEY");
    }
  }
}
