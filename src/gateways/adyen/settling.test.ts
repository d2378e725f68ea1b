import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { approvedCard, type GatewayHarness, holdPayment } from "../../dev/testing/gateway-harness.ts";
import { type AdyenHarness, startAdyenHarness } from "./adyen.fixture.ts";
import { AdyenConnector } from "./connector.ts";

const adyen = await forFile(startAdyenHarness);
const harness: AdyenHarness["harness"] = adyen.harness;
beforeEach(() => harness.replaceWith(() => undefined));

const nameless = ({ attemptReference, amountMinor, currency }: ReturnType<GatewayHarness["newPayment"]>) => ({
  attemptReference,
  amountMinor,
  currency,
});

const acceptedOnce = { type: "accepted", captureReference: expect.stringMatching(/^[A-Z0-9]{16}$/) };

describe("AdyenConnector.capture()", () => {
  it("is reported under the authorization's reference", async () => {
    const held = await adyen.hold();
    expect(await harness.connector.capture(harness.call("c1"), held)).toEqual(acceptedOnce);
    expect(await adyen.notificationOf("CAPTURE", held.attemptReference)).toMatchObject({
      kind: "captured",
      gatewayReference: held.gatewayReference,
      amount: { amountMinor: 4900, currency: "EUR" },
    });
  });

  it("is reported as failed if the card scheme rejects it after it was reported as done", async () => {
    await harness.sandbox.setCard("ADYEN", approvedCard, { act: "approve", capture: "fail_later" });
    const held = await adyen.hold();
    await harness.sandbox.setCard("ADYEN", approvedCard, { act: "approve" });
    await harness.connector.capture(harness.call("c2"), held);
    expect(await adyen.notificationOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "captured" });
    expect(await adyen.notificationOf("CAPTURE_FAILED", held.attemptReference)).toMatchObject({
      kind: "capture_failed",
      gatewayReference: held.gatewayReference,
      amount: { amountMinor: 4900, currency: "EUR" },
    });
  });

  it("is accepted and then reported as failed if the hold was voided meanwhile", async () => {
    const held = await adyen.hold();
    await harness.sandbox.hold("adyen.result");
    await harness.connector.void(harness.call("v1"), held);
    expect(await harness.connector.capture(harness.call("c3"), held)).toEqual(acceptedOnce);
    await harness.sandbox.release({ operation: "adyen.result" });
    expect(await adyen.notificationOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "voided" });
    expect(await adyen.notificationOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "capture_failed" });
  });

  it("is requested under another key if, and only if, Adyen keeps an error for its key", async () => {
    const held = await adyen.hold();
    const keys: string[] = [];
    const isFirst = ({ path, headers }: { path: string; headers: Record<string, unknown> }) =>
      path.endsWith("/captures") && keys.push(String(headers["idempotency-key"])) === 1;
    const error = (status: number, errorCode: string, headers = {}) => ({
      status,
      headers,
      body: JSON.stringify({ status, errorCode, errorType: "internal", message: "" }),
    });
    harness.replaceWith((request) => (isFirst(request as never) ? error(500, "901") : undefined));
    expect(await harness.connector.capture(harness.call("kept_cap"), held)).toEqual(acceptedOnce);
    expect(keys).toEqual(["kept_cap", expect.stringMatching(/^kept_cap_\d+$/)]);
    const [, second] = keys.splice(0);
    expect(await harness.connector.capture(harness.call("kept_cap"), held)).toEqual(acceptedOnce);
    expect(keys, "the hour's second key stays the same").toEqual(["kept_cap", second]);
    expect(await harness.sandbox.authorizations(held.attemptReference)).toMatchObject([{ status: "captured" }]);
    for (const passing of [error(500, "901", { "transient-error": "true" }), error(422, "704"), "reset" as const]) {
      keys.length = 0;
      harness.replaceWith((request) => (isFirst(request as never) ? passing : undefined));
      await harness.connector.capture(harness.call("passing_cap"), held);
      expect(keys).toEqual(["passing_cap"]);
    }
  });

  it("of a part is never requested under another key: enough would be left for a second capture", async () => {
    const held = await adyen.hold();
    const keys: string[] = [];
    const body = JSON.stringify({ status: 500, errorCode: "901", errorType: "internal", message: "" });
    harness.replaceWith((request) => {
      const { path, headers } = request as { path: string; headers: Record<string, unknown> };
      return path.endsWith("/captures") && keys.push(String(headers["idempotency-key"]))
        ? { status: 500, body }
        : undefined;
    });
    const part = { ...held, captureMinor: 900, ageMs: 3_600_000 };
    expect(await harness.connector.capture(harness.call("part_cap"), part)).toMatchObject({ type: "unknown" });
    expect(keys).toEqual(["part_cap"]);
    // Adyen may have forgotten the key after a week, and would capture the part again.
    const old = { ...part, attemptAgeMs: 6.1 * 24 * 3_600_000 };
    expect(await harness.connector.capture(harness.call("part_cap"), old)).toMatchObject({ type: "unknown" });
    expect(keys).toEqual(["part_cap"]);
    await harness.connector.capture(harness.call("part_cap"), { ...old, captureMinor: undefined });
    expect(keys.length).toBeGreaterThan(1);
  });

  it("is requested under another key only after half a minute if the error may hide its success", async () => {
    const held = await adyen.hold();
    const startedAgo = (ageMs: number) => ({ ...held, ageMs });
    const keys: string[] = [];
    const refuse = (status: number, errorCode: string) => {
      keys.length = 0;
      harness.replaceWith((request) => {
        const { path, headers } = request as { path: string; headers: Record<string, unknown> };
        if (!path.endsWith("/captures")) return undefined;
        keys.push(String(headers["idempotency-key"]));
        return { status, body: JSON.stringify({ status, errorCode, errorType: "internal", message: "" }) };
      });
    };
    refuse(500, "901");
    expect(await harness.connector.capture(harness.call("young_cap"), startedAgo(20_000))).toMatchObject({
      type: "unknown",
    });
    expect(keys).toEqual(["young_cap"]);
    refuse(500, "901");
    await harness.connector.capture(harness.call("old_cap"), startedAgo(31_000));
    expect(keys).toEqual(["old_cap", expect.stringMatching(/^old_cap_\d+$/)]);
    refuse(422, "100");
    await harness.connector.capture(harness.call("refused_cap"), startedAgo(0));
    expect(keys, "a refusal says that nothing was done").toHaveLength(2);
  });

  it("is repeated under the same second key for the rest of the hour", async () => {
    const held = await adyen.hold();
    const hourMs = 3_600_000;
    let nowMs = 500_000 * hourMs;
    const { http, forwarder, middle } = harness;
    const connector = new AdyenConnector({
      http,
      forwarder,
      origin: middle.url,
      environment: "test",
      nowMs: () => nowMs,
    });
    const keys: string[] = [];
    const kept = { status: 500, body: JSON.stringify({ status: 500, errorCode: "901", errorType: "internal" }) };
    harness.replaceWith(({ path, headers }) => {
      if (!path.endsWith("/captures")) return undefined;
      keys.push(String(headers["idempotency-key"]));
      return kept;
    });
    for (const atMs of [0, 1_000, hourMs - 1, hourMs]) {
      nowMs = 500_000 * hourMs + atMs;
      await connector.capture(harness.call("hourly_cap"), held);
    }
    const seconds = keys.filter((key) => key !== "hourly_cap");
    expect(seconds).toEqual(["500000", "500000", "500000", "500001"].map((hour) => `hourly_cap_${hour}`));
  });

  it("ends if Adyen can never accept it", async () => {
    const held = await adyen.hold();
    const tooMuch = { ...held, amountMinor: 4901 };
    expect(await harness.connector.capture(harness.call("too_much"), tooMuch)).toEqual({
      type: "refused",
      definitive: true,
      gatewayCode: "137",
    });
  });
});

describe("AdyenConnector.void()", () => {
  it("voids by our reference the hold whose gateway reference never reached us", async () => {
    const held = await adyen.hold();
    expect(await harness.connector.void(harness.call("v2"), nameless(held as never))).toEqual({ type: "accepted" });
    expect(await adyen.notificationOf("TECHNICAL_CANCEL", held.attemptReference)).toMatchObject({
      kind: "voided",
      gatewayReference: held.gatewayReference,
    });
  });

  it("of a captured payment is reported as refused, since only CAPTURE reports a capture", async () => {
    const held = await adyen.hold();
    await harness.connector.capture(harness.call("c4"), held);
    expect(await harness.connector.void(harness.call("v3"), held)).toEqual({ type: "accepted" });
    expect(await adyen.notificationOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "void_refused" });
  });

  it("of nothing is reported as absent, and a later authorize still holds money", async () => {
    const payment = harness.newPayment();
    expect(await harness.connector.void(harness.call("v4"), nameless(payment))).toEqual({ type: "accepted" });
    expect(await adyen.notificationOf("TECHNICAL_CANCEL", payment.attemptReference)).toMatchObject({ kind: "absent" });
    expect(await holdPayment(harness, payment)).toBeDefined();
  });
});
