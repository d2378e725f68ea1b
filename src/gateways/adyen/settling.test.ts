import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { approvedCard, type GatewayBench, holdPayment } from "../../testing/gateway-bench.ts";
import { type AdyenBench, startAdyenBench } from "./adyen-fixture.ts";

let adyen: AdyenBench;
let bench: AdyenBench["bench"];
beforeAll(async () => {
  adyen = await startAdyenBench();
  bench = adyen.bench;
});
beforeEach(() => bench.replaceWith(() => undefined));
afterAll(() => adyen.close());

const nameless = ({ attemptReference, amountMinor, currency }: ReturnType<GatewayBench["newPayment"]>) => ({
  attemptReference,
  amountMinor,
  currency,
});

describe("AdyenConnector.capture()", () => {
  it("is reported under the authorization's reference", async () => {
    const held = await adyen.hold();
    expect(await bench.connector.capture(bench.call("c1"), held)).toEqual({ type: "accepted" });
    expect(await adyen.noticeOf("CAPTURE", held.attemptReference)).toMatchObject({
      kind: "captured",
      gatewayReference: held.gatewayReference,
      amount: { amountMinor: 4900, currency: "EUR" },
    });
  });

  it("is reported as failed where the card scheme rejects it after it was reported done", async () => {
    await bench.sandbox.setCard("ADYEN", approvedCard, { act: "approve", capture: "fail_later" });
    const held = await adyen.hold();
    await bench.sandbox.setCard("ADYEN", approvedCard, { act: "approve" });
    await bench.connector.capture(bench.call("c2"), held);
    expect(await adyen.noticeOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "captured" });
    expect(await adyen.noticeOf("CAPTURE_FAILED", held.attemptReference)).toMatchObject({
      kind: "capture_failed",
      gatewayReference: held.gatewayReference,
      amount: { amountMinor: 4900, currency: "EUR" },
    });
  });

  it("is accepted and then reported as failed where the hold was voided meanwhile", async () => {
    const held = await adyen.hold();
    await bench.sandbox.hold("adyen.result");
    await bench.connector.void(bench.call("v1"), held);
    expect(await bench.connector.capture(bench.call("c3"), held)).toEqual({ type: "accepted" });
    await bench.sandbox.release({ operation: "adyen.result" });
    expect(await adyen.noticeOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "voided" });
    expect(await adyen.noticeOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "capture_failed" });
  });

  it("is asked for under another key where Adyen keeps an error for its key, and only then", async () => {
    const held = await adyen.hold();
    const keys: string[] = [];
    const isFirst = ({ path, headers }: { path: string; headers: Record<string, unknown> }) =>
      path.endsWith("/captures") && keys.push(String(headers["idempotency-key"])) === 1;
    const error = (status: number, errorCode: string, headers = {}) => ({
      status,
      headers,
      body: JSON.stringify({ status, errorCode, errorType: "internal", message: "" }),
    });
    bench.replaceWith((request) => (isFirst(request as never) ? error(500, "901") : undefined));
    expect(await bench.connector.capture(bench.call("kept_cap"), held)).toEqual({ type: "accepted" });
    expect(keys).toEqual(["kept_cap", expect.stringMatching(/^kept_cap_\d+$/)]);
    const [, second] = keys.splice(0);
    expect(await bench.connector.capture(bench.call("kept_cap"), held)).toEqual({ type: "accepted" });
    expect(keys, "the hour's second key stays the same").toEqual(["kept_cap", second]);
    expect(await bench.sandbox.authorizations(held.attemptReference)).toMatchObject([{ status: "captured" }]);
    for (const passing of [error(500, "901", { "transient-error": "true" }), error(422, "704"), "reset" as const]) {
      keys.length = 0;
      bench.replaceWith((request) => (isFirst(request as never) ? passing : undefined));
      await bench.connector.capture(bench.call("passing_cap"), held);
      expect(keys).toEqual(["passing_cap"]);
    }
  });

  it("ends where Adyen can never take it", async () => {
    const held = await adyen.hold();
    const tooMuch = { ...held, amountMinor: 4901 };
    expect(await bench.connector.capture(bench.call("too_much"), tooMuch)).toEqual({
      type: "refused",
      definitive: true,
      gatewayCode: "137",
    });
  });
});

describe("AdyenConnector.void()", () => {
  it("by our reference gives back the hold whose name never reached us", async () => {
    const held = await adyen.hold();
    expect(await bench.connector.void(bench.call("v2"), nameless(held as never))).toEqual({ type: "accepted" });
    expect(await adyen.noticeOf("TECHNICAL_CANCEL", held.attemptReference)).toMatchObject({
      kind: "voided",
      gatewayReference: held.gatewayReference,
    });
  });

  it("of a captured payment is reported as refused, since only CAPTURE tells of a capture", async () => {
    const held = await adyen.hold();
    await bench.connector.capture(bench.call("c4"), held);
    expect(await bench.connector.void(bench.call("v3"), held)).toEqual({ type: "accepted" });
    expect(await adyen.noticeOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "void_refused" });
  });

  it("of nothing is reported as absent, and what comes later is held all the same", async () => {
    const payment = bench.newPayment();
    expect(await bench.connector.void(bench.call("v4"), nameless(payment))).toEqual({ type: "accepted" });
    expect(await adyen.noticeOf("TECHNICAL_CANCEL", payment.attemptReference)).toMatchObject({ kind: "absent" });
    expect(await holdPayment(bench, payment)).toBeDefined();
  });
});
