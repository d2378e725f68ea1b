/** Refunds at a gateway whose books a test can read, and whose answers it can lose, keep or forget. */
import { expect } from "vitest";
import type { Core } from "../core/core.ts";
import type { PaymentSession, Refund } from "../core/rows/entities.ts";
import { type CoreFixture, cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { drain, replaced } from "../core/scenarios/recovery.fixture.ts";
import type {
  CapturedPayment,
  ChangingCall,
  GatewayRefunds,
  ListedRefund,
  RefundAnswer,
  RefundAtGateway,
  RefundRecord,
} from "../gateways/connector.ts";
import { encodeId } from "../platform/ids.ts";
import { createRefundTurn } from "./refund-once.ts";
import { type RefundRequest, requestRefund } from "./request-refund.ts";

type Entry = ListedRefund & { readonly payment: string };
type Fault = "loseRequest" | "loseAnswer" | "keepError" | "refuse" | "accept";

const lost = { type: "unknown", kind: "TIMEOUT", reason: "no answer" } as const;

/** The books of a gateway: at most one refund for each key, and never more than was captured. */
export class RefundBooks implements GatewayRefunds {
  readonly keyLifeMs = 12 * 3_600_000;
  needsConfirmedCapture = false;
  /** The next requests that do not go well, in order; one with an answer makes nothing. */
  readonly faults: (Fault | RefundAnswer)[] = [];
  readonly entries: Entry[] = [];
  /** True while neither the list nor the record of a refund can be read. */
  isDown = false;
  /** Runs when the list is read, once. */
  onList: (() => Promise<unknown>) | undefined;
  /** Delays the next answer to a refund until it resolves. */
  answering: Promise<unknown> | undefined;
  readonly keys: string[] = [];
  #remembered = new Map<string, RefundAnswer>();
  #made = 0;
  readonly listRefunds: GatewayRefunds["listRefunds"];

  /** `isReadable`: refunds can be listed and looked up. */
  constructor(isReadable: boolean) {
    this.listRefunds = isReadable ? (_call, captured) => this.#list(captured.attemptReference) : undefined;
  }

  of(payment: string): ListedRefund[] {
    return this.entries.filter((entry) => entry.payment === payment);
  }

  async #list(payment: string): Promise<ListedRefund[] | undefined> {
    const listed = this.isDown ? undefined : this.of(payment);
    const { onList } = this;
    this.onList = undefined;
    await onList?.();
    return listed;
  }

  makeByHand(payment: string, amountMinor: number, refundReference?: string): string {
    const gatewayReference = `re_hand_${++this.#made}_${payment}`;
    const status = "succeeded" as const;
    this.entries.push({
      payment,
      amountMinor,
      currency: "EUR",
      gatewayReference,
      status,
      ...(refundReference && { refundReference }),
    });
    return gatewayReference;
  }

  /** Forgets every key, as a gateway does after their life. */
  forgetKeys(): void {
    this.#remembered = new Map();
  }

  setStatus(gatewayReference: string, status: ListedRefund["status"]): void {
    const index = this.entries.findIndex((entry) => entry.gatewayReference === gatewayReference);
    this.entries[index] = { ...this.entries[index]!, status };
  }

  async refund(call: ChangingCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundAnswer> {
    const { idempotencyKey } = call;
    this.keys.push(idempotencyKey);
    const fault = this.faults.shift();
    if (fault === "loseRequest") return lost;
    if (typeof fault === "object") return fault;
    const known = this.#remembered.get(idempotencyKey);
    const answer = known ?? this.#execute(captured, refund, fault);
    this.#remembered.set(idempotencyKey, answer);
    const { answering } = this;
    this.answering = undefined;
    await answering;
    return fault === "loseAnswer" ? lost : answer;
  }

  #execute(captured: CapturedPayment, refund: RefundAtGateway, fault: Fault | undefined): RefundAnswer {
    if (fault === "keepError") return { type: "unknown", kind: "GATEWAY_ERROR", reason: "HTTP 500", isKept: true };
    const { attemptReference: payment, capturedMinor } = captured;
    const standing = this.of(payment).filter(({ status }) => status !== "failed");
    const sum = standing.reduce((total, { amountMinor }) => total + amountMinor, 0);
    if (fault === "refuse") return { type: "refused", definitive: true, gatewayCode: "no_refund" };
    if (sum + refund.amountMinor > capturedMinor) return { type: "refused", definitive: true, gatewayCode: "too_much" };
    const { amountMinor, currency, refundReference } = refund;
    const gatewayReference = `re_${++this.#made}_${payment}`;
    const status = fault === "accept" ? ("pending" as const) : ("succeeded" as const);
    this.entries.push({ payment, amountMinor, currency, refundReference, gatewayReference, status });
    return { type: fault === "accept" ? "accepted" : "done", gatewayReference };
  }

  async lookUpRefund(_call: unknown, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundRecord> {
    if (this.listRefunds === undefined || this.isDown)
      return { type: "cannotTell", reason: "this gateway cannot be read" };
    const found = this.of(captured.attemptReference).find((one) =>
      refund.gatewayReference
        ? one.gatewayReference === refund.gatewayReference
        : one.refundReference === refund.refundReference,
    );
    if (found === undefined) return { type: "absent" };
    // A record counts only under our reference, as for the connectors.
    if (found.refundReference !== refund.refundReference) return { type: "cannotTell", reason: "another refund" };
    const { gatewayReference, status } = found;
    return status === "failed"
      ? { type: "failed", gatewayReference, gatewayCode: "returned" }
      : { type: status, gatewayReference };
  }
}

/** A core whose two gateways refund into books: SANDBOX_A can be read, SANDBOX_B cannot. */
export class RefundFixture {
  readonly base: CoreFixture;
  readonly core: Core;
  readonly books = { SANDBOX_A: new RefundBooks(true), SANDBOX_B: new RefundBooks(false) };
  #keys = 0;

  constructor(base: CoreFixture) {
    this.base = base;
    const refunding = (gateway: string) => this.books[gateway as "SANDBOX_A" | "SANDBOX_B"];
    const { core } = base;
    this.core = {
      ...core,
      connectorOf: (gateway) => {
        const connector = core.connectorOf(gateway);
        return connector && replaced(connector, { refunds: refunding(gateway) });
      },
      bind: async (...attempt) => {
        const bound = await core.bind(...attempt);
        return (
          bound && { ...bound, connector: replaced(bound.connector, { refunds: refunding(bound.connector.gateway) }) }
        );
      },
    };
  }

  /** Pays 49.00 EUR at one gateway. */
  async pay(gateway: "SANDBOX_A" | "SANDBOX_B" = "SANDBOX_A"): Promise<PaymentSession> {
    const [a, b] = this.base.connectionIds;
    await this.base.setRule([], [gateway === "SANDBOX_A" ? a! : b!]);
    const session = await this.base.newSession();
    await this.base.submit(session, cards.approved);
    await Promise.all(this.base.core.inFlight);
    // SANDBOX_B confirms its capture by notification.
    const isConfirmed = async () => (await this.base.loadSession(session)).session.captureConfirmed;
    await expect.poll(isConfirmed).toBe(true);
    return (await this.base.loadSession(session)).session;
  }

  /** Asks for a refund under a new key, unless one is given. */
  async refund(session: PaymentSession, request: Partial<RefundRequest> = {}): Promise<Refund> {
    const { id: sessionId, merchantId } = session;
    const key = `key-${++this.#keys}`;
    return (await requestRefund(this.core, { sessionId, merchantId, key, ...request })).refund;
  }

  /** Takes every refund that is due a step further, until none is. */
  work(core = this.core): Promise<void> {
    return drain(createRefundTurn(core));
  }

  async workAfter(minutes: number): Promise<void> {
    await this.base.setClockAhead(minutes);
    await this.work();
  }

  async refundsOf({ id }: PaymentSession): Promise<readonly Refund[]> {
    return (await this.base.loadSession({ id })).refunds;
  }

  async paymentOf(session: PaymentSession): Promise<{ reference: string; books: RefundBooks }> {
    const { attempts } = await this.base.loadSession(session);
    const captured = attempts.find(({ status }) => status === "CAPTURED")!;
    return {
      reference: encodeId("att", captured.id),
      books: this.books[captured.gateway as "SANDBOX_A" | "SANDBOX_B"],
    };
  }

  close(): Promise<void> {
    return this.base.close();
  }
}

export async function startRefundFixture(): Promise<RefundFixture> {
  return new RefundFixture(await startCoreFixture());
}
