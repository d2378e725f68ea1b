/**
 * The promises of every connector that refunds: at most once for each key, never more than was captured, and no answer
 * believed that is not about exactly this refund. Part of the suite of connectors; a connector's own test adds its own
 * checks.
 *
 * It needs of an emulator: holds and refunds in the sandbox's ledger, so that GET /admin/authorizations lists them with
 * their refunds; RefundBehaviour `refuse`, `slow` and `fail_later` for a card set by PUT /admin/cards, with the delay of
 * `slow` as a pause that names the attempt's reference, and `fail_later` by the sandbox's clock (PUT /admin/clock); POST
 * /admin/refund for refunds by hand; the first answer repeated to an idempotency key. A gateway that only receives
 * refunds sends its signed notifications to the account's notificationUrl (`hmacKey`).
 */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type {
  CapturedPayment,
  GatewayRefunds,
  Notification,
  RefundAtGateway,
  RefundRecord,
} from "../../../gateways/connector.ts";
import type { RefundBehaviour } from "../../../gateways/sandbox/card-behaviour.ts";
import type { AcquirerName, Refund } from "../../../sandbox/ledger.ts";
import { brokenAnswers, otherMoney, silences } from "../broken-answers.ts";
import {
  approvedCard,
  awaitNotification,
  type GatewayHarness,
  holdPayment,
  receiveNotifications,
  type Spoil,
} from "../gateway-harness.ts";
import { unreachableOrigins } from "../unreachable-origins.ts";

export type RefundSubject = {
  /** The gateway's name in the sandbox's ledger. */
  readonly acquirer: AcquirerName;
  /** The key with which the gateway signs its notifications, where they alone report a refund's result. */
  readonly hmacKey?: string;
  /** A look-up by our own reference finds a refund. */
  readonly findsByReference: boolean;
  /** False if a refund that is not found counts as absent only while no other refund was made. */
  readonly provesAbsence?: boolean;
  /** A refusal of the gateway's own that is final. */
  readonly finalRefusal: { readonly status: number; readonly body: string };
  /** Statuses under which every error of the gateway is final. */
  readonly finalStatuses?: readonly number[];
};

const behavedCard = "4242424242424242";
const dayMs = 24 * 60 * 60 * 1_000;
const unknownAnswer = { type: "unknown", kind: "GATEWAY_ERROR" };

let counted = 0;

export function describeRefunds(
  harness: () => GatewayHarness,
  subject: RefundSubject & { readonly refusalOf: (status: number) => string },
): void {
  const desk = new RefundDesk(harness, subject);
  describe("refunds", () => {
    beforeAll(() => desk.open());
    afterEach(() => desk.reset());
    describeSums(desk);
    describeRepeats(desk);
    describeLookUps(desk, subject);
    describeByHand(desk);
    describeDistrust(desk, subject);
  });
}

/** Captures and refunds payments with one connector, and reads its gateway's books. */
class RefundDesk {
  readonly #harness: () => GatewayHarness;
  readonly #subject: RefundSubject;

  constructor(harness: () => GatewayHarness, subject: RefundSubject) {
    this.#harness = harness;
    this.#subject = subject;
  }

  get harness(): GatewayHarness {
    return this.#harness();
  }

  get refunds(): GatewayRefunds {
    const { refunds } = this.harness.connector;
    if (refunds === undefined) throw new Error("the connector refunds nothing");
    return refunds;
  }

  async open(): Promise<void> {
    const { hmacKey } = this.#subject;
    if (hmacKey !== undefined) await receiveNotifications(this.harness, hmacKey);
  }

  async reset(): Promise<void> {
    this.harness.spoilWith((honest) => honest);
    this.harness.replaceWith(() => undefined);
    await this.harness.sandbox.setCard(this.#subject.acquirer, behavedCard, { act: "approve" });
    await this.harness.sandbox.setClockAhead(0);
  }

  /** Captures 49.00 EUR; its gateway treats refunds of it as `behaviour` says. */
  async capture(behaviour?: RefundBehaviour): Promise<CapturedPayment> {
    const { harness } = this;
    if (behaviour !== undefined) {
      await harness.sandbox.setCard(this.#subject.acquirer, behavedCard, { act: "approve", refund: behaviour });
      harness.forwarder.useCard(behavedCard);
    }
    const hold = await holdPayment(harness, harness.newPayment());
    harness.forwarder.useCard(approvedCard);
    const answer = await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    if (answer.type !== "done" && answer.type !== "accepted") throw new Error(`not captured: ${answer.type}`);
    if (answer.type === "accepted") {
      await this.notification(({ kind, attemptReference }) => {
        return kind === "captured" && attemptReference === hold.attemptReference;
      });
    }
    const { captureReference } = answer;
    return { ...hold, capturedMinor: hold.amountMinor, ...(captureReference && { captureReference }) };
  }

  newRefund(amountMinor: number): RefundAtGateway {
    counted += 1;
    return { refundReference: `ref_bench${counted}`, amountMinor, currency: "EUR", reason: "requested_by_customer" };
  }

  refund(captured: CapturedPayment, refund: RefundAtGateway, key = refund.refundReference) {
    return this.refunds.refund(this.harness.call(key), captured, refund);
  }

  async refunded(captured: CapturedPayment, amountMinor: number): Promise<RefundAtGateway> {
    const refund = this.newRefund(amountMinor);
    const answer = await this.refund(captured, refund);
    if (answer.type !== "done" && answer.type !== "accepted") throw new Error(`not refunded: ${answer.type}`);
    return { ...refund, gatewayReference: answer.gatewayReference };
  }

  /** Waits for the end of a refund, and fails unless it is this one. */
  async ended(captured: CapturedPayment, refund: RefundAtGateway, end: "succeeded" | "failed"): Promise<void> {
    if (this.#subject.hmacKey === undefined) {
      expect(await this.lookUp(captured, refund)).toMatchObject({
        type: end,
        gatewayReference: refund.gatewayReference,
      });
      return;
    }
    const ending = end === "succeeded" ? "refunded" : "refund_failed";
    const { kind, ...reported } = await this.notification(
      (one) => one.kind === ending && one.refundReference === refund.refundReference,
    );
    expect(reported).toMatchObject({
      gatewayReference: captured.gatewayReference,
      modificationReference: refund.gatewayReference,
      amount: { amountMinor: refund.amountMinor, currency: refund.currency },
    });
  }

  /** Fails unless the gateway refuses this refund for good, at once or by its report. */
  async isRefused(captured: CapturedPayment, refund: RefundAtGateway): Promise<void> {
    const answer = await this.refund(captured, refund);
    if (answer.type !== "accepted") {
      expect(answer).toMatchObject({ type: "refused", definitive: true });
      return;
    }
    await this.ended(captured, { ...refund, gatewayReference: answer.gatewayReference }, "failed");
  }

  lookUp(captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundRecord> {
    return this.refunds.lookUpRefund(this.harness.call(""), captured, refund);
  }

  /** Returns the first notification that fits, past or future. */
  notification(fits: (notification: Notification) => boolean): Promise<Notification> {
    return awaitNotification(this.harness, fits);
  }

  /** Returns the refunds of a payment that the gateway has on its books, without those that failed. */
  async books(captured: CapturedPayment): Promise<readonly Refund[]> {
    const [authorization] = await this.harness.sandbox.authorizations(captured.attemptReference);
    return authorization!.refunds.filter(({ status }) => status !== "failed");
  }

  async sum(captured: CapturedPayment): Promise<number> {
    return (await this.books(captured)).reduce((sum, { value }) => sum + value, 0);
  }
}

function describeSums(desk: RefundDesk): void {
  it("refunds the whole captured amount", async () => {
    const captured = await desk.capture();
    await desk.ended(captured, await desk.refunded(captured, 4900), "succeeded");
    expect(await desk.sum(captured)).toBe(4900);
  });

  it("refunds in parts, and refuses more than is left", async () => {
    const captured = await desk.capture();
    const parts = [await desk.refunded(captured, 2000), await desk.refunded(captured, 1900)];
    for (const part of parts) await desk.ended(captured, part, "succeeded");
    await desk.isRefused(captured, desk.newRefund(1001));
    expect(await desk.sum(captured)).toBe(3900);
    await desk.ended(captured, await desk.refunded(captured, 1000), "succeeded");
    await desk.isRefused(captured, desk.newRefund(1));
    expect(await desk.sum(captured)).toBe(4900);
  });

  it("lets only one of two concurrent refunds through that fit only alone", async () => {
    const captured = await desk.capture();
    const both = await Promise.all([3000, 2500].map((amount) => desk.refund(captured, desk.newRefund(amount))));
    expect(both.filter(({ type }) => type === "done" || type === "accepted").length).toBeGreaterThanOrEqual(1);
    expect(await desk.sum(captured)).toBeLessThanOrEqual(4900);
  });

  it("refuses for good a refund of a payment that the gateway does not refund", async () => {
    const captured = await desk.capture("refuse");
    await desk.isRefused(captured, desk.newRefund(4900));
    expect(await desk.sum(captured)).toBe(0);
  });

  it("reports a refund that the gateway has made and that fails a day later", async () => {
    const captured = await desk.capture("fail_later");
    const refund = await desk.refunded(captured, 4900);
    await desk.ended(captured, refund, "succeeded");
    await desk.harness.sandbox.setClockAhead(dayMs + 1_000);
    await desk.ended(captured, refund, "failed");
    expect(await desk.sum(captured)).toBe(0);
  });

  it("reports a refund that takes time as accepted, until it is made", async () => {
    const captured = await desk.capture("slow");
    const refund = desk.newRefund(4900);
    const answer = await desk.refund(captured, refund);
    if (answer.type !== "accepted") throw new Error(`expected accepted, got ${answer.type}`);
    const known = { ...refund, gatewayReference: answer.gatewayReference };
    expect((await desk.books(captured)).map(({ status }) => status)).toEqual(["pending"]);
    await desk.harness.sandbox.release({ reference: captured.attemptReference });
    await desk.ended(captured, known, "succeeded");
  });
}

function describeRepeats(desk: RefundDesk): void {
  it("refunds once, and answers the same, when the same refund is sent twice", async () => {
    const captured = await desk.capture();
    const refund = desk.newRefund(2000);
    const first = await desk.refund(captured, refund);
    expect(["done", "accepted"]).toContain(first.type);
    expect(await desk.refund(captured, refund)).toEqual(first);
    expect(await desk.sum(captured)).toBe(2000);
  });

  it("refunds once when the answer is lost and the same refund is sent again", async () => {
    const captured = await desk.capture();
    const refund = desk.newRefund(2000);
    desk.harness.spoilWith(() => "reset");
    expect(await desk.refund(captured, refund)).toMatchObject(unknownAnswer);
    desk.harness.spoilWith((honest) => honest);
    expect(["done", "accepted"]).toContain((await desk.refund(captured, refund)).type);
    expect(await desk.sum(captured)).toBe(2000);
  });
}

function describeLookUps(desk: RefundDesk, subject: RefundSubject): void {
  const { findsByReference, provesAbsence = findsByReference } = subject;
  it("looks up a refund by the gateway's reference, or cannot tell", async () => {
    const captured = await desk.capture();
    const refund = await desk.refunded(captured, 2000);
    const record = await desk.lookUp(captured, refund);
    if (desk.refunds.listRefunds === undefined) expect(record.type).toBe("cannotTell");
    else expect(record).toEqual({ type: "succeeded", gatewayReference: refund.gatewayReference });
  });

  it("looks up a refund by our own reference, or cannot tell", async () => {
    const captured = await desk.capture();
    const { gatewayReference, ...unanswered } = await desk.refunded(captured, 2000);
    const record = await desk.lookUp(captured, unanswered);
    if (findsByReference) expect(record).toEqual({ type: "succeeded", gatewayReference });
    else expect(record.type).toBe("cannotTell");
    const other = await desk.lookUp(captured, desk.newRefund(2000));
    expect(other.type).toBe(provesAbsence ? "absent" : "cannotTell");
  });

  it("reports a refund that was never sent as absent only where it can be read, and makes none", async () => {
    const captured = await desk.capture();
    const record = await desk.lookUp(captured, desk.newRefund(2000));
    expect(record.type).toBe(desk.refunds.listRefunds === undefined ? "cannotTell" : "absent");
    expect(await desk.books(captured)).toEqual([]);
  });

  it("takes no refund of another amount for ours", async () => {
    const captured = await desk.capture();
    const { gatewayReference: _, ...unanswered } = await desk.refunded(captured, 2000);
    expect((await desk.lookUp(captured, { ...unanswered, amountMinor: 2001 })).type).toBe("cannotTell");
  });
}

function describeByHand(desk: RefundDesk): void {
  it("reports a refund that a person made at the gateway, without a reference of ours", async () => {
    const captured = await desk.capture();
    const ours = await desk.refunded(captured, 1000);
    await desk.ended(captured, ours, "succeeded");
    const [authorization] = await desk.harness.sandbox.authorizations(captured.attemptReference);
    await desk.harness.sandbox.refundByHand(authorization!.id, 500);
    const { currency } = captured;
    if (desk.refunds.listRefunds === undefined) {
      const { refundReference, ...reported } = await desk.notification(
        (one) => one.kind === "refunded" && one.refundReference === undefined,
      );
      expect(reported).toMatchObject({
        gatewayReference: captured.gatewayReference,
        amount: { amountMinor: 500, currency },
      });
      return;
    }
    const listed = await desk.refunds.listRefunds(desk.harness.call(""), captured);
    const { refundReference, gatewayReference } = ours;
    expect(listed).toHaveLength(2);
    expect(listed).toContainEqual({
      gatewayReference,
      refundReference,
      amountMinor: 1000,
      currency,
      status: "succeeded",
    });
    const byHand = listed!.find((one) => one.gatewayReference !== gatewayReference);
    expect(byHand).toEqual({
      gatewayReference: expect.stringMatching(/./),
      amountMinor: 500,
      currency,
      status: "succeeded",
    });
  });
}

/** Answers that a refund must not believe: each names its own refund, and not only its payment. */
const { "another reference": _ofThePayment, ...brokenOfRefunds } = brokenAnswers;
const spoilt: Readonly<Record<string, Spoil>> = {
  ...brokenOfRefunds,
  ...otherMoney,
  "another refund": ({ status, body }) => ({ status, body: body.replaceAll("ref_bench", "ref_other") }),
};

// 402 and 404 have their own meaning at some gateways.
const statuses = [400, 401, 403, 405, 408, 409, 422, 425, 429, 500, 502, 503, 504];

function describeDistrust(desk: RefundDesk, subject: RefundSubject & { refusalOf: (status: number) => string }): void {
  it.each(Object.entries(spoilt))("treats %s to a refund as unknown", async (_, spoil) => {
    const captured = await desk.capture();
    desk.harness.spoilWith(spoil);
    expect(await desk.refund(captured, desk.newRefund(4900))).toMatchObject(unknownAnswer);
  });

  it("cannot tell from a look-up that arrives spoilt in any of these ways", async () => {
    const captured = await desk.capture();
    const refund = await desk.refunded(captured, 4900);
    const { gatewayReference: __, ...unanswered } = refund;
    for (const [name, spoil] of Object.entries(spoilt)) {
      desk.harness.spoilWith(spoil);
      expect((await desk.lookUp(captured, refund)).type, name).toBe("cannotTell");
      if (name === "another refund") continue;
      expect((await desk.lookUp(captured, unanswered)).type, name).toBe("cannotTell");
    }
  });

  it("returns no list that arrives broken", async () => {
    const captured = await desk.capture();
    await desk.refunded(captured, 4900);
    for (const [name, spoil] of Object.entries(brokenOfRefunds)) {
      desk.harness.spoilWith(spoil);
      expect(await desk.refunds.listRefunds?.(desk.harness.call(""), captured), name).toBeUndefined();
    }
  });

  it.each(statuses)(
    "takes its own error to a refund under status %d for what it is documented to mean",
    async (status) => {
      const captured = await desk.capture();
      const body = subject.refusalOf(status);
      desk.harness.spoilWith(() => ({ status, headers: { "content-type": "application/json" }, body }));
      const answer = await desk.refund(captured, desk.newRefund(4900));
      const definitive = subject.finalStatuses?.includes(status) === true;
      expect(answer).toMatchObject(status < 500 ? { type: "refused", definitive } : unknownAnswer);
    },
  );

  it("takes a refusal of the gateway's as final", async () => {
    const captured = await desk.capture();
    const { finalRefusal: refusal } = subject;
    desk.harness.spoilWith(() => ({ ...refusal, headers: { "content-type": "application/json" } }));
    expect(await desk.refund(captured, desk.newRefund(4900))).toMatchObject({ type: "refused", definitive: true });
  });

  it.each(Object.entries(silences))("takes %s as unknown, with kind TIMEOUT", async (_, spoil) => {
    const captured = await desk.capture();
    desk.harness.spoilWith(spoil);
    const call = desk.harness.call("silence", 200);
    const answer = await desk.refunds.refund(call, captured, desk.newRefund(4900));
    expect(answer).toMatchObject({ type: "unknown", kind: "TIMEOUT" });
  });

  it.each(Object.entries(unreachableOrigins))("never takes %s for a refusal", async (_, origin) => {
    const captured = await desk.capture();
    const { refunds } = desk.harness.connectTo(await origin(desk.harness.middle.url));
    const refund = desk.newRefund(4900);
    expect(await refunds!.refund(desk.harness.call("gone"), captured, refund)).toMatchObject(unknownAnswer);
    expect((await refunds!.lookUpRefund(desk.harness.call(""), captured, refund)).type).toBe("cannotTell");
    expect(await refunds!.listRefunds?.(desk.harness.call(""), captured)).toBeUndefined();
    expect(await desk.books(captured)).toEqual([]);
  });
}
