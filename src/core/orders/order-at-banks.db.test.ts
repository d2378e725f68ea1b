/** One order, one payment: another session pays the order while the customer of the first is at the bank. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodeId } from "../../platform/ids.ts";
import type { PaymentSession } from "../rows/entities.ts";
import {
  type AuthenticationFixture,
  challengeAt,
  startAuthentication,
  startProvided,
} from "../scenarios/authentication.fixture.ts";
import { cards } from "../scenarios/core.fixture.ts";
import { recover } from "../scenarios/recovery.fixture.ts";
import { ordersOf, refuseRepeatedOrders } from "./orders.fixture.ts";

let flow: AuthenticationFixture;
afterEach(() => flow?.close());

const { leaveUnanswered, ownerOf, broken } = ordersOf(() => flow.base);

// Cards that SANDBOX_A declines softly, so that a provider asks, and that SANDBOX_A asks about itself.
const asks = [
  {
    by: "the gateway",
    async start() {
      flow = await startAuthentication();
      await refuseRepeatedOrders(flow.base);
      return flow.pay({ A: challengeAt.A() });
    },
    answer: (session: PaymentSession) => flow.answerAndReturn(session, "pass"),
    attempts: ["SANDBOX_A VOIDED"],
  },
  {
    by: "a provider",
    async start() {
      flow = await startProvided();
      await refuseRepeatedOrders(flow.base);
      return flow.payWith("4000002760003184");
    },
    answer: (session: PaymentSession) => flow.showProvided(session),
    attempts: ["SANDBOX_A DECLINED", "SANDBOX_A VOIDED again"],
  },
];

describe.each(asks)("a customer who is asked by $by", ({ start, answer, attempts }) => {
  let session: PaymentSession;
  beforeEach(async () => {
    session = await start();
  });

  it("has the hold voided where the order was paid meanwhile, and no further gateway is called", async () => {
    const other = await flow.base.newSession({ orderRef: session.orderRef });
    expect(await flow.base.submit(other, cards.approved)).toMatchObject({ status: "SUCCEEDED" });
    await flow.settled();
    await answer(session);
    await flow.recover();
    expect(await flow.story(session)).toMatchObject({ end: "DECLINED order_already_paid", attempts });
    expect((await flow.base.loadSession(session)).session.payingSessionId).toBe(other.id);
    expect(await flow.atGateways(session)).toContain("A voided");
    expect(await flow.base.capturedAtGateways(session)).toBe(0);
    expect(await flow.base.capturedAtGateways(other)).toBe(1);
    expect(await broken(session, other)).toEqual([]);
  });

  it("has the hold voided where the order is being paid, which that payment then is", async () => {
    const other = await flow.base.newSession({ orderRef: session.orderRef });
    await leaveUnanswered(other);
    await answer(session);
    await flow.recover();
    // On a slow machine recovery has captured the other one by now.
    const end = expect.stringMatching(/^DECLINED order_(being|already)_paid$/);
    expect(await flow.story(session)).toMatchObject({ end, attempts });
    expect(await ownerOf(session)).toBe(other.id);
    await flow.base.setClockAhead(1);
    await recover(flow.base, flow.base.core, other);
    expect((await flow.base.loadSession(other)).session).toMatchObject({ status: "SUCCEEDED" });
    expect(await flow.base.capturedAtGateways(session)).toBe(0);
    expect(await flow.base.capturedAtGateways(other)).toBe(1);
    const { attempts: tried } = await flow.base.loadSession(session);
    expect(tried.at(-1)!.nextBecause).toContain(encodeId("ps", other.id));
    expect(await broken(session, other)).toEqual([]);
  });
});
