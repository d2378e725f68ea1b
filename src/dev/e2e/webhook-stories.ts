/** Payments with every outcome that a webhook can report, made by the real flow with the real sandbox gateways. */
import type { Core } from "../../core/core.ts";
import { createSession, type NewSession } from "../../core/create-session.ts";
import { expireOnce } from "../../core/expire-sessions.ts";
import type { PaymentSession } from "../../core/rows/entities.ts";
import type { CoreFixture } from "../../core/scenarios/core.fixture.ts";
import { cards } from "../../core/scenarios/core.fixture.ts";
import { drain, replaced } from "../../core/scenarios/recovery.fixture.ts";
import { recoverSessionsOnce } from "../../core/submit-payment.ts";
import { dispute } from "../../disputes/disputes.fixture.ts";
import { emitDueDispute } from "../../disputes/due-disputes.ts";
import type { EventType } from "../../events/outbox.ts";
import { noSetUpCard } from "../../gateways/sandbox/stored-cards.ts";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { createRefundTurn } from "../../refunds/refund-once.ts";
import { requestRefund } from "../../refunds/request-refund.ts";

/** A sequence of operations, with its events in order. */
export type Story = {
  readonly name: string;
  readonly events: readonly EventType[];
  readonly order?: Partial<NewSession>;
  play(fixture: CoreFixture, session: PaymentSession): Promise<void>;
};

const cardNamed = (name: string) => testCards.find((card) => card.name === name)!.number;

/** SANDBOX_B's report of a capture arrives when all this is done, so that bodies do not depend on which is faster. */
async function withLateReports(fixture: CoreFixture, play: () => Promise<unknown>): Promise<void> {
  await fixture.sandbox.hold("b.result");
  await play();
  await fixture.sandbox.paused({ operation: "b.result" });
  await fixture.sandbox.release({ operation: "b.result" });
}

async function settle(fixture: CoreFixture): Promise<void> {
  await recoverSessionsOnce(fixture.core);
  await Promise.all(fixture.core.inFlight);
}

const refundOf = ({ id: sessionId, merchantId }: PaymentSession) => ({ sessionId, merchantId, key: "return-1" });

/** Returns the same core, with refunds that never reach their gateway. */
function losingRefunds(core: Core): Core {
  return {
    ...core,
    bind: async (...attempt) => {
      const bound = await core.bind(...attempt);
      const refund = async () => ({ type: "unknown", kind: "TIMEOUT", reason: "no answer" }) as const;
      const refunds = bound && { ...bound.connector.refunds!, refund };
      return bound && { ...bound, connector: replaced(bound.connector, { refunds }) };
    },
  };
}

const setUp = {
  amountMinor: 0,
  orderRef: "setup",
  customerEmail: undefined,
  allowRepeatedOrder: true,
  customerRef: "customer-8",
  saveCard: {},
  setUp: {},
};

async function expireAll(fixture: CoreFixture): Promise<void> {
  await fixture.setClockAhead(31);
  await expireOnce(fixture.core);
  await fixture.setClockAhead(0);
}

/** Every type of event in at least one of them. */
export const stories: readonly Story[] = [
  {
    name: "failover",
    events: ["payment_session.succeeded"],
    async play(fixture, session) {
      await withLateReports(fixture, () => fixture.submit(session, cards.failover));
    },
  },
  {
    name: "declined",
    events: ["payment_session.declined"],
    play: async (fixture, session) => void (await fixture.submit(session, cards.softDecline)),
  },
  {
    name: "answer lost",
    events: ["payment_session.succeeded", "payment_attempt.voided"],
    async play(fixture, session) {
      await withLateReports(fixture, async () => {
        await fixture.submit(session, cardNamed("Gateway error after the hold"));
        await Promise.all(fixture.core.inFlight);
      });
    },
  },
  {
    name: "capture fails afterwards",
    events: ["payment_session.succeeded", "payment_attempt.capture_failed"],
    async play(fixture, session) {
      await withLateReports(fixture, () => fixture.submit(session, cardNamed("Capture fails afterwards")));
    },
  },
  {
    name: "capture in doubt",
    events: ["payment_session.pending", "payment_session.succeeded"],
    async play(fixture, session) {
      await fixture.sandbox.hold("a.capture");
      const paying = fixture.submit(session, cards.approved);
      await fixture.sandbox.paused({ operation: "a.capture" });
      // Past the 45 seconds of a submission and the lease, so that another worker takes over.
      await fixture.setClockAhead(1);
      await fixture.lapseLease(session);
      await recoverSessionsOnce(fixture.core);
      await fixture.sandbox.release({ operation: "a.capture" });
      await paying;
      await settle(fixture);
      await fixture.setClockAhead(0);
    },
  },
  {
    name: "not captured in time",
    events: [
      "payment_session.held",
      "payment_session.capture_due",
      "payment_session.declined",
      "payment_attempt.voided",
    ],
    order: { capture: "manual" },
    async play(fixture, session) {
      await fixture.submit(session, cards.approved);
      await settle(fixture);
      for (const days of [5.8, 6.8]) {
        await fixture.setClockAhead(days * 24 * 60);
        await settle(fixture);
      }
      await fixture.setClockAhead(0);
    },
  },
  {
    name: "all gateways down",
    events: ["payment_session.degraded", "payment_attempt.voided"],
    play: async (fixture, session) => void (await fixture.submit(session, cards.allDown)),
  },
  {
    name: "refund refused",
    events: ["payment_session.succeeded", "refund.failed"],
    async play(fixture, session) {
      await fixture.submit(session, cardNamed("Refund refused"));
      await Promise.all(fixture.core.inFlight);
      await requestRefund(fixture.core, refundOf(session));
    },
  },
  {
    name: "refund without an answer",
    events: ["payment_session.succeeded", "refund.pending", "refund.succeeded"],
    async play(fixture, session) {
      await fixture.submit(session, cards.approved);
      await Promise.all(fixture.core.inFlight);
      const silent = losingRefunds(fixture.core);
      await requestRefund(silent, refundOf(session));
      await fixture.setClockAhead(61);
      await drain(createRefundTurn(silent));
      await fixture.setClockAhead(67);
      await drain(createRefundTurn(fixture.core));
      await fixture.setClockAhead(0);
    },
  },
  {
    name: "disputed and won",
    events: ["payment_session.succeeded", "dispute.created", "dispute.due_soon", "dispute.updated", "dispute.closed"],
    async play(fixture, session) {
      await fixture.submit(session, cards.approved);
      await Promise.all(fixture.core.inFlight);
      const claim = { reasonCode: "13.1", network: "visa", respondBy: "2026-03-23T22:00:00.000Z" };
      const { id } = await dispute(fixture.core, session, { event: "chargebackOpened", ...claim }, "D-1077");
      await emitDueDispute(fixture.core, { sessionId: session.id, id });
      await dispute(fixture.core, session, { event: "charged" }, "D-1077");
      await dispute(fixture.core, session, { event: "returned" }, "D-1077");
    },
  },
  {
    name: "card stored with an agreement",
    events: ["payment_session.succeeded", "payment_method.saved", "agreement.updated"],
    order: {
      customerRef: "customer-7",
      saveCard: {
        agreement: {
          type: "RECURRING",
          text: "49.00 EUR each month until you cancel.",
          everyDays: 28,
          endsOn: "2099-12-31",
        },
      },
    },
    async play(fixture, session) {
      const consent = { template: "agreement.1", locale: "en" };
      await fixture.submitWith(session, { number: cards.approved, consent });
      while (fixture.core.inFlight.size > 0) await Promise.all(fixture.core.inFlight);
    },
  },
  {
    name: "set-up",
    events: ["setup_session.succeeded", "payment_method.saved"],
    order: setUp,
    async play(fixture, session) {
      const consent = { template: "set_up_1", locale: "en" };
      await fixture.submitWith(session, { number: cards.approved, consent });
      while (fixture.core.inFlight.size > 0) await Promise.all(fixture.core.inFlight);
    },
  },
  {
    name: "set-up, declined",
    events: ["setup_session.failed"],
    order: setUp,
    async play(fixture, session) {
      const consent = { template: "set_up_1", locale: "en" };
      await fixture.submitWith(session, { number: noSetUpCard, consent });
      await Promise.all(fixture.core.inFlight);
    },
  },
  {
    name: "set-up, expired",
    events: ["setup_session.expired"],
    order: setUp,
    play: expireAll,
  },
  {
    name: "no payment",
    events: ["payment_session.expired"],
    play: expireAll,
  },
];

export async function playStory(fixture: CoreFixture, story: Story): Promise<PaymentSession> {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1001", customerEmail: "ada@example.com" };
  const created = await createSession(fixture.core, fixture.owner, { ...order, ...story.order });
  const { session } = await fixture.loadSession(created.session);
  await story.play(fixture, session);
  return session;
}
