/** Tries out the security codes of one card at the shop, as a card tester does: with a new session for each. */
import { randomBytes } from "node:crypto";
import type { PaymentSession } from "../client/merchant/payment-session.ts";
import type { RestClient } from "../client/merchant/rest-client.ts";
import { product } from "./products.ts";

/** A code, with what the page that tried it shows, and what the shop's backend reads. */
export type Try = {
  readonly code: string;
  readonly shown: string;
  readonly session: PaymentSession;
};

// A page of more would not be read.
const triesKept = 200;
// Longer than a submission waits for its outcome.
const callTimeoutMs = 40_000;

type Addresses = { readonly apiOrigin: string; readonly vaultOrigin: string };
type Submitted = { checkout?: { outcome?: { decline?: { declineCode: string } } } };

/** The tries, newest first, and the run that makes them. */
export class CardTester {
  readonly #addresses: Addresses;
  readonly #onChange = new Set<() => void>();
  readonly #stopping = new AbortController();
  tries: readonly Try[] = [];
  left = 0;
  problem: string | undefined;

  constructor(addresses: Addresses) {
    this.#addresses = addresses;
  }

  /** Tries the next codes of a card, one after another, in the background. Does nothing while a run is under way. */
  start(api: RestClient, { number, times }: { readonly number: string; readonly times: number }): void {
    if (this.left > 0) return;
    this.left = times;
    this.problem = undefined;
    void this.#run(api, number).catch((error: unknown) => {
      this.problem = error instanceof Error ? error.message : String(error);
      this.left = 0;
      this.#report();
    });
  }

  async #run(api: RestClient, number: string): Promise<void> {
    for (; this.left > 0 && !this.#stopping.signal.aborted; this.left--) {
      const code = String(100 + (this.tries.length % 900));
      const made = await this.#tryCode(api, number, code);
      this.tries = [made, ...this.tries].slice(0, triesKept);
      this.#report();
    }
    this.#report();
  }

  async #tryCode(api: RestClient, number: string, code: string): Promise<Try> {
    const { amountMinor, currency } = product;
    const orderRef = `RH-test-${randomBytes(6).toString("hex")}`;
    const { sessionId, clientSecret, vault } = await api.createSession({ orderRef, amountMinor, currency });
    const { apiOrigin, vaultOrigin } = this.#addresses;
    const expYear = new Date().getUTCFullYear() + 3;
    const entered = { number, expMonth: 4, expYear, cvc: code };
    const kept = await this.#post(`${vaultOrigin}/tokens`, String(vault.sdkAuthorization), entered);
    const submission = { sessionId, vaultToken: kept.token };
    const submitted = await this.#post(
      `${apiOrigin}/payments.v1.CheckoutService/SubmitPayment`,
      clientSecret,
      submission,
    );
    const { outcome } = (submitted as Submitted).checkout ?? {};
    const shown = outcome ? (outcome.decline?.declineCode ?? "success") : "no outcome yet";
    return { code, shown, session: await api.getSession(sessionId) };
  }

  async #post(url: string, secret: string, body: object): Promise<Record<string, unknown>> {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      body: JSON.stringify(body),
      signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(callTimeoutMs)]),
    });
    // The body could hold a secret.
    if (!answer.ok) throw new Error(`${new URL(url).pathname} answered ${answer.status}`);
    return (await answer.json()) as Record<string, unknown>;
  }

  /** Calls `onChange` after every change, until the returned function is called. */
  subscribe(onChange: () => void): () => void {
    this.#onChange.add(onChange);
    return () => this.#onChange.delete(onChange);
  }

  #report(): void {
    for (const onChange of this.#onChange) onChange();
  }

  close(): void {
    this.#stopping.abort();
  }
}
