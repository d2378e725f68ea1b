/** Runs customers and their shop in a separate process, and times their sessions, cards and submissions. */
import { createPrivateKey } from "node:crypto";
import { Agent, request } from "undici";
import { signSessionGrant } from "../../platform/service-token-signing.ts";
import { answerParent } from "../testing/child-process.ts";
import type { SiteDoors } from "./payment-site.ts";

/** The card to pay with, the addresses of the site, and the expected final status. */
export type PaymentOrder = {
  readonly doors: SiteDoors;
  readonly card: string;
  readonly status: string;
  /** True if each payment is another customer's, with a card and a network that are counted as new. */
  readonly ofStrangers?: boolean;
};

/** Duration of each submission, in milliseconds; and the number with an unexpected end. */
export type Submitted = { readonly latenciesMs: readonly number[]; readonly failures: number };

/** Payments from creation to end, many concurrently. */
export type Paid = { readonly payments: number; readonly failures: number; readonly elapsedMs: number };

type Prepared = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly token: string;
  readonly from: string | undefined;
};

// The vault lets an address tokenize 60 cards a minute, so these addresses simulate as many customers as pay.
const cardsOfAddress = 50;
const addresses = Array.from(
  { length: 500 },
  (_, index) => `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`,
);
// It lets a merchant tokenize 1,200 cards a minute, and here one merchant has the payments of a whole installation.
const cardsOfProfile = 1_000;
// Longer than a server keeps a connection: its own time, which it announces, is the shorter one.
const keepAliveTimeout = 600_000;
const shop = new Agent({ keepAliveTimeout });
let addressesUsed = 0;
let orders = 0;

/** A customer, whose connections to the API and to the vault stay open from payment to payment. */
class Customer {
  readonly checkout = new Agent({ keepAliveTimeout });
  #vault: Agent | undefined;
  #cards = 0;

  /** Returns the connections to the vault; they come from another address when this one has had its share of cards. */
  vault(): Agent {
    if (this.#vault === undefined || this.#cards === cardsOfAddress) {
      void this.#vault?.close();
      const localAddress = addresses[addressesUsed++ % addresses.length]!;
      this.#vault = new Agent({ keepAliveTimeout, localAddress });
      this.#cards = 0;
    }
    this.#cards += 1;
    return this.#vault;
  }
}

const customers: Customer[] = [];

function customerOf(number: number): Customer {
  customers[number] ??= new Customer();
  return customers[number];
}

type Post = {
  readonly dispatcher: Agent;
  readonly bearer: string;
  readonly body: object;
  readonly key?: string;
  readonly from?: string | undefined;
};

async function post(url: string, { dispatcher, bearer, body, key, from }: Post): Promise<Record<string, unknown>> {
  const response = await request(url.replace("//localhost:", "//127.0.0.1:"), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${bearer}`,
      ...(key !== undefined && { "idempotency-key": key }),
      ...(from !== undefined && { "x-forwarded-for": from }),
    },
    body: JSON.stringify(body),
    dispatcher,
  });
  const text = await response.body.text();
  if (response.statusCode >= 300) throw new Error(`${response.statusCode} from ${url}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/**
 * Returns the grant of a session in the name of a merchant for whom the vault has counted few cards; it has counted
 * none if each payment's card is another customer's.
 */
function ofFreshProfile({ doors: { signing }, ofStrangers }: PaymentOrder, grant: string, number: number): string {
  if (signing === undefined) return grant;
  const { session, origins, exp } = JSON.parse(Buffer.from(grant.split(".")[1]!, "base64url").toString());
  const key = { kid: signing.kid, environment: "test", privateKey: createPrivateKey(signing.privateKey) } as const;
  const profile = `mer_${process.pid}_${Math.floor(number / (ofStrangers ? 1 : cardsOfProfile))}`;
  return signSessionGrant(key, { session, profile, origins, expiresAt: new Date(exp * 1_000) });
}

async function prepare(customer: Customer, order: PaymentOrder, createdMs: number[] = []): Promise<Prepared> {
  const { doors, card, ofStrangers } = order;
  const { apiOrigin, vaultOrigin, secretKey } = doors;
  const number = orders++;
  const orderRef = `bench-${process.pid}-${number}`;
  const body = { amountMinor: 4_900, currency: "EUR", orderRef };
  const startedAt = performance.now();
  const url = `${apiOrigin}/api/v1/payment-sessions`;
  const session = await post(url, { dispatcher: shop, bearer: secretKey, body, key: orderRef });
  createdMs.push(performance.now() - startedAt);
  const { sdkAuthorization } = session.vault as { sdkAuthorization: string };
  const bearer = ofFreshProfile(order, sdkAuthorization, number);
  const from = ofStrangers ? `${11 + ((number >> 16) % 64)}.${(number >> 8) % 256}.${number % 256}.7` : undefined;
  const details = { number: card, expMonth: 4, expYear: new Date().getUTCFullYear() + 3, cvc: "123" };
  const { token } = await post(`${vaultOrigin}/tokens`, { dispatcher: customer.vault(), bearer, body: details, from });
  const { sessionId, clientSecret } = session;
  return { sessionId: String(sessionId), clientSecret: String(clientSecret), token: String(token), from };
}

async function submit(customer: Customer, { doors }: PaymentOrder, prepared: Prepared): Promise<string> {
  const { sessionId, clientSecret: bearer, token: vaultToken, from } = prepared;
  const url = `${doors.apiOrigin}/payments.v1.CheckoutService/SubmitPayment`;
  const { checkout } = await post(url, {
    dispatcher: customer.checkout,
    bearer,
    body: { sessionId, vaultToken },
    from,
  });
  return String((checkout as { status?: string }).status);
}

// The payments by the address of the API, so that both sides can have theirs at the same time.
const preparedAt = new Map<string, Prepared[]>();

answerParent({
  /** Creates sessions with their cards, ready to submit; returns the duration of each creation, in ms. */
  prepare: async ({ count, ...order }: PaymentOrder & { count: number }): Promise<readonly number[]> => {
    const createdMs: number[] = [];
    const prepared: Prepared[] = [];
    for (let number = 0; number < count; number++) prepared.push(await prepare(customerOf(0), order, createdMs));
    preparedAt.set(order.doors.apiOrigin, prepared);
    return createdMs;
  },
  /** Makes one whole payment; returns its status. */
  payOnce: async (order: PaymentOrder): Promise<string> =>
    submit(customerOf(0), order, await prepare(customerOf(0), order)),
  /** Submits the prepared sessions, one after the other. */
  submit: async (order: PaymentOrder): Promise<Submitted> => {
    const latenciesMs: number[] = [];
    let failures = 0;
    for (const one of preparedAt.get(order.doors.apiOrigin) ?? []) {
      const startedAt = performance.now();
      const status = await submit(customerOf(0), order, one);
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
    const pay = async (customer: Customer) => {
      while (performance.now() < end) {
        const status = await submit(customer, order, await prepare(customer, order));
        payments += 1;
        if (status !== order.status) failures += 1;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, (_, number) => pay(customerOf(number))));
    return { payments, failures, elapsedMs: performance.now() - startedAt };
  },
});
