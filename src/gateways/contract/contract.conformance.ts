/** What every gateway's sandbox must do for its connector to be right. Takes one dollar where it captures, and voids whatever else it holds. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemEntropy } from "../../platform/entropy.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { TestForwarder } from "../../testing/forwarder.ts";
import type { AuthorizeRequest, ChangingCall, Connector, Hold } from "../connector.ts";
import { GatewayHttp } from "../gateway-http.ts";
import type { ContractSetting } from "./settings.ts";
import type { ContractSubject, TestCard } from "./subjects.ts";

type Account = Extract<ContractSetting, { type: "account" }>;

// A sandbox may be slow, and nobody waits.
const callTimeoutMs = 30_000;
// What a look-up tells a moment after a change; sandboxes have been seen to lag for seconds.
const seenWithin = { timeout: 20_000, interval: 500 };

/** Declares the checks of one gateway; `account` is asked for when they run. */
export function describeContract(subject: ContractSubject, account: () => Account): void {
  describe(`${subject.gateway} at its sandbox`, () => {
    let desk: Desk;
    beforeAll(() => {
      desk = new Desk(subject, account());
    });
    afterAll(() => desk?.close());

    it("passes every required check of verify that needs no notification", async () => {
      const rows = await desk.connector.verify(desk.call(""));
      const failed = rows.filter(({ check, state, required }) => {
        const isNotice = check === "notification_secret" || check === "test_notice";
        return required && state !== "passed" && !isNotice;
      });
      expect(failed).toEqual([]);
      expect(rows.map(({ check }) => check)).toContain("raw_cards");
    });

    it("holds once for a repeated authorize, and gives the hold back", async () => {
      const payment = desk.newPayment();
      const hold = await desk.hold(payment);
      expect(await desk.hold(payment)).toEqual(hold);
      await desk.seesState(hold, "held");
      const answer = await desk.giveBack(hold);
      expect(["done", "accepted"]).toContain(answer.type);
      await desk.seesState(hold, "voided");
    });

    it("captures the whole hold once, whatever is repeated, and then has none to give back", async () => {
      const hold = await desk.hold(desk.newPayment());
      const capture = () => desk.connector.capture(desk.call(`${hold.attemptReference}_cap`), hold);
      const first = await capture();
      expect(["done", "accepted"]).toContain(first.type);
      expect(await capture()).toEqual(first);
      desk.captured(hold);
      await desk.seesState(hold, "captured");
      if (desk.connector.canRead) {
        const late = await desk.connector.void(desk.call(`${hold.attemptReference}_late`), hold);
        expect(["alreadyCaptured", "refused"]).toContain(late.type);
      }
    });

    it("declines with a code that the table has", async () => {
      const { outcome } = await desk.authorize(desk.newPayment(), subject.declined);
      expect(outcome).toMatchObject({ type: "declined", declineCode: "insufficient_funds" });
    });

    it("refuses credentials that are nobody's, as provably nothing", async () => {
      const payment = desk.newPayment();
      const call = { ...desk.call(payment.attemptReference), credentials: {} };
      const { outcome } = await desk.connector.authorize(call, payment);
      expect(outcome).toMatchObject({ type: "notProcessed", cause: "credentials_refused" });
    });
  });
}

/** One account's payments, and what of them is still held. */
class Desk {
  readonly connector: Connector;
  readonly #http = new GatewayHttp();
  readonly #forwarder: TestForwarder;
  readonly #account: Account;
  readonly #approved: TestCard;
  readonly #held = new Map<string, Hold>();

  constructor(subject: ContractSubject, account: Account) {
    this.#forwarder = new TestForwarder(this.#http, subject.approved.number);
    this.#account = account;
    this.#approved = subject.approved;
    const parts = {
      http: this.#http,
      forwarder: this.#forwarder,
      origin: account.origin,
      environment: "test",
    } as const;
    this.connector = subject.connect(parts);
  }

  call(idempotencyKey: string): ChangingCall {
    return { credentials: this.#account.credentials, idempotencyKey, timeoutMs: callTimeoutMs };
  }

  newPayment(): AuthorizeRequest {
    return {
      attemptReference: encodeId("att", systemEntropy.uuid()),
      sessionId: encodeId("ps", systemEntropy.uuid()),
      vaultToken: new Secret("tok_contract"),
      orderRef: "contract test",
      amountMinor: 100,
      currency: "USD",
    };
  }

  authorize(payment: AuthorizeRequest, card = this.#approved) {
    this.#forwarder.useCard(card.number);
    this.#forwarder.useHolder(card.holder);
    return this.connector.authorize(this.call(payment.attemptReference), payment);
  }

  async hold(payment: AuthorizeRequest): Promise<Hold> {
    const { outcome } = await this.authorize(payment);
    if (outcome.type !== "held") throw new Error(`expected a hold, got ${JSON.stringify(outcome)}`);
    const { attemptReference, amountMinor, currency, orderRef } = payment;
    const { gatewayReference } = outcome;
    const hold = { attemptReference, amountMinor, currency, orderRef, gatewayReference };
    this.#held.set(attemptReference, hold);
    return hold;
  }

  async giveBack(hold: Hold) {
    const answer = await this.connector.void(this.call(`${hold.attemptReference}_void`), hold);
    if (answer.type === "done" || answer.type === "accepted") this.#held.delete(hold.attemptReference);
    return answer;
  }

  captured(hold: Hold): void {
    this.#held.delete(hold.attemptReference);
  }

  /** Where the gateway can be read, it comes to say so; where it cannot, nothing is asked. */
  async seesState(hold: Hold, state: "held" | "captured" | "voided"): Promise<void> {
    if (!this.connector.canRead) return;
    const look = async () => (await this.connector.lookUp(this.call(""), hold)).type;
    await expect.poll(look, seenWithin).toBe(state);
  }

  /** Voids what a failed check has left held. Throws when the gateway keeps it. */
  async close(): Promise<void> {
    for (const hold of this.#held.values()) await this.giveBack(hold);
    await this.#http.close();
    const left = [...this.#held.values()].map(({ gatewayReference }) => gatewayReference);
    if (left.length > 0) throw new Error(`Still held, to be voided by hand: ${left.join(", ")}`);
  }
}
