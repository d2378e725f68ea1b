import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { createBinder } from "../../gateways/connections.ts";
import type { Connector, LookUpAnswer, VoidAnswer } from "../../gateways/connector.ts";
import { processNotificationsOnce } from "../../oversight/notifications/process-notifications.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import { recoverSessionsOnce, submitPayment } from "../submit-payment.ts";
import { startCoreFixture } from "./core.fixture.ts";
import { itemsOf, recover, withAnswers, withoutConnectors } from "./recovery.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule([], [fixture.connectionIds[0]!]));
afterEach(() => fixture.setClockAhead(0));

const firstOf = async (session: PaymentSession): Promise<Attempt> => (await fixture.loadSession(session)).attempts[0]!;

const refusedForGood: Partial<Connector> = {
  refusesVoidedReference: false,
  capture: async () => ({ type: "refused", definitive: true, gatewayCode: "expired" }),
  void: async () => ({ type: "absent" }),
};

describe("a session whose capture is definitively refused, and whose hold is then denied", () => {
  it("waits for the latest execution time, and then ends", async () => {
    const changed = withAnswers(fixture.core, refusedForGood);
    // Only this gateway's late executions make the latest execution time matter.
    const core: Core = { ...changed, connectorOf: () => lateGateway };
    const session = await fixture.submitOn(core);
    await recover(fixture, core, session);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDING", captureRefusalCode: "expired" });
    expect((await fixture.loadSession(session)).session.status).toBe("CREATED");
    await fixture.setClockAhead(2);
    await recover(fixture, core, session);
    await recover(fixture, core, session);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDED", voidKind: "NEVER_EXISTED" });
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await fixture.eventTypes(session)).toContain("payment_session.degraded");
  });

  it.each(["absent", "accepted"] as const)(
    "believes no void sent before the latest execution time, however late its answer (%s) is recorded",
    async (type) => {
      const afterLatestExecution = async () => {
        await fixture.setClockAhead(2);
        return { type };
      };
      const changed = withAnswers(fixture.core, { ...refusedForGood, void: afterLatestExecution });
      const core: Core = { ...changed, connectorOf: () => lateGateway };
      const session = await fixture.submitOn(core);
      expect(await firstOf(session)).toMatchObject({ status: "VOIDING", retries: 1, voidAskedAt: null });
    },
  );

  it("does not end while the capture may still succeed: no answer outweighs the order", async () => {
    const core = withAnswers(fixture.core, {
      ...refusedForGood,
      capture: async () => ({ type: "unknown", kind: "TIMEOUT", reason: "no answer" }),
    });
    const session = await fixture.submitOn(core);
    await fixture.setClockAhead(10);
    await recover(fixture, core, session);
    expect(await firstOf(session)).toMatchObject({ status: "AUTHORIZED", retries: 2 });
    await fixture.setClockAhead(0);
    await recover(fixture, fixture.core, session);
    expect((await fixture.loadSession(session)).session.status).toBe("SUCCEEDED");
  });
});

const lateGateway = {
  ...({} as Connector),
  refusesVoidedReference: false,
  executionLimitMs: 1_000,
  forwardFeatures: [],
  whyNotPayable: () => undefined,
};

describe("a session whose connector or credentials are gone", () => {
  it("still ends when its attempt is unknown, and its hold is voided with growing pauses", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("a.authorize", session);
    const core = withoutConnectors(fixture.core);
    await recover(fixture, core, session);
    expect((await paying).status).toBe("DEGRADED");
    const first = await firstOf(session);
    expect(first).toMatchObject({ status: "VOIDING", retries: 1 });
    await recover(fixture, core, session);
    const second = await firstOf(session);
    expect(second.retries).toBe(2);
    expect((await fixture.loadSession(session)).session.leaseUntil).toEqual(second.nextRetryAt);
    await fixture.sandbox.release({});
    await Promise.all(fixture.core.inFlight);
    await recover(fixture, fixture.core, session);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDED" });
  });

  it("repeats the capture with pauses until they return", async () => {
    const core: Core = {
      ...withoutConnectors(fixture.core),
      bind: (...attempt) => (isCapturing ? Promise.resolve(undefined) : fixture.core.bind(...attempt)),
      connectorOf: fixture.core.connectorOf,
    };
    let isCapturing = false;
    const answered = withAnswers(core, {
      async capture() {
        isCapturing = true;
        return { type: "unknown", kind: "GATEWAY_ERROR", reason: "credentials are being swapped" };
      },
    });
    const session = await fixture.submitOn(answered);
    await recover(fixture, core, session);
    expect(await firstOf(session)).toMatchObject({ status: "AUTHORIZED", retries: 2, nextRetryAt: expect.any(Date) });
    await recover(fixture, fixture.core, session);
    expect((await fixture.loadSession(session)).session.status).toBe("SUCCEEDED");
  });

  it("fails an attempt that cannot be sent, with the reason", async () => {
    const session = await fixture.submitOn({ ...fixture.core, inFlight: new Set(), bind: async () => undefined });
    expect(await firstOf(session)).toMatchObject({ status: "FAILED", failureKind: "GATEWAY_ERROR" });
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("also fails an attempt whose connector was removed after planning", async () => {
    const session = await fixture.newSession();
    const { connectorOf } = fixture.core;
    let asked = 0;
    const core: Core = {
      ...withoutConnectors(fixture.core),
      connectorOf: (gateway) => (asked++ === 0 ? connectorOf(gateway) : undefined),
    };
    await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
    await Promise.all(core.inFlight);
    expect(await firstOf(session)).toMatchObject({ status: "FAILED" });
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("is bound to nothing when its credentials do not exist or no key opens them", async () => {
    const { connectionId, gateway } = await firstOf(await fixture.submitOn(fixture.core));
    const { database, connectorOf } = fixture.core;
    const otherRing = { current: "other", keys: { other: Buffer.alloc(32, 9) } };
    expect(await fixture.core.bind(connectionId, gateway, 1)).toBeDefined();
    expect(await fixture.core.bind(connectionId, gateway, 99)).toBeUndefined();
    expect(await createBinder({ database, ring: otherRing, connectorOf })(connectionId, gateway, 1)).toBeUndefined();
  });
});

describe("a gateway that can be read, only accepts voids, and has reported the hold as voided", () => {
  it("receives the next void when it is due, and not at once", async () => {
    let voids = 0;
    const core = withAnswers(fixture.core, {
      ...refusedForGood,
      async void() {
        // Ends the loop if the gateway is hammered.
        return ++voids < 10 ? { type: "accepted" } : { type: "done" };
      },
    });
    const session = await fixture.submitOn(core);
    const { connectionId, id } = await firstOf(session);
    const text = `
      INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference)
      VALUES ($1, 'voided:1', 'voided', $2, 'r1')`;
    await fixture.core.database.query({ name: "take_notification_of_void", text }, [connectionId, encodeId("att", id)]);
    await recover(fixture, core, session);
    expect(voids).toBe(2);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDING", retries: 2 });
  });
});

describe("a gateway that gives two attempts one reference", () => {
  it("says nothing about the second, which ends and is voided", async () => {
    const kept = await fixture.submitOn(fixture.core);
    const { gatewayReference } = await firstOf(kept);
    const core = withAnswers(fixture.core, {
      authorize: async () => ({ outcome: { type: "unknown", kind: "TIMEOUT", reason: "no answer" } }),
      lookUp: async () => ({ type: "held", gatewayReference: gatewayReference! }),
    });
    const session = await fixture.submitOn(core);
    expect(await firstOf(session)).toMatchObject({ gatewayReference: null, lookedUpAt: expect.any(Date) });
    expect((await fixture.loadSession(session)).session.status).toBe("DEGRADED");
    expect((await fixture.loadSession(kept)).session.status).toBe("SUCCEEDED");
  });
});

describe("a capture that is reported failed after it was confirmed", () => {
  it("is reported to the merchant once, with a row in the work queue, and the session stays SUCCEEDED", async () => {
    const session = await fixture.submitOn(fixture.core);
    const attempt = await firstOf(session);
    const text = `
      INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, amount_minor, currency)
      VALUES ($1, $2, 'capture_failed', $3, $4, 4900, 'EUR')`;
    for (const notificationId of ["failed:1", "failed:2"]) {
      const values = [attempt.connectionId, notificationId, encodeId("att", attempt.id), attempt.gatewayReference];
      await fixture.core.database.query({ name: "take_notification", text }, values);
      await processNotificationsOnce(fixture.core);
    }
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "CAPTURE_FAILED", attemptId: attempt.id }]);
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
  });
});

describe("money that a gateway took without an order", () => {
  const inconclusive: LookUpAnswer = { type: "inconclusive", reason: "no answer" };
  it.each<[who: string, lookUp: LookUpAnswer, answer: VoidAnswer]>([
    [
      "a look-up",
      { type: "captured", gatewayReference: "r" },
      { type: "refused", definitive: false, gatewayCode: "1" },
    ],
    ["a void", inconclusive, { type: "alreadyCaptured" }],
  ])("becomes a row in the work queue when %s reports it", async (_who, lookUp, answer) => {
    const core = withAnswers(fixture.core, {
      authorize: async () => ({ outcome: { type: "unknown", kind: "TIMEOUT", reason: "no answer" } }),
      lookUp: async () => lookUp,
      void: async () => answer,
    });
    const session = await fixture.submitOn(core);
    await recover(fixture, core, session);
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDING" });
  });
});

describe("payments whose gateway does not answer repeats", () => {
  it("take up a part of recovery, and the next repeat is sent once another one has ended", async () => {
    const lost = { type: "unknown", kind: "TIMEOUT", reason: "no answer" } as const;
    const silent = withAnswers(fixture.core, { capture: async () => lost });
    const sessions = await Promise.all(Array.from({ length: 17 }, () => fixture.submitOn(silent)));
    const answering = Promise.withResolvers<typeof lost>();
    let waiting = 0;
    const core = withAnswers(fixture.core, {
      capture: () => {
        waiting++;
        return answering.promise;
      },
    });
    // Those of other tests that have not ended would take a place.
    const rest =
      "UPDATE payment_session SET lease_until = app.clock() + interval '1 hour' WHERE phase = 'PROCESSING' AND id <> ALL ($1)";
    await fixture.asOwner.query({ name: "rest_others", text: rest }, [sessions.map(({ id }) => id)]);
    await fixture.setClockAhead(1);
    expect(await recoverSessionsOnce(core)).toBe(17);
    // The one without room waits for its next repeat, as after any other lack of an answer.
    await expect.poll(() => core.inFlight.size).toBe(16);
    expect(waiting).toBe(16);
    answering.resolve(lost);
    await Promise.all(core.inFlight);
    const retries = await Promise.all(sessions.map(async (session) => (await firstOf(session)).retries));
    expect(retries).toEqual(Array(17).fill(2));
    for (const session of sessions) await recover(fixture, fixture.core, session);
    const ended = await Promise.all(sessions.map((session) => fixture.loadSession(session)));
    expect(new Set(ended.map(({ session }) => session.status))).toEqual(new Set(["SUCCEEDED"]));
  });
});
