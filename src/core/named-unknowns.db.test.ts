import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AttemptAtGateway, GatewayOutcome } from "../gateways/connector.ts";
import { Secret } from "../platform/secrets.ts";
import type { Core } from "./core.ts";
import { type CoreFixture, cards, startCoreFixture } from "./core-fixture.ts";
import { recover, withAnswers } from "./recovery-fixture.ts";
import { submitPayment } from "./submit-payment.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule([], [fixture.connectionIds[0]!]);
});
afterAll(() => fixture.close());

async function submitOn(core: Core) {
  const session = await fixture.newSession();
  fixture.useCard(cards.approved);
  await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
  await Promise.all(core.inFlight);
  return session;
}

/** Loses the answer, but not the gateway's name for the payment; keeps what it is asked about afterwards. */
function losingAnswers(gatewayReference: string) {
  const asked: AttemptAtGateway[] = [];
  const outcome: GatewayOutcome = { type: "unknown", kind: "TIMEOUT", reason: "no answer", gatewayReference };
  const core = withAnswers(fixture.core, {
    authorize: async () => ({ outcome }),
    async lookUp(_, attempt) {
      asked.push(attempt);
      return { type: "cannotTell", reason: "no answer" };
    },
    async void(_, attempt) {
      asked.push(attempt);
      return { type: "done" };
    },
  });
  return { core, asked };
}

describe("an attempt whose answer was lost after the gateway had named the payment", () => {
  it("is looked up and given back by that name", async () => {
    const { core, asked } = losingAnswers("named-1");
    const session = await submitOn(core);
    await recover(fixture, core, session);
    expect(asked.map(({ gatewayReference }) => gatewayReference)).toEqual(["named-1", "named-1"]);
    const { attempts } = await fixture.trail(session);
    expect(attempts).toMatchObject([{ status: "VOIDED", gatewayReference: "named-1" }]);
    // Not the time in its id, which is its session's.
    expect(asked.map(({ startedAt }) => startedAt)).toEqual(Array(2).fill(attempts[0]!.startedAt));
  });

  it("is given back by our own reference where the name is another attempt's, or none that could be kept", async () => {
    const kept = await submitOn(fixture.core);
    const taken = (await fixture.trail(kept)).attempts[0]!.gatewayReference!;
    for (const name of [taken, "n".repeat(1_000)]) {
      const { core, asked } = losingAnswers(name);
      const session = await submitOn(core);
      expect((await fixture.trail(session)).session).toMatchObject({ status: "DEGRADED" });
      await recover(fixture, core, session);
      expect(asked.map(({ gatewayReference }) => gatewayReference)).toEqual([undefined, undefined]);
      expect((await fixture.trail(session)).attempts).toMatchObject([{ status: "VOIDED", gatewayReference: null }]);
    }
    expect((await fixture.trail(kept)).session.status).toBe("SUCCEEDED");
  });
});

describe("a capture", () => {
  it("tells the gateway what the payment is about", async () => {
    const captured: object[] = [];
    const core = withAnswers(fixture.core, {
      async capture(_, hold) {
        captured.push(hold);
        return { type: "done" };
      },
    });
    const session = await submitOn(core);
    expect(captured).toMatchObject([{ orderRef: session.orderRef, sessionId: expect.stringMatching(/^ps_/) }]);
  });
});
