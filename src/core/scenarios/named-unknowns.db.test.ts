import { beforeAll, describe, expect, it } from "vitest";
import { setClockAhead } from "../../dev/testing/database-clock.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AttemptAtGateway, GatewayOutcome } from "../../gateways/connector.ts";
import { startCoreFixture } from "./core.fixture.ts";
import { recover, withAnswers } from "./recovery.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule([], [fixture.connectionIds[0]!]));

/** Creates connector answers that lose the answer but not the gateway's reference, and records later requests. */
function losingAnswers(gatewayReference: string) {
  const asked: AttemptAtGateway[] = [];
  const outcome: GatewayOutcome = { type: "unknown", kind: "TIMEOUT", reason: "no answer", gatewayReference };
  const core = withAnswers(fixture.core, {
    authorize: async () => ({ outcome }),
    async lookUp(_, attempt) {
      asked.push(attempt);
      return { type: "inconclusive", reason: "no answer" };
    },
    async void(_, attempt) {
      asked.push(attempt);
      return { type: "done" };
    },
  });
  return { core, asked };
}

describe("an attempt whose answer was lost after the gateway returned a reference", () => {
  it("is looked up and voided by that reference", async () => {
    const { core, asked } = losingAnswers("named-1");
    const session = await fixture.submitOn(core);
    await recover(fixture, core, session);
    expect(asked.map(({ gatewayReference }) => gatewayReference)).toEqual(["named-1", "named-1"]);
    const { attempts } = await fixture.loadSession(session);
    expect(attempts).toMatchObject([{ status: "VOIDED", gatewayReference: "named-1" }]);
  });

  it("is voided with its age by the database's clock, whatever the process's own clock says", async () => {
    const { core, asked } = losingAnswers("named-2");
    const unanswered = { type: "unknown", kind: "TIMEOUT", reason: "no answer" } as const;
    const session = await fixture.submitOn(withAnswers(core, { void: async () => unanswered }));
    await setClockAhead(fixture.asOwner, 25 * 60);
    await recover(fixture, core, session);
    await setClockAhead(fixture.asOwner, 0);
    const [attempt] = (await fixture.loadSession(session)).attempts;
    // Its age counts from its opening until its rows were read for the void, not from the time in its id, which is the
    // session's.
    const lasted = attempt!.completedAt!.getTime() - attempt!.startedAt.getTime();
    expect(asked.at(-1)!.ageMs).toBeGreaterThan(24 * 3_600_000);
    expect(asked.at(-1)!.ageMs).toBeLessThanOrEqual(lasted);
  });

  it("is voided by our own reference where the gateway's is another attempt's or unusable", async () => {
    const kept = await fixture.submitOn(fixture.core);
    const taken = (await fixture.loadSession(kept)).attempts[0]!.gatewayReference!;
    for (const name of [taken, "n".repeat(1_000)]) {
      const { core, asked } = losingAnswers(name);
      const session = await fixture.submitOn(core);
      expect((await fixture.loadSession(session)).session).toMatchObject({ status: "DEGRADED" });
      await recover(fixture, core, session);
      expect(asked.map(({ gatewayReference }) => gatewayReference)).toEqual([undefined, undefined]);
      expect((await fixture.loadSession(session)).attempts).toMatchObject([
        { status: "VOIDED", gatewayReference: null },
      ]);
    }
    expect((await fixture.loadSession(kept)).session.status).toBe("SUCCEEDED");
  });
});

describe("a capture", () => {
  it("sends the session and the order reference to the gateway", async () => {
    const captured: object[] = [];
    const core = withAnswers(fixture.core, {
      async capture(_, hold) {
        captured.push(hold);
        return { type: "done" };
      },
    });
    const session = await fixture.submitOn(core);
    expect(captured).toMatchObject([{ orderRef: session.orderRef, sessionId: expect.stringMatching(/^ps_/) }]);
  });
});
