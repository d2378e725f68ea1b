/**
 * The promises of every connector, checked over real HTTP. A connector's own test calls `describeConformance` and adds
 * its own checks.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type CurrencyTable, fromGatewayAmount, toGatewayAmount } from "../../../gateways/amounts.ts";
import type {
  AuthorizeRequest,
  ChangingCall,
  Credentials,
  Gateway,
  NotProcessed,
  NotProcessedCause,
} from "../../../gateways/connector.ts";
import { classifyDecline, type DeclineTable, declineCodes } from "../../../gateways/declines.ts";
import { isoExponent } from "../../../platform/money.ts";
import { brokenAnswers, otherMoney, silences } from "../broken-answers.ts";
import {
  approvedCard,
  declinedCard,
  type GatewayHarness,
  type HarnessSubject,
  holdPayment,
  notificationPath,
  startGatewayHarness,
} from "../gateway-harness.ts";
import { unreachableOrigins } from "../unreachable-origins.ts";
import { type AuthenticationSubject, describeAuthentication } from "./authentication.conformance.ts";
import { describeHolds, type HoldSubject } from "./holds.conformance.ts";
import { describeImport, type ImportSubject } from "./import.conformance.ts";
import { describeRefunds, type RefundSubject } from "./refunds.conformance.ts";
import { describeStoredCards, type StoredSubject } from "./stored-cards.conformance.ts";

export type ConformanceSubject = HarnessSubject & {
  readonly gateway: Gateway;
  readonly authentication: AuthenticationSubject;
  /** Absent if the connector imports no proof. */
  readonly imports?: ImportSubject;
  /** Absent if no hold may be captured later. */
  readonly holds?: HoldSubject;
  /** Absent if the connector refunds nothing. */
  readonly refunds?: RefundSubject;
  /** Absent if the connector stores no cards. */
  readonly stored?: StoredSubject;
  /** Credentials of another account, which does not know the payments of the first. */
  readonly foreign: Credentials;
  readonly declines: DeclineTable;
  readonly currencies: CurrencyTable;
  /** The gateway's own error body under a status, with a code that no row of ours names. */
  readonly refusalOf: (status: number) => string;
  /** The statuses under which that error is documented to mean that nothing was done, and the cause. */
  readonly notProcessed: Readonly<Partial<Record<number, NotProcessedCause>>>;
};

const unknownAnswer = { type: "unknown", kind: "GATEWAY_ERROR" };

export function describeConformance(subject: ConformanceSubject): void {
  describe(`${subject.gateway} keeps the connector contract`, () => {
    let harness: GatewayHarness;
    beforeAll(async () => {
      harness = await startGatewayHarness(subject);
    });
    afterAll(() => harness.close());
    beforeEach(() => harness.spoilWith((honest) => honest));

    describeDistrust(() => harness);
    describeSilence(() => harness);
    describeRefusals(() => harness, subject);
    describeReasons(() => harness);
    describeRepeats(() => harness);
    describeVerify(() => harness);
    describeForeign(() => harness, subject);
    describeAuthentication(() => harness, subject.authentication);
    if (subject.imports) describeImport(() => harness, subject.imports);
    else it("imports no proof", () => expect(harness.connector.importsProof).toBeUndefined());
    if (subject.holds) describeHolds(() => harness, subject.holds);
    else it("captures no hold later", () => expect(harness.connector.holdLifeMs).toBeUndefined());
    if (subject.refunds) describeRefunds(() => harness, { ...subject.refunds, refusalOf: subject.refusalOf });
    else it("refunds nothing", () => expect(harness.connector.refunds).toBeUndefined());
    const { stored, foreign, authentication } = subject;
    if (stored) describeStoredCards(() => harness, { ...stored, foreign, codes: authentication.codes });
    else it("stores no cards", () => expect(harness.connector.storedCards).toBeUndefined());
  });
  describeTables(subject);
}

function describeDistrust(harness: () => GatewayHarness): void {
  for (const [name, spoil] of Object.entries({ ...brokenAnswers, ...otherMoney })) {
    it(`treats ${name} to an authorize as unknown, never as success or decline`, async () => {
      harness().spoilWith(spoil);
      const payment = harness().newPayment();
      const { outcome } = await harness().connector.authorize(harness().call(payment.attemptReference), payment);
      expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    });

    it(`treats ${name} to a capture as unknown`, async () => {
      const hold = await holdPayment(harness(), harness().newPayment());
      harness().spoilWith(spoil);
      const answer = await harness().connector.capture(harness().call(`${hold.attemptReference}_cap`), hold);
      expect(answer).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    });

    it(`treats ${name} to a look-up as no hold of ours`, async () => {
      const hold = await holdPayment(harness(), harness().newPayment());
      harness().spoilWith(spoil);
      expect(["inconclusive", "heldOther"]).toContain(
        (await harness().connector.lookUp(harness().call(""), hold)).type,
      );
    });
  }

  it("treats a decline that arrives spoilt in any of these ways as unknown, never as a decline", async () => {
    harness().forwarder.useCard(declinedCard);
    for (const [name, spoil] of Object.entries({ ...brokenAnswers, ...otherMoney })) {
      harness().spoilWith(spoil);
      const payment = harness().newPayment();
      const { outcome } = await harness().connector.authorize(harness().call(payment.attemptReference), payment);
      expect(outcome, name).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    }
    harness().forwarder.useCard(approvedCard);
  });

  for (const [name, spoil] of Object.entries(brokenAnswers)) {
    it(`treats ${name} to a void as unknown`, async () => {
      const { attemptReference, amountMinor, currency } = await holdPayment(harness(), harness().newPayment());
      harness().spoilWith(spoil);
      const attempt = { attemptReference, amountMinor, currency };
      const answer = await harness().connector.void(harness().call(`${attemptReference}_void`), attempt);
      expect(answer).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    });
  }
}

function describeSilence(harness: () => GatewayHarness): void {
  it("allows a card to request failures only in a sandbox", () => {
    const { gateway, failsOnRequest } = harness().connector;
    expect(failsOnRequest).toBe(gateway.startsWith("SANDBOX_"));
  });

  it.each(Object.entries(unreachableOrigins))("takes %s as provably nothing", async (_, origin) => {
    const hold = await holdPayment(harness(), harness().newPayment());
    const connector = harness().connectTo(await origin(harness().middle.url));
    const requestsBefore = harness().middle.requests.length;
    const payment = harness().newPayment();
    const { outcome } = await connector.authorize(harness().call(payment.attemptReference), payment);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "connection_refused" });
    const again = { type: "unknown", kind: "GATEWAY_ERROR" };
    expect(await connector.capture(harness().call("cap"), hold)).toMatchObject(again);
    expect(await connector.void(harness().call("void"), hold)).toMatchObject(again);
    expect((await connector.lookUp(harness().call(""), hold)).type).toBe("inconclusive");
    expect(harness().middle.requests).toHaveLength(requestsBefore);
  });

  it("treats an authorize that is stopped before it is sent as provably nothing", async () => {
    const payment = harness().newPayment();
    const call = { ...harness().call(payment.attemptReference), signal: AbortSignal.abort() };
    const { outcome } = await harness().connector.authorize(call, payment);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "stopped" });
    expect(await harness().sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it.each(Object.entries(silences))("takes %s as unknown, with kind TIMEOUT", async (_, spoil) => {
    const hold = await holdPayment(harness(), harness().newPayment());
    harness().spoilWith(spoil);
    const payment = harness().newPayment();
    const briefly = (key: string) => harness().call(key, 200);
    const { connector } = harness();
    const answers = await Promise.all([
      connector.authorize(briefly(payment.attemptReference), payment).then(({ outcome }) => outcome),
      connector.capture(briefly(`${hold.attemptReference}_cap`), hold),
      connector.void(briefly(`${hold.attemptReference}_void`), hold),
    ]);
    expect(answers).toMatchObject(Array(3).fill({ type: "unknown", kind: "TIMEOUT" }));
    expect((await connector.lookUp(briefly(""), hold)).type).toBe("inconclusive");
  });
}

// 402 is the gateways' status for a decline, and 404 has its own meaning for a void: both have their own tests.
const statuses = [
  400, 401, 403, 405, 406, 408, 409, 410, 413, 415, 422, 423, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 520,
  529,
];

function describeRefusals(harness: () => GatewayHarness, { refusalOf, notProcessed }: ConformanceSubject): void {
  it.each(statuses)("takes its own error under status %d for what it is documented to mean", async (status) => {
    const hold = await holdPayment(harness(), harness().newPayment());
    const body = refusalOf(status);
    harness().spoilWith(() => ({ status, headers: { "content-type": "application/json" }, body }));
    const { connector } = harness();
    const payment = harness().newPayment();
    const { outcome } = await connector.authorize(harness().call(payment.attemptReference), payment);
    const cause = notProcessed[status];
    expect(outcome).toMatchObject(cause ? { type: "notProcessed", cause } : unknownAnswer);
    if (outcome.type === "notProcessed") expectCodeOf(outcome, body);
    const settling = status < 500 ? { type: "refused", definitive: false } : unknownAnswer;
    expect(await connector.capture(harness().call(`${hold.attemptReference}_cap`), hold)).toMatchObject(settling);
    expect(await connector.void(harness().call(`${hold.attemptReference}_void`), hold)).toMatchObject(settling);
    expect((await connector.lookUp(harness().call(""), hold)).type).toBe("inconclusive");
  });

  it.each(statuses)("treats status %d as unknown if its body is not the gateway's error", async (status) => {
    const hold = await holdPayment(harness(), harness().newPayment());
    const { connector } = harness();
    for (const body of ["", "null", '{"message":"no healthy upstream"}', refusalOf(599)]) {
      harness().spoilWith(() => ({ status, headers: { "content-type": "application/json" }, body }));
      const payment = harness().newPayment();
      const { outcome } = await connector.authorize(harness().call(payment.attemptReference), payment);
      expect(outcome).toMatchObject(unknownAnswer);
      expect((await connector.lookUp(harness().call(""), hold)).type).toBe("inconclusive");
    }
  });
}

/** Expects the gateway's own code, as its answer has it. */
function expectCodeOf({ gatewayCode }: NotProcessed, body: string): void {
  expect(gatewayCode).toMatch(/^[\w.-]{1,64}$/);
  // Empty if the answer came to a request that is never spoilt.
  if (body !== "") expect(body).toContain(`"${gatewayCode}"`);
}

// Checks the reasons that a merchant has to distinguish from an outage: each names the gateway's code and what it
// refuses.
function describeReasons(harness: () => GatewayHarness): void {
  let body = "";
  const refuse = async (call: (payment: AuthorizeRequest) => Partial<ChangingCall> = () => ({})) => {
    body = "";
    harness().spoilWith((honest) => {
      if (honest.status >= 400) ({ body } = honest);
      return honest;
    });
    const payment = harness().newPayment();
    const sent = { ...harness().call(payment.attemptReference), ...call(payment) };
    const { outcome } = await harness().connector.authorize(sent, payment);
    expect(await harness().sandbox.authorizations(payment.attemptReference)).toEqual([]);
    if (outcome.type !== "notProcessed") throw new Error(`expected a refusal, got ${JSON.stringify(outcome)}`);
    return outcome;
  };

  it("names the code of a gateway that refuses an account's card numbers", async () => {
    await harness().sandbox.setAccount("test_conformance", { rawCards: false });
    const outcome = await refuse();
    await harness().sandbox.setAccount("test_conformance", { rawCards: true });
    expect(["request_refused", "credentials_refused"]).toContain(outcome.cause);
    expectCodeOf(outcome, body);
  });

  it("names the code of a gateway that refuses a key, and not the key", async () => {
    const outcome = await refuse(() => ({ credentials: {} }));
    expect(outcome.cause).toBe("credentials_refused");
    expectCodeOf(outcome, body);
  });

  it("names no code where no gateway answered", async () => {
    const connector = harness().connectTo("http://127.0.0.1:9");
    const payment = harness().newPayment();
    const { outcome } = await connector.authorize(harness().call(payment.attemptReference), payment);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "connection_refused" });
    expect(outcome).not.toHaveProperty("gatewayCode");
  });
}

function describeRepeats(harness: () => GatewayHarness): void {
  it("holds once when the same authorize is sent twice", async () => {
    const payment = harness().newPayment();
    const first = await holdPayment(harness(), payment);
    const second = await holdPayment(harness(), payment);
    expect(second).toEqual(first);
    expect(await harness().sandbox.authorizations(payment.attemptReference)).toHaveLength(1);
  });

  it("returns the same answer when the same capture is sent twice, and captures the whole hold", async () => {
    const hold = await holdPayment(harness(), harness().newPayment());
    const capture = () => harness().connector.capture(harness().call(`${hold.attemptReference}_cap`), hold);
    const first = await capture();
    expect(["done", "accepted"]).toContain(first.type);
    expect(await capture()).toEqual(first);
    expect(await harness().sandbox.authorizations(hold.attemptReference)).toMatchObject([
      { status: "captured", capturedValue: 4900 },
    ]);
  });

  it("returns the same answer when the same void is sent twice, and leaves no hold", async () => {
    const hold = await holdPayment(harness(), harness().newPayment());
    const release = () => harness().connector.void(harness().call(`${hold.attemptReference}_void`), hold);
    const first = await release();
    expect(["done", "accepted"]).toContain(first.type);
    expect(await release()).toEqual(first);
    expect(await harness().sandbox.authorizations(hold.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("voids by our own reference when the gateway's never reached us", async () => {
    const { attemptReference, amountMinor, currency } = await holdPayment(harness(), harness().newPayment());
    const attempt = { attemptReference, amountMinor, currency };
    await harness().connector.void(harness().call(`${attemptReference}_void`), attempt);
    expect(await harness().sandbox.authorizations(attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("creates nothing by a look-up", async () => {
    const { attemptReference, amountMinor, currency } = harness().newPayment();
    const attempt = { attemptReference, amountMinor, currency };
    const answer = await harness().connector.lookUp(harness().call(""), attempt);
    // A gateway whose look-up by our own reference lags behind cannot report anything as absent.
    expect(harness().connector.canRead ? ["absent", "inconclusive"] : ["inconclusive"]).toContain(answer.type);
    expect(await harness().sandbox.authorizations(attemptReference)).toEqual([]);
  });

  it("sends a merchant's braces without making a placeholder of them", async () => {
    const payment = harness().newPayment({ orderRef: "{{{card.number}}}" });
    await holdPayment(harness(), payment);
    const [authorization] = await harness().sandbox.authorizations(payment.attemptReference);
    expect(authorization?.orderRef).toBe("{ { {card.number}}}");
  });
}

function describeVerify(harness: () => GatewayHarness): void {
  it("passes every required check of a fit account, or waits for its test notification", async () => {
    await harness().sandbox.setAccount("test_conformance", {
      notificationUrl: harness().middle.url + notificationPath,
    });
    const rows = await harness().connector.verify(harness().call(""));
    expect(rows.filter((row) => row.required && row.state === "failed")).toEqual([]);
    expect(rows.map((row) => row.check)).toEqual(
      expect.arrayContaining(["credentials", "environment", "raw_cards", "manual_capture", "currencies"]),
    );
  });

  it("refuses test credentials in live", async () => {
    const rows = await harness().connectTo(harness().middle.url, "live").verify(harness().call(""));
    expect(rows).toContainEqual(expect.objectContaining({ check: "environment", state: "failed" }));
  });

  it("fails the check of a permission that the account lacks", async () => {
    await harness().sandbox.setAccount("test_conformance", { rawCards: false, manualCapture: false });
    const rows = await harness().connector.verify(harness().call(""));
    expect(rows).toContainEqual(expect.objectContaining({ check: "raw_cards", state: "failed" }));
    expect(rows).toContainEqual(expect.objectContaining({ check: "manual_capture", state: "failed" }));
    await harness().sandbox.setAccount("test_conformance", { rawCards: true, manualCapture: true });
  });

  it("treats refused credentials as provably nothing, and names no credential", async () => {
    const payment = harness().newPayment();
    const call = { ...harness().call(payment.attemptReference), credentials: {} };
    const { outcome } = await harness().connector.authorize(call, payment);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "credentials_refused" });
    const rows = await harness().connector.verify(call);
    expect(rows[0]).toMatchObject({ check: "credentials", state: "failed" });
    const verified = await harness().connector.verify(harness().call(""));
    const text = JSON.stringify([outcome, verified.map(({ account: _, ...shown }) => shown)]);
    for (const credential of Object.values(harness().call("").credentials))
      expect(text).not.toContain(credential.expose());
  });
}

/** Checks that an account without a payment of ours proves nothing: the money may be at another account. */
function describeForeign(harness: () => GatewayHarness, { foreign }: ConformanceSubject): void {
  const callOf = (key: string) => ({ ...harness().call(key), credentials: foreign });
  const isOpen = ({ type, ...answer }: { readonly type: string; readonly definitive?: boolean }) =>
    type === "unknown" || type === "inconclusive" || (type === "refused" && answer.definitive === false);

  it("names the account that credentials open, and another one for those of another account", async () => {
    const accountOf = async (call: ChangingCall) =>
      (await harness().connector.verify(call)).find(({ check }) => check === "credentials")?.account;
    const own = await accountOf(harness().call(""));
    expect(own).toEqual(expect.any(String));
    expect(await accountOf(callOf(""))).toEqual(expect.any(String));
    expect(await accountOf(callOf(""))).not.toBe(own);
  });

  it("believes no answer of another account about a hold", async () => {
    const { connector } = harness();
    const hold = await holdPayment(harness(), harness().newPayment());
    const { attemptReference } = hold;
    expect(await connector.lookUp(callOf(""), hold)).toSatisfy(isOpen);
    expect(await connector.capture(callOf(`${attemptReference}_cap`), hold)).toSatisfy(isOpen);
    expect(await connector.void(callOf(`${attemptReference}_void`), hold)).toSatisfy(isOpen);
    const captured = await connector.capture(harness().call(`${attemptReference}_cap`), hold);
    expect(["done", "accepted"]).toContain(captured.type);
  });

  it("believes no answer of another account about a capture", async () => {
    const { connector } = harness();
    const refunds = connector.refunds!;
    const hold = await holdPayment(harness(), harness().newPayment());
    await connector.capture(harness().call(`${hold.attemptReference}_cap`), hold);
    const captured = { ...hold, capturedMinor: hold.amountMinor };
    const refund = { refundReference: `ref_of_${hold.attemptReference}`, amountMinor: 100, currency: "EUR" };
    expect(await refunds.refund(callOf(refund.refundReference), captured, refund)).toSatisfy(isOpen);
    expect(await refunds.lookUpRefund(callOf(""), captured, refund)).toMatchObject({ type: "cannotTell" });
    expect(await refunds.listRefunds?.(callOf(""), captured)).toBeUndefined();
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
      if (theirs.type === "impossible") throw new Error(theirs.reason);
      expect(theirs.value / 10 ** decimals).toBe(amount.amountMinor / 10 ** isoExponent(currency));
      expect(fromGatewayAmount(currencies, theirs.value, currency)).toEqual(amount);
    });
  });
}
