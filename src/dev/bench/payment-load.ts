/** Runs customers and their shop in a separate process, and times their sessions, cards and submissions. */
import { Agent, request } from "undici";
import { answerParent } from "../testing/child-process.ts";
import type { SiteDoors } from "./payment-site.ts";

/** The card to pay with, the addresses of the site, and the expected final status. */
export type PaymentOrder = { readonly doors: SiteDoors; readonly card: string; readonly status: string };

/** Duration of each submission, in milliseconds; and the number with an unexpected end. */
export type Submitted = { readonly latenciesMs: readonly number[]; readonly failures: number };

/** Payments from creation to end, many concurrently. */
export type Paid = { readonly payments: number; readonly failures: number; readonly elapsedMs: number };

type Prepared = { readonly sessionId: string; readonly clientSecret: string; readonly token: string };

// The vault lets an address tokenize 60 cards a minute: enough addresses for 500 payments a second.
const agents = Array.from({ length: 500 }, (_, index) => {
  const localAddress = `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;
  return new Agent({ localAddress });
});
let next = 0;

async function post(url: string, bearer: string, body: object): Promise<Record<string, unknown>> {
  const response = await request(url.replace("//localhost:", "//127.0.0.1:"), {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${bearer}` },
    body: JSON.stringify(body),
    dispatcher: agents[next++ % agents.length]!,
  });
  const text = await response.body.text();
  if (response.statusCode >= 300) throw new Error(`${response.statusCode} from ${url}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function prepare({ doors, card }: PaymentOrder, createdMs: number[] = []): Promise<Prepared> {
  const { apiOrigin, vaultOrigin, secretKey } = doors;
  const wanted = { amountMinor: 4_900, currency: "EUR", orderRef: `bench-${process.pid}-${next}` };
  const startedAt = performance.now();
  const session = await post(`${apiOrigin}/api/v1/payment-sessions`, secretKey, wanted);
  createdMs.push(performance.now() - startedAt);
  const { sdkAuthorization } = session.vault as { sdkAuthorization: string };
  const details = { number: card, expMonth: 4, expYear: new Date().getUTCFullYear() + 3, cvc: "123" };
  const { token } = await post(`${vaultOrigin}/tokens`, sdkAuthorization, details);
  return { sessionId: String(session.sessionId), clientSecret: String(session.clientSecret), token: String(token) };
}

async function submit({ doors }: PaymentOrder, { sessionId, clientSecret, token }: Prepared): Promise<string> {
  const url = `${doors.apiOrigin}/payments.v1.CheckoutService/SubmitPayment`;
  const { checkout } = await post(url, clientSecret, { sessionId, vaultToken: token });
  return String((checkout as { status?: string }).status);
}

let prepared: Prepared[] = [];

answerParent({
  /**
   * Creates sessions with their cards, ready to be submitted; returns the duration of each creation, in milliseconds.
   */
  prepare: async ({ count, ...order }: PaymentOrder & { count: number }): Promise<readonly number[]> => {
    prepared = [];
    const createdMs: number[] = [];
    for (let number = 0; number < count; number++) prepared.push(await prepare(order, createdMs));
    return createdMs;
  },
  /** Makes one whole payment; returns its status. */
  payOnce: async (order: PaymentOrder): Promise<string> => submit(order, await prepare(order)),
  /** Submits the prepared sessions, one after the other. */
  submit: async (order: PaymentOrder): Promise<Submitted> => {
    const latenciesMs: number[] = [];
    let failures = 0;
    for (const one of prepared) {
      const startedAt = performance.now();
      const status = await submit(order, one);
      latenciesMs.push(performance.now() - startedAt);
      if (status !== order.status) failures += 1;
    }
    return { latenciesMs, failures };
  },
  /** Makes whole payments with this many concurrent customers, each starting the next when one is done. */
  pay: async ({ seconds, atOnce, ...order }: PaymentOrder & { seconds: number; atOnce: number }): Promise<Paid> => {
    const startedAt = performance.now();
    const end = startedAt + seconds * 1_000;
    let payments = 0;
    let failures = 0;
    const customer = async () => {
      while (performance.now() < end) {
        const status = await submit(order, await prepare(order));
        payments += 1;
        if (status !== order.status) failures += 1;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, customer));
    return { payments, failures, elapsedMs: performance.now() - startedAt };
  },
});
