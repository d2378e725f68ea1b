/**
 * The promises of every connector that stores cards and charges them without their customer: what is sent for each use, a
 * chain for each hold that saves, no money without a chain of the same card, and one hold for each renewal.
 *
 * It needs of an emulator: the sandbox's test cards that are stored, and a record of the cards that it keeps
 * (GET /admin/saved-cards).
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AuthorizeRequest, Chain, Credentials, Held, StoredCardUse } from "../../../gateways/connector.ts";
import type { Renewal } from "../../../gateways/renewal-chains.ts";
import { Secret } from "../../../platform/secrets.ts";
import { answerAtBank } from "../bank-customer.ts";
import { brokenAnswers, otherMoney } from "../broken-answers.ts";
import { emulatorAccounts } from "../emulator-accounts.ts";
import { approvedCard, type GatewayHarness, notificationPath } from "../gateway-harness.ts";
import type { AuthenticationSubject } from "./authentication.conformance.ts";

export type StoredSubject = {
  /** The requests of a payment without a stored card, byte by byte; names that differ by payment are replaced. */
  readonly plain: readonly string[];
  /** Returns the fields of a request that say what a stored card is for; none for a request without any. */
  readonly read: (body: string) => object;
  /** Returns these fields of all requests of a use, as the gateway documents them. */
  readonly fields: (use: StoredCardUse) => object;
  /** True if it stores a card with a payment of 0, which charges nothing. */
  readonly setsUp?: boolean;
  /** True if a set-up leaves a card at the gateway, which has to be erased where its answer was lost. */
  readonly undoesSetUps?: boolean;
};

const customer = "0123456789abcdef0123456789abcdef";
const otherCustomer = "fedcba9876543210fedcba9876543210";
const renewedCard = "4000000000007270";
const otherCard = "4000000000007361";
const challengedCard = "4000000000007106";

const terms = { everyDays: 30, endsOn: new Date("2031-03-15T00:00:00Z") };
const saving: StoredCardUse = { type: "save", customer, purpose: "recurring", terms };
const uses: readonly StoredCardUse[] = [
  saving,
  { type: "save", customer, purpose: "customer" },
  { type: "save", customer, purpose: "instalment", terms: { ...terms, instalments: 12 } },
  { type: "save", customer, purpose: "unscheduled" },
  { type: "customer", customer },
];
const purposes: readonly Renewal["purpose"][] = ["recurring", "instalment", "unscheduled"];

export function describeStoredCards(
  harness: () => GatewayHarness,
  subject: StoredSubject & { readonly foreign: Credentials; readonly codes: AuthenticationSubject["codes"] },
): void {
  describe("and stores cards", () => {
    beforeEach(() => harness().forwarder.useCard(renewedCard));
    afterEach(() => {
      harness().forwarder.useCard(approvedCard);
      harness().spoilWith((honest) => honest);
    });
    const payments = new StoredPayments(harness, subject.codes);
    describeRequests(payments, subject);
    describeChains(payments);
    describeRefused(payments, subject.foreign);
    describeDistrust(payments);
    if (subject.setsUp) it("and sets one up without a charge", () => setUp(payments));
    if (subject.undoesSetUps) it("and undoes a set-up whose answer was lost", () => undoSetUp(payments));
    it("and erases one where it is kept", () => eraseMethod(payments));
  });
}

const asking = {
  authentication: {
    wish: "as_needed",
    returnUrl: "https://pay.example/authentication/test/return/att_1",
    browser: {
      javaEnabled: false,
      colorDepth: 24,
      screenWidth: 1_280,
      screenHeight: 800,
      timeZoneOffsetMinutes: -60,
      language: "de-AT",
    },
  },
  shopperUserAgent: "Mozilla/5.0 (X11; Linux x86_64)",
} as const;

class StoredPayments {
  readonly #harness: () => GatewayHarness;
  readonly #codes: AuthenticationSubject["codes"];

  constructor(harness: () => GatewayHarness, codes: AuthenticationSubject["codes"]) {
    this.#harness = harness;
    this.#codes = codes;
  }

  /** The gateway's name at the sandbox bank, and its codes for a customer who is wanted. */
  get bank() {
    return { acquirer: emulatorAccounts[this.harness.connector.gateway].acquirer, ...this.#codes };
  }

  get harness(): GatewayHarness {
    return this.#harness();
  }

  get kind() {
    return this.harness.connector.storedCards;
  }

  async authorize(payment: AuthorizeRequest, credentials = this.harness.call("").credentials) {
    const call = { ...this.harness.call(payment.attemptReference), credentials };
    return (await this.harness.connector.authorize(call, payment)).outcome;
  }

  /** Returns the requests that `act` sends to the gateway. */
  async sent(act: () => Promise<unknown>) {
    const before = this.harness.middle.requests.length;
    await act();
    return this.harness.middle.requests.slice(before).filter(({ path }) => path !== notificationPath);
  }

  async pay(storedCard: StoredCardUse, payment = this.harness.newPayment({ storedCard })): Promise<Held> {
    const outcome = await this.authorize(payment);
    if (outcome.type !== "held") throw new Error(`expected a hold, got ${JSON.stringify(outcome)}`);
    return outcome;
  }

  /** Returns the chain of the connector's kind that a hold began. */
  chainOf({ stored }: Held): Chain {
    if (this.kind === "own") return { type: "own", ...stored!.own! };
    return { type: "network", ...stored!.network!, network: "visa", date: new Date("2026-11-29T10:00:00Z") };
  }

  async begin(): Promise<Chain> {
    return this.chainOf(await this.pay(saving));
  }

  renewal(chain: Chain, purpose: Renewal["purpose"] = "recurring"): Renewal {
    return { type: "renewal", customer, purpose, chain };
  }

  async statuses({ attemptReference }: AuthorizeRequest): Promise<string[]> {
    return (await this.harness.sandbox.authorizations(attemptReference)).map(({ status }) => status);
  }

  /** Fails if a renewal of this chain holds anything. */
  async expectNoMoney(chain: Chain, credentials?: Credentials): Promise<void> {
    const payment = this.harness.newPayment({ storedCard: this.renewal(chain) });
    expect(["declined", "notProcessed"]).toContain((await this.authorize(payment, credentials)).type);
    expect(await this.statuses(payment)).not.toContain("held");
  }
}

/** Replaces the names in a request that differ by payment. */
function withoutNames({ method, path, body }: GatewayHarness["middle"]["requests"][number]): string {
  return `${method} ${path} ${body.toString()}`
    .replaceAll(/(att|ps)_bench\d+/g, "$1_1")
    .replaceAll(/(pi|pm)_[0-9a-f]{24}/g, "$1_1")
    .replaceAll(/(?<=\/orders\/)[A-Z0-9]{17}/g, "ORDER");
}

function describeRequests(payments: StoredPayments, subject: StoredSubject): void {
  it("sends the same bytes as before for a payment without one", async () => {
    payments.harness.forwarder.useCard(approvedCard);
    const sent = await payments.sent(() => payments.authorize(payments.harness.newPayment()));
    const requests = sent.filter(({ path }) => path !== "/v1/oauth2/token").map(withoutNames);
    expect(requests.toSorted()).toEqual(subject.plain.toSorted());
    expect(
      sent.map(({ body }) => subject.read(body.toString())).filter((read) => Object.keys(read).length > 0),
    ).toEqual([]);
  });

  const readAll = async (storedCard: StoredCardUse) => {
    const sent = await payments.sent(() => payments.pay(storedCard));
    return Object.assign({}, ...sent.map(({ body }) => subject.read(body.toString()))) as object;
  };

  it.each(uses.map((use) => [use.type, "purpose" in use ? use.purpose : "", use] as const))(
    "sends what the gateway documents for %s %s",
    async (_, __, use) => expect(await readAll(use)).toEqual(subject.fields(use)),
  );

  it.each(purposes)("sends what the gateway documents for a renewal, without a security code: %s", async (purpose) => {
    const use = payments.renewal(await payments.begin(), purpose);
    const before = payments.harness.forwarder.requests.length;
    expect(await readAll(use)).toEqual(subject.fields(use));
    const forwarded = payments.harness.forwarder.requests.slice(before);
    expect(forwarded.length).toBe(payments.kind === "own" ? 0 : 1);
    expect(JSON.stringify(forwarded)).not.toContain("card.cvc");
  });
}

function describeChains(payments: StoredPayments): void {
  it.each(uses.filter(({ type }) => type === "save"))("begins a chain with a hold that saves: %o", async (use) => {
    const { stored, ...held } = await payments.pay(use);
    if (payments.kind === "own") {
      const own = { customer: expect.any(String), method: expect.any(String) };
      expect(stored).toEqual({ own, network: { transactionId: held.networkTransactionId } });
    } else expect(stored?.network?.transactionId).toEqual(expect.stringMatching(/^\w{9,36}$/));
    expect(stored?.own === undefined).toBe(payments.kind === "network");
  });

  it("names no chain of a payment without a stored card", async () => {
    const outcome = await payments.authorize(payments.harness.newPayment());
    expect(outcome).toMatchObject({ type: "held" });
    expect(outcome).not.toHaveProperty("stored");
  });

  it("names the chain also when the hold is looked up", async () => {
    const payment = payments.harness.newPayment({ storedCard: saving });
    const { gatewayReference, stored } = await payments.pay(saving, payment);
    if (!payments.harness.connector.canRead) return;
    const { attemptReference, amountMinor, currency, storedCard } = payment;
    const attempt = { attemptReference, amountMinor, currency, storedCard, gatewayReference };
    expect(await payments.harness.connector.lookUp(payments.harness.call(""), attempt)).toMatchObject({ stored });
  });

  it("names the payment at its network, also where the customer was asked", async () => {
    const { connector, forwarder, call } = payments.harness;
    const { acquirer, unasked } = payments.bank;
    const asks = { act: "authenticate", when: "as_needed", code: unasked, passed: { act: "approve" } } as const;
    await payments.harness.sandbox.setCard(acquirer, challengedCard, asks);
    forwarder.useCard(challengedCard);
    const payment = payments.harness.newPayment({ storedCard: saving, ...asking });
    const outcome = await payments.authorize(payment);
    if (outcome.type !== "actionNeeded") throw new Error(`expected an action, got ${JSON.stringify(outcome)}`);
    const { searchParams } = (await answerAtBank(outcome.action.url, "pass"))!;
    const returned = connector.authentication!.readReturn(searchParams);
    const { attemptReference, amountMinor, currency } = payment;
    const attempt = { attemptReference, amountMinor, currency, gatewayReference: outcome.gatewayReference };
    const completed = await connector.authentication!.complete(call(`${attemptReference}_2`), attempt, {
      keep: outcome.keep,
      returned: returned === undefined ? undefined : new Secret(returned),
    });
    expect(completed.outcome).toMatchObject({ type: "held", networkTransactionId: expect.any(String) });
    if (payments.kind === "own") expect(completed.outcome).toHaveProperty("stored.own.method");
  });

  it("erases with a void what no chain goes on from, and nothing else", async () => {
    const { connector, call, sandbox } = payments.harness;
    // Other gateways attach nothing before a capture, or get no void.
    if (!connector.keepsSetUps) return;
    const voided = async (forgetsCard?: true) => {
      const payment = payments.harness.newPayment({ storedCard: saving });
      const { gatewayReference, stored } = await payments.pay(saving, payment);
      const { attemptReference, amountMinor, currency, storedCard, orderRef } = payment;
      const attempt = { attemptReference, amountMinor, currency, storedCard, orderRef, gatewayReference, forgetsCard };
      for (const key of ["void_1", "void_2"])
        expect((await connector.void(call(`${attemptReference}_${key}`), attempt)).type).toBe("done");
      return (await sandbox.savedCards()).some(({ method }) => method === stored!.own!.method);
    };
    expect([await voided(), await voided(true)]).toEqual([true, false]);
  });

  it("continues a chain with each renewal, and names it again", async () => {
    const chain = await payments.begin();
    for (const purpose of purposes) {
      const held = await payments.pay(payments.renewal(chain, purpose));
      if (chain.type === "own") expect(payments.chainOf(held)).toEqual(chain);
      else expect(held.stored?.network?.transactionId).toEqual(expect.any(String));
    }
  });

  it("sends nothing of its session with a renewal: after a restore another one sends the same", async () => {
    const payment = payments.harness.newPayment({ storedCard: payments.renewal(await payments.begin()) });
    const sent = await payments.sent(() => payments.authorize(payment));
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.map(({ path, body }) => `${path} ${body.toString()}`).join()).not.toContain(payment.sessionId);
  });

  it("holds once when the same renewal is sent twice", async () => {
    const payment = payments.harness.newPayment({ storedCard: payments.renewal(await payments.begin()) });
    const first = await payments.authorize(payment);
    expect(first.type).toBe("held");
    expect(await payments.authorize(payment)).toEqual(first);
    expect(await payments.statuses(payment)).toEqual(["held"]);
  });
}

function describeRefused(payments: StoredPayments, foreign: Credentials): void {
  it("holds nothing for a chain that nobody began", async () => {
    await payments.expectNoMoney(
      payments.kind === "own"
        ? { type: "own", customer: "cus_unknown", method: "pm_unknown" }
        : { type: "network", transactionId: "123456789012345", network: "visa" },
    );
  });

  it("holds nothing for the chain of another card, customer or account", async () => {
    const chain = await payments.begin();
    if (chain.type === "network") {
      payments.harness.forwarder.useCard(otherCard);
      return payments.expectNoMoney(chain);
    }
    const another = payments.chainOf(await payments.pay({ ...saving, customer: otherCustomer } as StoredCardUse));
    if (another.type === "own") await payments.expectNoMoney({ ...another, customer: chain.customer });
    await payments.expectNoMoney(chain, foreign);
  });

  it("sends nothing for a chain of the other kind", async () => {
    const chain: Chain =
      payments.kind === "own"
        ? { type: "network", transactionId: "123456789012345" }
        : { type: "own", customer: "cus_1", method: "pm_1" };
    const payment = payments.harness.newPayment({ storedCard: payments.renewal(chain) });
    const sent = await payments.sent(async () => {
      expect(await payments.authorize(payment)).toMatchObject({ type: "notProcessed", cause: "request_refused" });
    });
    expect(sent).toEqual([]);
  });

  it("never asks for the customer in a renewal, but declines", async () => {
    payments.harness.forwarder.useCard(challengedCard);
    const { acquirer, soft } = payments.bank;
    await payments.harness.sandbox.setCard(acquirer, challengedCard, { act: "approve" });
    const chain = await payments.begin();
    const asks = { act: "authenticate", when: "as_needed", code: soft, passed: { act: "approve" } } as const;
    await payments.harness.sandbox.setCard(acquirer, challengedCard, asks);
    const payment = payments.harness.newPayment({ storedCard: payments.renewal(chain) });
    expect(await payments.authorize(payment)).toMatchObject({ type: "declined", stop: "authentication_required" });
    expect(await payments.statuses(payment)).not.toContain("held");
  });

  it.each<[string, object]>([
    ["4000000000007288", { declineCode: "insufficient_funds", stop: "none" }],
    ["4000000000007296", { stop: "authentication_required" }],
    ["4000000000007304", { stop: "scheme_rule", networkDeclineCode: "R1" }],
    ["5200000000007200", { stop: "scheme_rule", adviceCode: "03" }],
    ["5200000000007218", { stop: "scheme_rule", adviceCode: "21" }],
  ])("declines the renewal of %s, with the network's code", async (number, expected) => {
    payments.harness.forwarder.useCard(number);
    const chain = await payments.begin();
    const outcome = await payments.authorize(payments.harness.newPayment({ storedCard: payments.renewal(chain) }));
    expect(outcome).toMatchObject({ type: "declined", ...expected });
  });

  it("voids a hold that saves by our own reference", async () => {
    const payment = payments.harness.newPayment({ storedCard: saving });
    await payments.pay(saving, payment);
    const { attemptReference, amountMinor, currency, storedCard, orderRef } = payment;
    const attempt = { attemptReference, amountMinor, currency, storedCard, orderRef };
    await payments.harness.connector.void(payments.harness.call(`${attemptReference}_void`), attempt);
    await expect.poll(() => payments.statuses(payment)).toEqual(["voided"]);
  });
}

function describeDistrust(payments: StoredPayments): void {
  it("treats every broken answer to a renewal as unknown", async () => {
    const chain = await payments.begin();
    for (const [name, spoil] of Object.entries({ ...brokenAnswers, ...otherMoney })) {
      payments.harness.spoilWith(spoil);
      const outcome = await payments.authorize(payments.harness.newPayment({ storedCard: payments.renewal(chain) }));
      expect(outcome, name).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    }
  });
}

async function setUp(payments: StoredPayments): Promise<void> {
  const nothing = { amountMinor: 0, storedCard: saving };
  const chain = payments.chainOf(await payments.pay(saving, payments.harness.newPayment(nothing)));
  expect((await payments.pay(payments.renewal(chain))).type).toBe("held");
  payments.harness.forwarder.useCard("4000000000007353");
  expect(await payments.authorize(payments.harness.newPayment(nothing))).toMatchObject({ type: "declined" });
  expect(await payments.authorize(payments.harness.newPayment())).toMatchObject({ type: "held" });
}

async function undoSetUp(payments: StoredPayments): Promise<void> {
  const { connector, call, sandbox, spoilWith, newPayment } = payments.harness;
  const undo = async (
    { attemptReference, amountMinor, currency, storedCard }: AuthorizeRequest,
    name: string,
    given = {},
  ) => {
    const attempt = { attemptReference, amountMinor, currency, storedCard, ageMs: 1_000, ...given };
    return (await connector.void(call(`${attemptReference}_${name}`), attempt)).type;
  };
  const nothing = () => newPayment({ amountMinor: 0, storedCard: saving });
  const kept = async () => (await sandbox.savedCards()).map(({ method }) => method);
  const before = await kept();
  const lost = nothing();
  spoilWith((honest) => (honest.body.includes('"succeeded"') ? "reset" : honest));
  expect(await payments.authorize(lost)).toMatchObject({ type: "unknown" });
  expect((await kept()).length).toBe(before.length + 1);
  for (const [name, spoil] of Object.entries(brokenAnswers)) {
    spoilWith(spoil);
    expect(await undo(lost, name), name).toBe("unknown");
  }
  spoilWith((honest) => honest);
  expect(await undo(lost, "void1")).toBe("done");
  expect(await kept()).toEqual(before);
  expect(await undo(lost, "void2")).toBe("done");
  const stored = nothing();
  const { gatewayReference } = await payments.pay(saving, stored);
  expect([await undo(stored, "void1", { gatewayReference }), await kept()]).toEqual(["done", before]);
  const early = nothing();
  expect(await undo(early, "void1")).toBe("done");
  expect((await payments.authorize(early)).type).not.toBe("held");
  expect(await kept()).toEqual(before);
  expect(await undo(nothing(), "void1", { ageMs: 24 * 3_600_000 })).toBe("unknown");
}

async function eraseMethod(payments: StoredPayments): Promise<void> {
  const { connector, call, sandbox, spoilWith } = payments.harness;
  expect(connector.eraseMethod === undefined).toBe(payments.kind === "network");
  if (connector.eraseMethod === undefined) return;
  const [chain, another] = [await payments.begin(), await payments.begin()];
  if (chain.type !== "own" || another.type !== "own") throw new Error("an own chain was expected");
  const erase = (key: string, { customer, method }: typeof chain, isLast = false) =>
    connector.eraseMethod!(call(key), { customer, method, isLast });
  const isKept = async ({ method }: typeof chain) =>
    (await sandbox.savedCards()).some((saved) => saved.method === method);
  // An answer about a stored card names no attempt.
  const { "another reference": _, ...broken } = brokenAnswers;
  for (const [name, spoil] of Object.entries(broken)) {
    spoilWith(spoil);
    expect((await erase(`erase ${name}`, chain)).type, name).toBe("unknown");
  }
  spoilWith((honest) => honest);
  expect(await erase("erase_1", chain)).toEqual({ type: "done" });
  expect(await erase("erase_2", chain)).toEqual({ type: "done" });
  await payments.expectNoMoney(chain);
  expect([await isKept(chain), await isKept(another)]).toEqual([false, true]);
  expect((await payments.pay(payments.renewal(another))).type).toBe("held");
  expect(await erase("erase_3", another, true)).toEqual({ type: "done" });
  expect(await erase("erase_4", another, true)).toEqual({ type: "done" });
  await payments.expectNoMoney(another);
  expect(await erase("erase_5", { ...another, method: "pm_unknown" })).toEqual({ type: "absent" });
}
