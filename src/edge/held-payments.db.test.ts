/** Held payments at the edge: what the capture and cancel endpoints refuse, and the outcome that the customer's page gets. */

import { describe, expect, it } from "vitest";
import { cards } from "../core/scenarios/core.fixture.ts";
import { withAnswers } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule(["TIMEOUT"]);

async function open(): Promise<{ sessionId: string; clientSecret: string; id: string }> {
  const body = JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "order-1", capture: "manual" });
  const { json } = await edge.call("POST", "/payment-sessions", { body });
  return { ...json, id: decodeId("ps", json.sessionId)! };
}
const order = (action: "capture" | "cancel", sessionId: string, body = "{}") =>
  edge.call("POST", `/payment-sessions/${sessionId}/${action}`, action === "capture" ? { body } : {});

describe("POST /api/v1/payment-sessions/{sessionId}/capture", () => {
  it("refuses an amount that is none, and leaves the payment held", async () => {
    const { sessionId, id } = await open();
    await edge.core.submit({ id }, cards.approved);
    for (const amountMinor of [0, -1, 0.5, 1e12, "1", null, true]) {
      const { status, json } = await order("capture", sessionId, JSON.stringify({ amountMinor }));
      expect([status, json.errors]).toMatchObject([400, [{ pointer: "/amountMinor" }]]);
    }
    const more = await order("capture", sessionId, '{"amountMinor":4901}');
    expect([more.status, more.json.code, more.json.param]).toEqual([422, "amount_exceeds_held", "amountMinor"]);
    const { json } = await edge.call("GET", `/payment-sessions/${sessionId}`);
    expect(json).toMatchObject({ status: "CREATED", processing: false, held: { until: expect.any(String) } });
    const cancelled = await order("cancel", sessionId);
    expect(cancelled.json).toMatchObject({ status: "DECLINED", declineCode: "capture_cancelled" });
  });

  it("needs a hold, and knows no other session", async () => {
    const { sessionId } = await open();
    const { status, json } = await order("capture", sessionId);
    expect([status, json.code]).toEqual([409, "not_held"]);
    for (const action of ["capture", "cancel"] as const) {
      for (const id of [encodeId("ps", systemRuntime.uuid()), "ps_"]) {
        const other = await order(action, id);
        expect([other.status, other.json.code]).toEqual([404, "not_found"]);
      }
    }
  });
});

describe("the customer's page of a held payment", () => {
  it("gets the gateway that holds, although a later one may hold too", async () => {
    const { sessionId, clientSecret, id } = await open();
    const { core } = edge.core;
    const unanswered = withAnswers(core, {
      authorize: async (_, { attemptReference }) => ({
        outcome: { type: "unknown", kind: "TIMEOUT", reason: "lost", gatewayReference: `r-${attemptReference}` },
      }),
      lookUp: async (_, { gatewayReference = "" }) => ({ type: "held", gatewayReference }),
      void: async () => ({ type: "unknown", kind: "TIMEOUT", reason: "lost" }),
    });
    await edge.core.submit({ id }, cards.approved, "tok_1", unanswered);
    await Promise.all(unanswered.inFlight);
    const { attempts } = await edge.core.loadSession({ id });
    expect(attempts.map(({ status }) => status)).toEqual(["AUTHORIZED", "VOIDING"]);
    const response = await fetch(`http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/GetCheckout`, {
      method: "POST",
      headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json" },
      body: JSON.stringify({ sessionId }),
    });
    expect(await response.json()).toMatchObject({
      checkout: { status: "CREATED", outcome: { success: { capturedVia: "SANDBOX_A" } } },
    });
  });
});
