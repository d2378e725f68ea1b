/** Sessions of one order, whose merchant refuses a second payment, and the rows that remain of them. */
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import type { NewSession } from "../create-session.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { type CoreFixture, cards } from "../scenarios/core.fixture.ts";
import { withAnswers } from "../scenarios/recovery.fixture.ts";
import { submitPayment } from "../submit-payment.ts";

export async function refuseRepeatedOrders({ asOwner, owner }: CoreFixture): Promise<void> {
  await asOwner.pool.query(
    `INSERT INTO merchant_settings (merchant_id, session_lifetime_ms, publishable_key, repeated_orders, repeated_orders_at)
     VALUES ($1, 1800000, 'pk', 'REFUSE', app.clock())`,
    [owner.merchantId],
  );
}

/** Returns steps and views for a fixture that starts later. */
export function ordersOf(fixture: () => CoreFixture) {
  return {
    async ofOneOrder(count = 2, fields: Partial<NewSession> = {}): Promise<PaymentSession[]> {
      const orderRef = `order-${systemRuntime.uuid()}`;
      return Promise.all(Array.from({ length: count }, () => fixture().newSession({ orderRef, ...fields })));
    },

    /** Pays a session up to its ordered capture, which gets no answer. */
    async leaveUnanswered(session: PaymentSession): Promise<void> {
      const silent = withAnswers(fixture().core, {
        capture: async () => ({ type: "unknown", kind: "TIMEOUT", reason: "no answer" }),
        lookUp: async () => ({ type: "inconclusive", reason: "no answer" }),
      });
      fixture().useCard(cards.approved);
      await submitPayment(silent, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
      await Promise.all(silent.inFlight);
    },

    stateOf: async (session: PaymentSession) => (await fixture().loadSession(session)).session,
    attemptsOf: async (session: PaymentSession) => (await fixture().loadSession(session)).attempts,
    async ownerOf({ orderRef }: PaymentSession): Promise<string | undefined> {
      const text = "SELECT session_id FROM app.order_winner WHERE order_ref = $1";
      return (await fixture().asOwner.pool.query(text, [orderRef])).rows[0]?.session_id;
    },
    async broken(...sessions: PaymentSession[]): Promise<unknown[]> {
      const ids = sessions.map(({ id }) => id);
      return (await fixture().asOwner.pool.query("SELECT rule FROM app.audit($1)", [ids])).rows;
    },
  };
}
