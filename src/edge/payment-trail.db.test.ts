import { describe, expect, it } from "vitest";
import { cards } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { recordConnection } from "../gateways/connections.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
const { core, owner, connectionIds } = edge.core;
const unverified = systemRuntime.uuid();
const named = { id: unverified, merchantId: owner.merchantId, gateway: "SANDBOX_B", account: "not verified" };
await core.database.transaction((tx) => recordConnection(tx, named));
const version = await edge.core.setRule(["HARD_DECLINE"], [unverified, ...connectionIds]);

const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
const reference = expect.stringMatching(/./);

async function pay(card: string) {
  const session = await edge.core.newSession();
  await edge.core.submit(session, card);
  const shown = (await edge.call("GET", `/payment-sessions/${encodeId("ps", session.id)}`)).json;
  const listed = (await edge.call("GET", `/payment-sessions?orderRef=${session.orderRef}`)).json;
  return { shown, listed: listed.paymentSessions[0] };
}

describe("GET /api/v1/payment-sessions of a payment", () => {
  it("shows the plan, what was left out of it and why, and why each gateway was tried and left", async () => {
    const { shown, listed } = await pay(cards.failover);
    const [a = "", b = ""] = edge.core.connectionIds.map((id) => encodeId("gc", id));
    const because = `Rule version ${version} fails over to SANDBOX_B after a hard decline at SANDBOX_A.`;
    expect(shown.routing).toEqual({
      ruleVersion: version,
      plan: [
        { priority: 2, gateway: "SANDBOX_A", connectionId: a, authentication: "OWN" },
        { priority: 3, gateway: "SANDBOX_B", connectionId: b, authentication: "OWN" },
      ],
      skipped: [
        {
          gateway: "SANDBOX_B",
          connectionId: encodeId("gc", unverified),
          because: "Its credentials have not been verified.",
        },
      ],
    });
    expect(shown.attempts).toEqual([
      {
        attemptId: expect.stringMatching(/^att_/),
        sequence: 1,
        gateway: "SANDBOX_A",
        connectionId: a,
        priority: 2,
        because: `First of the plan by rule version ${version}.`,
        status: "DECLINED",
        failureKind: "HARD_DECLINE",
        declineCode: "card_declined",
        gatewayCode: "transaction_not_allowed",
        startedAt: moment,
        completedAt: moment,
        durationMs: expect.any(Number),
        next: { action: "failover", because },
      },
      {
        attemptId: expect.stringMatching(/^att_/),
        sequence: 2,
        gateway: "SANDBOX_B",
        connectionId: b,
        priority: 3,
        because,
        status: "CAPTURED",
        gatewayReference: reference,
        startedAt: moment,
        completedAt: moment,
        durationMs: expect.any(Number),
      },
    ]);
    expect(listed.routing).toEqual(shown.routing);
    expect(listed).not.toHaveProperty("attempts");
  });

  it("shows why no gateway was tried after a fraud decline", async () => {
    const { shown } = await pay(cards.fraud);
    expect(shown).toMatchObject({ status: "DECLINED", declineCode: "fraud_suspected", failover: false });
    expect(shown.attempts.map(({ next }: { next: object }) => next)).toEqual([
      {
        action: "stop",
        because: `A fraud-class decline is never retried on another gateway, whatever rule version ${version} says.`,
      },
    ]);
  });
});
