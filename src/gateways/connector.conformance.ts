/** What every connector promises, checked over real HTTP. A connector's own test calls `describeConformance` and adds what is its own. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isoExponent } from "../platform/money.ts";
import { brokenAnswers, otherMoney, silences } from "../testing/broken-answers.ts";
import {
  approvedCard,
  type BenchSubject,
  declinedCard,
  type GatewayBench,
  holdPayment,
  noticePath,
  startGatewayBench,
} from "../testing/gateway-bench.ts";
import { unreachableOrigins } from "../testing/unreachable-origins.ts";
import { type CurrencyTable, fromGatewayAmount, toGatewayAmount } from "./amounts.ts";
import type { NotProcessedCause } from "./connector.ts";
import { classifyDecline, type DeclineTable, declineCodes } from "./declines.ts";

/** What the suite needs to know of a connector. */
export type ConformanceSubject = BenchSubject & {
  readonly gateway: string;
  readonly declines: DeclineTable;
  readonly currencies: CurrencyTable;
  /** The gateway's own error body under a status, with a code that no row of ours names. */
  readonly refusalOf: (status: number) => string;
  /** The statuses under which that error is documented to mean that nothing was done, and why. */
  readonly notProcessed: Readonly<Partial<Record<number, NotProcessedCause>>>;
};

const unknownAnswer = { type: "unknown", kind: "GATEWAY_ERROR" };

/** Declares the tests that every connector passes. */
export function describeConformance(subject: ConformanceSubject): void {
  describe(`${subject.gateway} keeps the connector contract`, () => {
    let bench: GatewayBench;
    beforeAll(async () => {
      bench = await startGatewayBench(subject);
    });
    afterAll(() => bench.close());
    beforeEach(() => bench.spoilWith((honest) => honest));

    describeDistrust(() => bench);
    describeSilence(() => bench);
    describeRefusals(() => bench, subject);
    describeRepeats(() => bench);
    describeVerify(() => bench);
  });
  describeTables(subject);
}

function describeDistrust(bench: () => GatewayBench): void {
  for (const [name, spoil] of Object.entries({ ...brokenAnswers, ...otherMoney })) {
    it(`takes ${name} to an authorize as unknown, never as success or decline`, async () => {
      bench().spoilWith(spoil);
      const payment = bench().newPayment();
      const { outcome } = await bench().connector.authorize(bench().call(payment.attemptReference), payment);
      expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    });

    it(`takes ${name} to a capture as unknown`, async () => {
      const hold = await holdPayment(bench(), bench().newPayment());
      bench().spoilWith(spoil);
      const answer = await bench().connector.capture(bench().call(`${hold.attemptReference}_cap`), hold);
      expect(answer).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    });

    it(`takes ${name} to a look-up as no hold of ours`, async () => {
      const hold = await holdPayment(bench(), bench().newPayment());
      bench().spoilWith(spoil);
      expect(["cannotTell", "heldOther"]).toContain((await bench().connector.lookUp(bench().call(""), hold)).type);
    });
  }

  it("takes a decline that arrives spoilt in any of these ways as unknown, never as a decline", async () => {
    bench().forwarder.useCard(declinedCard);
    for (const [name, spoil] of Object.entries({ ...brokenAnswers, ...otherMoney })) {
      bench().spoilWith(spoil);
      const payment = bench().newPayment();
      const { outcome } = await bench().connector.authorize(bench().call(payment.attemptReference), payment);
      expect(outcome, name).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    }
    bench().forwarder.useCard(approvedCard);
  });

  for (const [name, spoil] of Object.entries(brokenAnswers)) {
    it(`takes ${name} to a void as unknown`, async () => {
      const { attemptReference, amountMinor, currency } = await holdPayment(bench(), bench().newPayment());
      bench().spoilWith(spoil);
      const attempt = { attemptReference, amountMinor, currency };
      const answer = await bench().connector.void(bench().call(`${attemptReference}_void`), attempt);
      expect(answer).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    });
  }
}

function describeSilence(bench: () => GatewayBench): void {
  it("lets a card ask for failures only in a sandbox", () => {
    const { gateway, failsOnRequest } = bench().connector;
    expect(failsOnRequest).toBe(gateway.startsWith("SANDBOX_"));
  });

  it.each(Object.entries(unreachableOrigins))("takes %s as provably nothing", async (_, origin) => {
    const hold = await holdPayment(bench(), bench().newPayment());
    const connector = bench().connectTo(await origin(bench().middle.url));
    const asked = bench().middle.requests.length;
    const payment = bench().newPayment();
    const { outcome } = await connector.authorize(bench().call(payment.attemptReference), payment);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "connection_refused" });
    const again = { type: "unknown", kind: "GATEWAY_ERROR" };
    expect(await connector.capture(bench().call("cap"), hold)).toMatchObject(again);
    expect(await connector.void(bench().call("void"), hold)).toMatchObject(again);
    expect((await connector.lookUp(bench().call(""), hold)).type).toBe("cannotTell");
    expect(bench().middle.requests).toHaveLength(asked);
  });

  it("takes an authorize that is stopped before it is sent as provably nothing", async () => {
    const payment = bench().newPayment();
    const call = { ...bench().call(payment.attemptReference), signal: AbortSignal.abort() };
    const { outcome } = await bench().connector.authorize(call, payment);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "stopped" });
    expect(await bench().sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it.each(Object.entries(silences))("takes %s as unknown, with kind TIMEOUT", async (_, spoil) => {
    const hold = await holdPayment(bench(), bench().newPayment());
    bench().spoilWith(spoil);
    const payment = bench().newPayment();
    const briefly = (key: string) => bench().call(key, 200);
    const { connector } = bench();
    const answers = await Promise.all([
      connector.authorize(briefly(payment.attemptReference), payment).then(({ outcome }) => outcome),
      connector.capture(briefly(`${hold.attemptReference}_cap`), hold),
      connector.void(briefly(`${hold.attemptReference}_void`), hold),
    ]);
    expect(answers).toMatchObject(Array(3).fill({ type: "unknown", kind: "TIMEOUT" }));
    expect((await connector.lookUp(briefly(""), hold)).type).toBe("cannotTell");
  });
}

// 402 is the gateways' word for a decline, and 404 has a meaning of its own for a void: both have tests of their own.
const statuses = [
  400, 401, 403, 405, 406, 408, 409, 410, 413, 415, 422, 423, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 520,
  529,
];

function describeRefusals(bench: () => GatewayBench, { refusalOf, notProcessed }: ConformanceSubject): void {
  it.each(statuses)("takes its own error under status %d for what it is documented to mean", async (status) => {
    const hold = await holdPayment(bench(), bench().newPayment());
    const body = refusalOf(status);
    bench().spoilWith(() => ({ status, headers: { "content-type": "application/json" }, body }));
    const { connector } = bench();
    const payment = bench().newPayment();
    const { outcome } = await connector.authorize(bench().call(payment.attemptReference), payment);
    const cause = notProcessed[status];
    expect(outcome).toMatchObject(cause ? { type: "notProcessed", cause } : unknownAnswer);
    const settling = status < 500 ? { type: "refused", definitive: false } : unknownAnswer;
    expect(await connector.capture(bench().call(`${hold.attemptReference}_cap`), hold)).toMatchObject(settling);
    expect(await connector.void(bench().call(`${hold.attemptReference}_void`), hold)).toMatchObject(settling);
    expect((await connector.lookUp(bench().call(""), hold)).type).toBe("cannotTell");
  });

  it.each(statuses)("takes status %d as unknown when somebody else's error comes with it", async (status) => {
    const hold = await holdPayment(bench(), bench().newPayment());
    const { connector } = bench();
    for (const body of ["", "null", '{"message":"no healthy upstream"}', refusalOf(599)]) {
      bench().spoilWith(() => ({ status, headers: { "content-type": "application/json" }, body }));
      const payment = bench().newPayment();
      const { outcome } = await connector.authorize(bench().call(payment.attemptReference), payment);
      expect(outcome).toMatchObject(unknownAnswer);
      expect((await connector.lookUp(bench().call(""), hold)).type).toBe("cannotTell");
    }
  });
}

function describeRepeats(bench: () => GatewayBench): void {
  it("holds once when the same authorize is sent twice", async () => {
    const payment = bench().newPayment();
    const first = await holdPayment(bench(), payment);
    const second = await holdPayment(bench(), payment);
    expect(second).toEqual(first);
    expect(await bench().sandbox.authorizations(payment.attemptReference)).toHaveLength(1);
  });

  it("gives the same answer when the same capture is sent twice, and captures the whole hold", async () => {
    const hold = await holdPayment(bench(), bench().newPayment());
    const capture = () => bench().connector.capture(bench().call(`${hold.attemptReference}_cap`), hold);
    const first = await capture();
    expect(["done", "accepted"]).toContain(first.type);
    expect(await capture()).toEqual(first);
    expect(await bench().sandbox.authorizations(hold.attemptReference)).toMatchObject([
      { status: "captured", capturedValue: 4900 },
    ]);
  });

  it("gives the same answer when the same void is sent twice, and leaves no hold", async () => {
    const hold = await holdPayment(bench(), bench().newPayment());
    const release = () => bench().connector.void(bench().call(`${hold.attemptReference}_void`), hold);
    const first = await release();
    expect(["done", "accepted"]).toContain(first.type);
    expect(await release()).toEqual(first);
    expect(await bench().sandbox.authorizations(hold.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("voids by our own reference when the gateway's never reached us", async () => {
    const { attemptReference, amountMinor, currency } = await holdPayment(bench(), bench().newPayment());
    const attempt = { attemptReference, amountMinor, currency };
    await bench().connector.void(bench().call(`${attemptReference}_void`), attempt);
    expect(await bench().sandbox.authorizations(attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("creates nothing by a look-up", async () => {
    const { attemptReference, amountMinor, currency } = bench().newPayment();
    const attempt = { attemptReference, amountMinor, currency };
    const answer = await bench().connector.lookUp(bench().call(""), attempt);
    // A gateway whose look-up by our own reference lags behind cannot call anything absent.
    expect(bench().connector.canRead ? ["absent", "cannotTell"] : ["cannotTell"]).toContain(answer.type);
    expect(await bench().sandbox.authorizations(attemptReference)).toEqual([]);
  });

  it("sends a merchant's braces without making a placeholder of them", async () => {
    const payment = bench().newPayment({ orderRef: "{{{card.number}}}" });
    await holdPayment(bench(), payment);
    const [authorization] = await bench().sandbox.authorizations(payment.attemptReference);
    expect(authorization?.orderRef).toBe("{ { {card.number}}}");
  });
}

function describeVerify(bench: () => GatewayBench): void {
  it("passes every required check of a fit account, or waits for its test notice", async () => {
    await bench().sandbox.setAccount("test_conformance", { notificationUrl: bench().middle.url + noticePath });
    const rows = await bench().connector.verify(bench().call(""));
    expect(rows.filter((row) => row.required && row.state === "failed")).toEqual([]);
    expect(rows.map((row) => row.check)).toEqual(
      expect.arrayContaining(["credentials", "environment", "raw_cards", "manual_capture", "currencies"]),
    );
  });

  it("refuses test credentials in live", async () => {
    const rows = await bench().connectTo(bench().middle.url, "live").verify(bench().call(""));
    expect(rows).toContainEqual(expect.objectContaining({ check: "environment", state: "failed" }));
  });

  it("fails the check of a permission that the account lacks", async () => {
    await bench().sandbox.setAccount("test_conformance", { rawCards: false, manualCapture: false });
    const rows = await bench().connector.verify(bench().call(""));
    expect(rows).toContainEqual(expect.objectContaining({ check: "raw_cards", state: "failed" }));
    expect(rows).toContainEqual(expect.objectContaining({ check: "manual_capture", state: "failed" }));
    await bench().sandbox.setAccount("test_conformance", { rawCards: true, manualCapture: true });
  });

  it("takes refused credentials as provably nothing, and names no credential", async () => {
    const payment = bench().newPayment();
    const call = { ...bench().call(payment.attemptReference), credentials: {} };
    const { outcome } = await bench().connector.authorize(call, payment);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "credentials_refused" });
    const rows = await bench().connector.verify(call);
    expect(rows[0]).toMatchObject({ check: "credentials", state: "failed" });
    const told = JSON.stringify([outcome, await bench().connector.verify(bench().call(""))]);
    for (const credential of Object.values(bench().call("").credentials))
      expect(told).not.toContain(credential.expose());
  });
}

function describeTables({ gateway, declines, currencies }: ConformanceSubject): void {
  describe(`${gateway} tables`, () => {
    it.each(Object.entries(declines))("code %s cites a source and a public decline code", (_, row) => {
      expect(row.source).toMatch(/https:\/\/\S+/);
      expect(declineCodes).toContain(row.declineCode);
    });

    it("stops at every fraud code, and calls nothing else fraud", () => {
      for (const row of Object.values(declines)) {
        const signs = [row.kind === "FRAUD", row.stop === "fraud", row.declineCode === "fraud_suspected"];
        expect(new Set(signs).size).toBe(1);
      }
    });

    it("stops at a code that no row names", () => {
      for (const code of ["never heard of", "", "constructor", "__proto__"]) {
        expect(classifyDecline(declines, code)).toMatchObject({ stop: "unclassified", declineCode: "unclassified" });
      }
    });

    it.each(Object.entries(currencies))("%s is the same money in the gateway's %d decimals", (currency, decimals) => {
      const amount = { amountMinor: 123_000, currency };
      const theirs = toGatewayAmount(currencies, amount);
      if (theirs.type === "impossible") throw new Error(theirs.because);
      expect(theirs.value / 10 ** decimals).toBe(amount.amountMinor / 10 ** isoExponent(currency));
      expect(fromGatewayAmount(currencies, theirs.value, currency)).toEqual(amount);
    });
  });
}
