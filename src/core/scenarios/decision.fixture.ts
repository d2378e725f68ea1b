/**
 * Steps for tests of a person's decision: a payment whose capture stays unanswered, a decision, and gateway reports.
 */
import type { CaptureAnswer, Connector } from "../../gateways/connector.ts";
import { processNotificationsOnce } from "../../oversight/notifications/process-notifications.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { decideAttempt, type WantedDecision } from "../execute/decisions.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import { recoverSessionsOnce, submitPayment } from "../submit-payment.ts";
import { type CoreFixture, cards } from "./core.fixture.ts";
import { recover, withAnswers } from "./recovery.fixture.ts";

/** The decision that no money is kept. */
export const givenUp: WantedDecision = {
  decision: "GIVEN_UP",
  reference: null,
  reason: "Refunded at the gateway.",
  by: "ada",
  takesTwo: false,
};
export const captured: WantedDecision = { ...givenUp, decision: "CAPTURED", reference: "PSP1", reason: "Seen there." };

export const noAnswer: CaptureAnswer = { type: "unknown", kind: "TIMEOUT", reason: "no answer" };

/** Returns the steps on the fixture that a test file has started by the time it calls them. */
export function decisionSteps(fixture: () => CoreFixture) {
  const firstOf = async (session: PaymentSession): Promise<Attempt> =>
    (await fixture().loadSession(session)).attempts[0]!;
  const stateOf = async (session: PaymentSession) => (await fixture().loadSession(session)).session;

  /** Submits, and waits until no worker works on the session. */
  async function submitOn(core: Core): Promise<PaymentSession> {
    const session = await fixture().newSession();
    fixture().useCard(cards.approved);
    await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
    await Promise.all(core.inFlight);
    return session;
  }

  /** Pays a session whose capture stays unanswered past the deadline. */
  async function unanswered(answers: Partial<Connector> = {}): Promise<{ session: PaymentSession; core: Core }> {
    const core = withAnswers(fixture().core, {
      capture: async () => noAnswer,
      lookUp: async () => ({ type: "inconclusive", reason: "no answer" }),
      ...answers,
    });
    const session = await submitOn(core);
    await fixture().setClockAhead(10);
    await recover(fixture(), core, session);
    return { session, core };
  }

  async function of(session: PaymentSession) {
    const { id: attemptId, sessionId } = await firstOf(session);
    return { merchantId: fixture().owner.merchantId, sessionId, attemptId };
  }
  async function decide(session: PaymentSession, wanted: WantedDecision) {
    const attempt = await of(session);
    return fixture().core.database.transaction((tx) => decideAttempt(tx, attempt, wanted));
  }
  /** Runs one turn of recovery, which resumes only sessions that are due. */
  async function turn(core: Core): Promise<void> {
    await recoverSessionsOnce(core);
    await Promise.all(core.inFlight);
    await fixture().sandbox.quiet();
  }

  /** Runs a turn past the quiet time, after which a capture that was in flight has been reported. */
  async function turnAfterQuiet(core: Core): Promise<void> {
    await fixture().setClockAhead(30);
    await turn(core);
  }

  const report = async (
    { connectionId, id, gatewayReference }: Attempt,
    kind: string,
    { amountMinor = 4900, capture }: { amountMinor?: number; capture?: string } = {},
  ) => {
    const text = `
      INSERT INTO gateway_notification
        (connection_id, notification_id, kind, attempt_reference, gateway_reference, amount_minor, currency, modification_reference)
      VALUES ($1, $2, $3, $4, $5, $6, 'EUR', $7)`;
    const named = [encodeId("att", id), gatewayReference ?? "r1", amountMinor, capture ?? null];
    const values = [connectionId, `${kind}:${id}:${capture}`, kind, ...named];
    await fixture().core.database.query({ name: "report", text }, values);
    await processNotificationsOnce(fixture().core);
  };

  return { firstOf, stateOf, submitOn, unanswered, of, decide, turn, turnAfterQuiet, report };
}
