/** The calls of the straight service: the vault and the gateways, over connections that stay open. */
import { Agent, request } from "undici";
import type { ForwardAnswer, ForwardBody } from "./forward.ts";
import { type Authorized, type GatewayAccount, type GatewayPayment, gateways } from "./gateways.ts";
import { signText } from "./macs.ts";

const timeoutMs = 12_000;
const tokenLifetimeMs = 60_000;

/** The answer to an authorization, with the part of the card that may be shown. */
type AuthorizedCard = { readonly answer: Authorized; readonly brand: string; readonly last4: string };

export class StraightCalls {
  readonly #options: { readonly vaultOrigin: string; readonly sandboxOrigin: string; readonly serviceKey: string };
  readonly #agent = new Agent();

  constructor(options: { vaultOrigin: string; sandboxOrigin: string; serviceKey: string }) {
    this.#options = options;
  }

  /** Authorizes at the gateway through the vault. Throws unless the gateway holds or declines this payment. */
  async authorize(
    { gateway, account }: GatewayAccount,
    payment: GatewayPayment,
    card: { sessionId: string; token: string },
  ): Promise<AuthorizedCard> {
    const { authorize, readAuthorized } = gateways[gateway];
    const asked: ForwardBody = { ...card, gateway, request: authorize(account, payment) };
    const text = await this.#callVault("/forward", asked);
    const { status, body, brand, last4 } = JSON.parse(text) as ForwardAnswer;
    return { answer: readAuthorized(status, body, payment), brand, last4 };
  }

  /** Captures a hold; returns false if a notification reports the result. */
  async capture({ gateway, account }: GatewayAccount, payment: GatewayPayment, reference: string): Promise<boolean> {
    const { capture, readCaptured } = gateways[gateway];
    const { path, headers, body } = capture(account, payment, reference);
    const { status, text } = await this.#post(this.#options.sandboxOrigin + path, headers, body);
    return readCaptured(status, text, payment);
  }

  async forget(sessionId: string): Promise<void> {
    await this.#callVault("/forget", { sessionId });
  }

  async #callVault(path: string, message: object): Promise<string> {
    const token = signText(this.#options.serviceKey, "service", String(Date.now() + tokenLifetimeMs));
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const { status, text } = await this.#post(this.#options.vaultOrigin + path, headers, JSON.stringify(message));
    if (status >= 300) throw new Error(`the vault answered ${path} with ${status}`);
    return text;
  }

  async #post(url: string, headers: Readonly<Record<string, string>>, body: string) {
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await request(url, { dispatcher: this.#agent, method: "POST", headers, body, signal });
    return { status: answer.statusCode, text: await answer.body.text() };
  }
}
