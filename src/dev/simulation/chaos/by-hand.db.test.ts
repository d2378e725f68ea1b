/** Tests that the check of a chaos run tells money that a person captured at a gateway from money that the service did. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Core } from "../../../core/core.ts";
import type { PaymentSession } from "../../../core/rows/entities.ts";
import { type CoreFixture, startCoreFixture } from "../../../core/scenarios/core.fixture.ts";
import { recover, replaced } from "../../../core/scenarios/recovery.fixture.ts";
import { submitPayment } from "../../../core/submit-payment.ts";
import type { Connector } from "../../../gateways/connector.ts";
import { raiseAlarmsOnce } from "../../../oversight/raise-alarms.ts";
import { encodeId } from "../../../platform/ids.ts";
import { Secret } from "../../../platform/secrets.ts";
import { findViolations } from "./check.ts";
import { readRecords } from "./read-records.ts";
import type { Records } from "./records.ts";

const capturedByHand = "4000000000007262";
const never = new Promise<never>(() => {});

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
});
afterAll(() => fixture.close());

/** A process that dies in the middle of a call: `dies` says of which connector, and whether the gateway has executed it. */
function dying(answersOf: (connector: Connector, die: () => Promise<never>) => Partial<Connector>) {
  const gone = new AbortController();
  const die = () => {
    gone.abort();
    return never;
  };
  const core: Core = {
    ...fixture.core,
    inFlight: new Set(),
    bind: async (...attempt) => {
      const bound = await fixture.core.bind(...attempt);
      return bound && { ...bound, connector: replaced(bound.connector, answersOf(bound.connector, die)) };
    },
  };
  return { core, signal: gone.signal };
}

async function pay({ core, signal }: ReturnType<typeof dying>): Promise<PaymentSession> {
  const session = await fixture.newSession();
  fixture.useCard(capturedByHand);
  await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal });
  // The person captures five seconds after the hold, by the gateways' clock.
  await fixture.sandbox.setClockAhead(6_000);
  return session;
}

/** Returns the session's records as a chaos run reads them, without events' ways to their merchant. */
async function recordsOf({ id }: PaymentSession): Promise<Records> {
  const { connectionString } = fixture.core.database.pool.options;
  const stored = await readRecords([connectionString!], fixture.sandbox);
  const sessionId = encodeId("ps", id);
  const events = stored.events.filter((one) => one.sessionId === sessionId);
  return {
    ...stored,
    events,
    sessions: stored.sessions.filter((one) => one.sessionId === sessionId),
    workItems: stored.workItems.filter((one) => one.sessionId === sessionId),
    webhooks: events.map(({ eventId, body }) => ({ eventId, body, signed: true, accepted: true })),
    orders: [],
    // The fixture moves the clock.
    outages: [],
    clockMovedAt: [new Date(Date.now() + 24 * 3_600_000).toISOString()],
  };
}

const kindsOf = (records: Records) => findViolations(records).map(({ kind }) => kind);
/** The same records for a check that does not know what a person did. */
const unaware = (records: Records): Records => ({
  ...records,
  authorizations: records.authorizations.map((one) => ({ ...one, hold: "lasts" })),
});
const unnoticed = (records: Records): Records => ({ ...records, workItems: [] });

describe("findViolations() of holds that a person captures in part", () => {
  it("leaves two of one payment to a person, whose session cannot end", async () => {
    await fixture.setRule(["TIMEOUT"]);
    const process = dying((connector, die) => ({
      authorize: async (...asked) => {
        await connector.authorize(...asked);
        if (connector.gateway === "SANDBOX_B") return die();
        return { outcome: { type: "unknown", kind: "TIMEOUT", reason: "the answer is lost" } };
      },
    }));
    const session = await pay(process);
    await recover(fixture, fixture.core, session);
    await recover(fixture, fixture.core, session);
    await fixture.setClockAhead(120);
    await raiseAlarmsOnce(fixture.core);
    const records = await recordsOf(session);
    expect(records.sessions).toMatchObject([{ status: "DEGRADED", phase: "PROCESSING" }]);
    const items = Array(4).fill("work_item");
    const ofTwoHands = ["captured_twice", "captured_without_success", "not_final", ...items, "wrong_amount"];
    expect(kindsOf(unaware(records)).toSorted()).toEqual(ofTwoHands);
    expect(kindsOf(records)).toEqual([]);
    expect(kindsOf(unnoticed(records)).toSorted()).toEqual(["by_hand_unnoticed", "not_final"]);
  });

  it("takes one for the session's that was made before our capture was sent, and leaves the amount to a person", async () => {
    await fixture.setClockAhead(0);
    await fixture.sandbox.setClockAhead(0);
    await fixture.setRule([], [fixture.connectionIds[1]!]);
    const session = await pay(dying((_, die) => ({ capture: die })));
    await fixture.sandbox.quiet();
    await recover(fixture, fixture.core, session);
    const records = await recordsOf(session);
    expect(records.sessions).toMatchObject([{ status: "SUCCEEDED" }]);
    expect(kindsOf(unaware(records)).toSorted()).toEqual(["work_item", "wrong_amount"]);
    expect(kindsOf(records)).toEqual([]);
    expect(kindsOf(unnoticed(records))).toEqual(["by_hand_unnoticed"]);
  });

  it("leaves one to a person that was made after our capture was accepted", async () => {
    await fixture.sandbox.setClockAhead(0);
    await fixture.sandbox.hold("b.result");
    const session = await pay({ core: fixture.core, signal: new AbortController().signal });
    await fixture.sandbox.release({});
    await expect.poll(() => fixture.eventTypes(session)).toContain("payment_attempt.capture_failed");
    const records = await recordsOf(session);
    expect(records.sessions).toMatchObject([{ status: "SUCCEEDED" }]);
    expect(kindsOf(unaware(records)).toSorted()).toEqual(["work_item", "work_item", "wrong_amount"]);
    expect(kindsOf(records)).toEqual([]);
    expect(kindsOf(unnoticed(records))).toEqual(["by_hand_unnoticed"]);
  });
});
