/** Orders about held payments by the dashboard's rpcs: roles, bounds, one order of one hold, and audit rows. */
import type { DescMethod } from "@bufbuild/protobuf";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { AnalyticsService, type GetAnalyticsResponse } from "../../gen/dashboard/v1/analytics_pb.ts";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { PaymentSession_Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { type MadePayment, makeHeld, makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { SandboxControl } from "../dev/testing/sandbox-control.ts";
import { recordConnection, stageCredentials } from "../gateways/connections.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const cookies = {
  dora: await pages.join("Dora", "DEVELOPER"),
  viv: await pages.join("Viv", "VIEWER"),
  stale: await pages.enterStale("Dora"),
};

/** Makes a held payment. The guards are off only while its rows are written. */
async function held(made: MadePayment = {}) {
  const sessionId = await makeHeld(dashboard, made);
  await dashboard.rows(switchGuards("ENABLE"));
  return { merchantId: dashboard.merchantId, environment: Environment.TEST as Environment, sessionId };
}
type Of = Awaited<ReturnType<typeof held>>;
const capture = (cookie: string, of: Of, fields: object = {}) =>
  pages.payments(cookie).capturePayment({ ...of, reason: "shipped", ...fields });
const cancel = (cookie: string, of: Of, fields: object = {}) =>
  pages.payments(cookie).cancelPayment({ ...of, reason: "out of stock", ...fields });
const orders = { CapturePayment: capture, CancelPayment: cancel };

const trailOf = (of: Of) =>
  dashboard.rows("SELECT actor, action, after FROM audit_entry WHERE subject = $1 ORDER BY id", [of.sessionId]);
const timelineOf = async (of: Of) => (await pages.payments(cookies.viv).getPayment(of)).payment!.timeline;
async function stateOf(of: Of) {
  const [row] = await dashboard.rows(
    `SELECT s.status, s.decline_code AS "declineCode", s.capture_asked_at IS NOT NULL AS "isAsked",
       s.lease_until <= now() AS "isDue", a.captured_amount_minor::int AS "capturedMinor"
     FROM payment_session s JOIN attempt a ON a.session_id = s.id AND a.sequence = 1 WHERE s.id = $1`,
    [decodeId("ps", of.sessionId)],
  );
  return row;
}
const untouched = { status: "CREATED", isAsked: false, capturedMinor: null };
const actor = expect.stringMatching(/^dora@example\.com \(mbr_\w{26}\)$/);

describe.each(Object.entries(orders))("%s", (action, order) => {
  it("is for support and more with a fresh sign-in, who give a reason", async () => {
    const of = await held();
    expect(await codeOf(order(cookies.viv, of))).toBe("role_not_allowed");
    expect(await codeOf(order(cookies.stale, of))).toBe("fresh_sign_in_required");
    expect(await codeOf(order("", of))).toBe("sign_in_required");
    for (const reason of ["", "x".repeat(1_001)])
      expect(await codeOf(order(cookies.dora, of, { reason }))).toMatch(/field/);
    expect(await stateOf(of)).toMatchObject(untouched);
    expect(await trailOf(of)).toEqual([]);
  });

  it("knows no payment of another merchant or environment, and none that is not held", async () => {
    const foreign = await held({ merchantUuid: v7() });
    expect(await codeOf(order(cookies.dora, foreign))).toBe("not_found");
    const of = await held();
    expect(await codeOf(order(cookies.dora, { ...of, environment: Environment.LIVE }))).toBe("not_found");
    await openTables(dashboard);
    const { sessionId } = await makePayment(dashboard, {});
    await dashboard.rows(switchGuards("ENABLE"));
    const refusal = action === "CancelPayment" ? "session_ended" : "not_held";
    expect(await codeOf(order(cookies.dora, { ...of, sessionId }))).toBe(refusal);
    expect(await trailOf(of)).toEqual([]);
  });

  it("is one order with one audit row, however many members give it at one moment", async () => {
    const of = await held();
    const given = await Promise.all([1, 2, 3, 4].map(() => order(cookies.dora, of)));
    expect(given.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(given).toContainEqual(
      expect.objectContaining({ amountMinor: 4900n, currency: "EUR", gateway: "SANDBOX_A" }),
    );
    expect(await trailOf(of)).toMatchObject([{ actor, action }]);
    // A worker takes it from here.
    expect(await stateOf(of)).toMatchObject({ isDue: true });
  });

  it("names the gateway that holds, and no other that has answered since", async () => {
    const of = await held({ attempts: [{ gateway: "STRIPE", became: "DECLINED", gatewayReference: "pi_1" }] });
    expect(await order(cookies.dora, of)).toMatchObject({ gateway: "SANDBOX_A" });
    expect(await trailOf(of)).toMatchObject([{ after: { gateway: "SANDBOX_A" } }]);
  });
});

/** Makes a held payment whose hold stands at the sandbox, and captures a part of it there by hand. */
async function capturedByHand(capturedMinor: number) {
  const of = await held();
  const sessionUuid = decodeId("ps", of.sessionId);
  const selectAttempt = "SELECT id, connection_id AS connection FROM attempt WHERE session_id = $1";
  const [attempt] = await dashboard.rows<{ id: string; connection: string }>(selectAttempt, [sessionUuid]);
  const { id, connection } = attempt!;
  const apiKey = `sandbox_test_${connection.slice(-12)}`;
  await dashboard.database.transaction(async (tx) => {
    const merchantId = decodeId("mer", dashboard.merchantId)!;
    await recordConnection(tx, { id: connection, merchantId, gateway: "SANDBOX_A", account: connection });
    await stageCredentials(tx, dashboard.sealing, { connectionId: connection, credentials: { apiKey } });
  });
  const attemptReference = encodeId("att", id);
  const { outcome } = await dashboard.connector.authorize(
    {
      credentials: { apiKey: new Secret(apiKey) },
      timeoutMs: 20_000,
      idempotencyKey: attemptReference,
    },
    {
      amountMinor: 4_900,
      currency: "EUR",
      attemptReference,
      sessionId: of.sessionId,
      orderRef: "order-1042",
      vaultToken: new Secret("tok_held"),
    },
  );
  if (outcome.type !== "held") throw new Error(`expected a hold, got ${outcome.type}`);
  await openTables(dashboard);
  const nameHold = "UPDATE attempt SET gateway_reference = $2 WHERE session_id = $1";
  await dashboard.rows(nameHold, [sessionUuid, outcome.gatewayReference]);
  await dashboard.rows(switchGuards("ENABLE"));
  await new SandboxControl(dashboard.sandboxOrigin).captureByHand(outcome.gatewayReference, capturedMinor);
  return of;
}

describe.each(Object.entries(orders))("%s of a hold that a person has captured in part at the gateway", (_, order) => {
  it("is refused, and the payment has succeeded with what was captured", async () => {
    const of = await capturedByHand(1_900);
    expect(await codeOf(order(cookies.viv, of))).toBe("role_not_allowed");
    expect(await stateOf(of)).toMatchObject(untouched);
    expect(await codeOf(order(cookies.dora, of))).toBe("capture_already_ordered");
    expect(await stateOf(of)).toMatchObject({ status: "SUCCEEDED", isAsked: true, capturedMinor: 1_900 });
    expect(await trailOf(of)).toEqual([]);
    const items = "SELECT kind, detail FROM work_item WHERE session_id = $1";
    expect(await dashboard.rows(items, [decodeId("ps", of.sessionId)])).toMatchObject([
      { kind: "RECORD_MISMATCH", detail: expect.stringMatching(/not ordered here/) },
    ]);
  });
});

describe("CapturePayment", () => {
  it("captures a part once, and neither more than is held nor another amount", async () => {
    const of = await held();
    expect(await codeOf(capture(cookies.dora, of, { amountMinor: 4_901n }))).toBe("amount_exceeds_held");
    expect(await codeOf(capture(cookies.dora, of, { amountMinor: 0n }))).toBe("invalid_field");
    expect(await stateOf(of)).toMatchObject(untouched);
    expect(await capture(cookies.dora, of, { amountMinor: 900n })).toMatchObject({
      amountMinor: 900n,
      replayed: false,
    });
    expect(await capture(cookies.dora, of, { amountMinor: 900n })).toMatchObject({ replayed: true });
    expect(await codeOf(capture(cookies.dora, of, { amountMinor: 901n }))).toBe("capture_already_ordered");
    expect(await codeOf(capture(cookies.dora, of))).toBe("capture_already_ordered");
    expect(await codeOf(cancel(cookies.dora, of))).toBe("capture_already_ordered");
    expect(await stateOf(of)).toMatchObject({ status: "CREATED", isAsked: true, capturedMinor: 900 });
    const after = { amountMinor: 900, currency: "EUR", gateway: "SANDBOX_A", reason: "shipped" };
    expect(await trailOf(of)).toEqual([{ actor, action: "CapturePayment", after }]);
    const step = { actor, step: "Asked for the capture of 9.00 EUR", why: "shipped" };
    expect(await timelineOf(of)).toContainEqual(expect.objectContaining(step));
  });
});

describe("CancelPayment", () => {
  it("ends the payment, which is not captured afterwards", async () => {
    const of = await held();
    expect(await cancel(cookies.dora, of)).toMatchObject({ amountMinor: 4900n, replayed: false });
    expect(await codeOf(capture(cookies.dora, of))).toBe("session_ended");
    expect(await stateOf(of)).toMatchObject({ ...untouched, status: "DECLINED", declineCode: "capture_cancelled" });
    const after = { amountMinor: 4900, currency: "EUR", gateway: "SANDBOX_A", reason: "out of stock" };
    expect(await trailOf(of)).toEqual([{ actor, action: "CancelPayment", after }]);
    const step = { actor, step: "Cancelled the payment", why: "out of stock" };
    expect(await timelineOf(of)).toContainEqual(expect.objectContaining(step));
  });

  it("is an approved payment in the analytics and in lists, and no decline", async () => {
    const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" };
    const today = new Date().toISOString().slice(0, 10);
    const days = { firstDay: today, lastDay: today, timeZone: "UTC" };
    const figures = async () => {
      const ask = (method: DescMethod, request = {}) => pages.call(method, cookies.dora, { ...scope, ...request });
      const analytics = (await ask(AnalyticsService.method.getAnalytics, days)) as GetAnalyticsResponse;
      const list = async (released: boolean) => {
        const filter = { status: PaymentSession_Status.DECLINED, released };
        return (await pages.payments(cookies.viv).listPayments({ ...of, filter, pageSize: 100 })).payments.length;
      };
      const counted = analytics.total?.payments;
      return [Number(counted?.released), Number(counted?.declined), await list(true), await list(false)];
    };
    const of = await held();
    const before = await figures();
    await cancel(cookies.dora, of);
    const after = await figures();
    expect(after.map((count, index) => count - before[index]!)).toEqual([1, 0, 1, 0]);
  });
});
