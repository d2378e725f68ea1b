/** Payments with every outcome that a webhook can report, made by the real flow with the real sandbox gateways. */
import type { CoreFixture } from "../../core/core.fixture.ts";
import { cards } from "../../core/core.fixture.ts";
import { createSession } from "../../core/create-session.ts";
import type { PaymentSession } from "../../core/entities.ts";
import { expireOnce } from "../../core/expire-sessions.ts";
import { recoverSessionsOnce } from "../../core/submit-payment.ts";
import type { EventType } from "../../events/outbox.ts";
import { testCards } from "../../gateways/sandbox/test-cards.ts";

/** A sequence of operations, with its events in order. */
export type Story = {
  readonly name: string;
  readonly events: readonly EventType[];
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
    name: "all gateways down",
    events: ["payment_session.degraded", "payment_attempt.voided"],
    play: async (fixture, session) => void (await fixture.submit(session, cards.allDown)),
  },
  {
    name: "no payment",
    events: ["payment_session.expired"],
    async play(fixture) {
      await fixture.setClockAhead(31);
      await expireOnce(fixture.core);
      await fixture.setClockAhead(0);
    },
  },
];

/** Plays a story to its last event. Returns its session. */
export async function playStory(fixture: CoreFixture, story: Story): Promise<PaymentSession> {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1001", customerEmail: "ada@example.com" };
  const created = await createSession(fixture.core, fixture.owner, order);
  const { session } = await fixture.loadSession(created.session);
  await story.play(fixture, session);
  return session;
}
