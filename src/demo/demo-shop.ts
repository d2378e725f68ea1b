/** The first merchant's shop in test, with customers who pay by test cards, through the API as any shop would. */
import { setTimeout as pause } from "node:timers/promises";
import { Agent, request } from "undici";
import { RestClient } from "../client/merchant/rest-client.ts";
import type { DemoFile } from "./demo-file.ts";
import type { PlannedPayment } from "./traffic-plan.ts";

// Longer than the time after which a submission answers that it is still in progress.
const submitTimeoutMs = 40_000;
// A payment has ended long before, and a few looks find its end.
const looksMax = 60;
const lookAgainMs = 250;

// The description of the customer's browser, as a page sends it.
const browser = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1_280,
  screenHeight: 800,
  timeZoneOffsetMinutes: 0,
  language: "en-GB",
};

type Checkout = {
  readonly status: string;
  readonly outcome?: object;
  readonly nextAction?: { readonly authenticationId: string };
};

type Customer = { readonly secret: string; readonly sessionId: string; readonly dispatcher: Agent };

/** The shop. Close it afterwards. */
export class DemoShop {
  readonly #file: DemoFile;
  readonly #signal: AbortSignal;
  readonly #api: RestClient;
  // The vault limits the cards of an address: customers come from many, and loopback has many too.
  readonly #addresses = Array.from({ length: 60 }, (_, number) => new Agent({ localAddress: `127.0.0.${number + 2}` }));

  /** `signal` ends every call. */
  constructor(file: DemoFile, signal: AbortSignal) {
    this.#file = file;
    this.#signal = signal;
    this.#api = new RestClient({ restBase: file.restBase, secretKey: file.merchants[0]!.test.secretKey });
  }

  /** Makes a payment with what follows it, and resolves with its status. `visitor` chooses the customer's address. */
  async sell(payment: PlannedPayment, visitor: number): Promise<{ sessionId: string; status: string }> {
    const { orderRef, amountMinor, currency, card, atBank, hold, refund } = payment;
    const capture = hold === undefined ? {} : ({ capture: "manual" } as const);
    const signal = this.#signal;
    const session = await this.#api.createSession({ orderRef, amountMinor, currency, ...capture }, { signal });
    const { sdkUrl, sdkAuthorization } = session.vault as { sdkUrl: string; sdkAuthorization: string };
    const entered = { number: card, expMonth: 4, expYear: new Date().getUTCFullYear() + 3 };
    const cvc = card.length === 15 ? "1234" : "123";
    const dispatcher = this.#addresses[visitor % this.#addresses.length]!;
    const tokens = `${new URL(sdkUrl).origin}/tokens`;
    const { token } = await this.#post(tokens, sdkAuthorization, { ...entered, cvc }, dispatcher);
    const { sessionId, clientSecret } = session;
    const customer = { secret: clientSecret, sessionId, dispatcher };
    const submitted = { vaultToken: token, ...(atBank && { browser }) };
    let checkout = await this.#call(customer, "SubmitPayment", submitted);
    if (checkout.nextAction && atBank) {
      await this.#answerAtBank(customer, checkout.nextAction.authenticationId, atBank);
      checkout = await this.#waitForEnd(customer);
    }
    const half = Math.floor(amountMinor / 2);
    // A hold that was never made has nothing to capture or cancel.
    if (hold === undefined || hold === "waits" || checkout.status !== "CREATED") {
      if (refund && checkout.status === "SUCCEEDED") {
        const part = refund === "part" ? { amountMinor: half } : {};
        await this.#api.createRefund(sessionId, part, { idempotencyKey: `${orderRef}-return`, signal });
      }
      return { sessionId, status: hold === "waits" && checkout.status === "CREATED" ? "HELD" : checkout.status };
    }
    const { status } =
      hold === "cancelled"
        ? await this.#api.cancelSession(sessionId, { signal })
        : await this.#api.captureSession(sessionId, hold === "captured" ? {} : { amountMinor: half }, { signal });
    return { sessionId, status };
  }

  async #call({ secret, sessionId, dispatcher }: Customer, rpc: string, fields: object): Promise<Checkout> {
    const url = `${this.#file.connectOrigin}/payments.v1.CheckoutService/${rpc}`;
    const answer = await this.#post(url, secret, { sessionId, ...fields }, dispatcher);
    return (answer.checkout ?? answer) as Checkout;
  }

  /** Opens the bank's page as the widget does, answers there, and follows the bank's way back. */
  async #answerAtBank(customer: Customer, authenticationId: string, answer: "passes" | "fails" | "cancels") {
    const { dispatcher } = customer;
    const opened = await this.#call(customer, "OpenAction", { authenticationId });
    const open = `${this.#file.connectOrigin}/authentication/test/open`;
    const { url } = await this.#post(open, "", opened, dispatcher);
    const page = await this.#get(String(url), dispatcher);
    const code = /The code is (\w+)/.exec(page)?.[1];
    const form = answer === "cancels" ? { cancel: "1" } : { code: answer === "passes" ? String(code) : "wrong" };
    const { headers, body } = await request(String(url), {
      dispatcher,
      method: "POST",
      body: new URLSearchParams(form).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
      signal: this.#within(),
    });
    await body.dump();
    if (typeof headers.location === "string") await this.#get(headers.location, dispatcher);
  }

  async #waitForEnd(customer: Customer): Promise<Checkout> {
    for (let looks = 0; looks < looksMax; looks++) {
      const checkout = await this.#call(customer, "GetCheckout", {});
      if (checkout.status !== "CREATED" || checkout.outcome) return checkout;
      await pause(lookAgainMs, undefined, { signal: this.#signal });
    }
    throw new Error(`${customer.sessionId} has not ended after its authentication`);
  }

  async #post(url: string, secret: string, body: object, dispatcher: Agent): Promise<Record<string, unknown>> {
    const answer = await request(url, {
      dispatcher,
      method: "POST",
      headers: { "content-type": "application/json", ...(secret && { authorization: `Bearer ${secret}` }) },
      body: JSON.stringify(body),
      signal: this.#within(),
    });
    // The body could hold a secret; its address and status are enough to find it in the logs.
    if (answer.statusCode >= 300) throw new Error(`${new URL(url).pathname} answered ${answer.statusCode}`);
    return (await answer.body.json()) as Record<string, unknown>;
  }

  async #get(url: string, dispatcher: Agent): Promise<string> {
    const answer = await request(url, { dispatcher, signal: this.#within() });
    return answer.body.text();
  }

  #within(): AbortSignal {
    return AbortSignal.any([this.#signal, AbortSignal.timeout(submitTimeoutMs)]);
  }

  /** Ends the connections of the customers. */
  async close(): Promise<void> {
    await Promise.all(this.#addresses.map((agent) => agent.destroy()));
  }
}
