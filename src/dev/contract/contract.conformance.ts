/** The checks of every gateway's sandbox. Captures one dollar at most, and voids every other hold. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuthorizeRequest, ChangingCall, Connector, Hold } from "../../gateways/connector.ts";
import { encodeId } from "../../platform/ids.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { TestForwarder } from "../testing/forwarder.ts";
import type { ContractSetting } from "./settings.ts";
import type { ContractSubject, TestCard } from "./subjects.ts";

type Account = Extract<ContractSetting, { type: "account" }>;

// A sandbox may be slow, and no customer waits.
const callTimeoutMs = 30_000;
// The time in which a look-up shows a change; sandboxes have been seen to lag for seconds.
const seenWithin = { timeout: 20_000, interval: 500 };

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
        const isNotification = check === "notification_secret" || check === "test_notification";
        return required && state !== "passed" && !isNotification;
      });
      expect(failed).toEqual([]);
      expect(rows.map(({ check }) => check)).toContain("raw_cards");
    });

    it("holds once for a repeated authorize, and voids the hold", async () => {
      const payment = desk.newPayment();
      const hold = await desk.hold(payment);
      expect(await desk.hold(payment)).toEqual(hold);
      await desk.seesState(hold, "held");
      const answer = await desk.voidHold(hold);
      expect(["done", "accepted"]).toContain(answer.type);
      await desk.seesState(hold, "voided");
    });

    it("captures the whole hold once despite repeated calls, and then has none to void", async () => {
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
      expect(outcome).toMatchObject({ type: "declined", declineCode: subject.declined.declineCode });
    });

    it("refuses invalid credentials, with proof that nothing was charged", async () => {
      const payment = desk.newPayment();
      const call = { ...desk.call(payment.attemptReference), credentials: {} };
      const { outcome } = await desk.connector.authorize(call, payment);
      expect(outcome).toMatchObject({ type: "notProcessed", cause: "credentials_refused" });
    });
  });
}

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
      attemptReference: encodeId("att", systemRuntime.uuid()),
      sessionId: encodeId("ps", systemRuntime.uuid()),
      vaultToken: new Secret("tok_contract"),
      orderRef: "contract test",
      amountMinor: 100,
      currency: "USD",
    };
  }

  authorize(payment: AuthorizeRequest, card: TestCard = this.#approved) {
    this.#forwarder.useCard(card.number, card.cvc);
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

  async voidHold(hold: Hold) {
    const answer = await this.connector.void(this.call(`${hold.attemptReference}_void`), hold);
    if (answer.type === "done" || answer.type === "accepted") this.#held.delete(hold.attemptReference);
    return answer;
  }

  captured(hold: Hold): void {
    this.#held.delete(hold.attemptReference);
  }

  /** If the gateway can be read, waits until it reports this state; if not, sends nothing. */
  async seesState(hold: Hold, state: "held" | "captured" | "voided"): Promise<void> {
    if (!this.connector.canRead) return;
    const look = async () => (await this.connector.lookUp(this.call(""), hold)).type;
    await expect.poll(look, seenWithin).toBe(state);
  }

  /** Voids the holds that a failed check has left. Throws if the gateway keeps one. */
  async close(): Promise<void> {
    for (const hold of this.#held.values()) await this.voidHold(hold);
    await this.#http.close();
    const left = [...this.#held.values()].map(({ gatewayReference }) => gatewayReference);
    if (left.length > 0) throw new Error(`Still held, to be voided by hand: ${left.join(", ")}`);
  }
}
