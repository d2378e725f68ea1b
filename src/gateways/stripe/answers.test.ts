import { describe, expect, it } from "vitest";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import { jsonReply as reply } from "../replies.fixture.ts";
import {
  isKeptError,
  isKeySpent,
  readCapture,
  readConfirmation,
  readNewIntent,
  readPaymentMethod,
  readVoid,
} from "./answers.ts";
import { readRecord, readSearch } from "./payment-intent.ts";

type Sample = Readonly<Record<string, unknown>>;

const attempt = { attemptReference: "att_1", amountMinor: 1099, currency: "USD" };

describe("isKeptError()", () => {
  it("distinguishes an error that Stripe repeats for its key from a new one and from a repeated answer", () => {
    expect(isKeptError(reply({}, 500, { "idempotent-replayed": "true" }))).toBe(true);
    expect(isKeptError(reply({}, 402, { "idempotent-replayed": "true" }))).toBe(true);
    expect(isKeptError(reply({}, 500))).toBe(false);
    expect(isKeptError(reply({}, 200, { "idempotent-replayed": "true" }))).toBe(false);
    expect(isKeptError({ type: "noAnswer", timedOut: true, reason: "" })).toBe(false);
  });
});

describe("isKeySpent()", () => {
  it("reports that a key is kept for an error, or belongs to other content", () => {
    expect(isKeySpent(reply({}, 402, { "idempotent-replayed": "true" }))).toBe(true);
    expect(isKeySpent(reply({ error: { type: "idempotency_error" } }, 400))).toBe(true);
    expect(isKeySpent(reply({ error: { type: "card_error" } }, 402))).toBe(false);
    expect(isKeySpent(reply({ error: { type: "invalid_request_error", code: "idempotency_key_in_use" } }, 409))).toBe(
      false,
    );
  });
});

describe("readConfirmation()", () => {
  const confirmed = (status: number, error: Sample) => readConfirmation(reply({ error }, status), attempt);
  const unknown = { type: "unknown", kind: "GATEWAY_ERROR" };

  it("treats a key without the required right as unknown: Stripe may have confirmed before it checked", () => {
    expect(confirmed(403, { type: "invalid_request_error" })).toMatchObject({ outcome: unknown });
    expect(confirmed(401, { type: "invalid_request_error" })).toMatchObject({
      outcome: { type: "notProcessed", cause: "credentials_refused" },
    });
  });

  it.each([
    ["a payment that another request works on", 429, { type: "invalid_request_error", code: "lock_timeout" }],
    ["a key that is in use", 409, { type: "invalid_request_error", code: "idempotency_key_in_use" }],
    ["a key of other content", 400, { type: "idempotency_error" }],
    ["a key without the right to something", 403, { type: "invalid_request_error" }],
  ])("counts %s against no gateway", (_, status, error) => {
    expect(confirmed(status, error)).toMatchObject({ outcome: { ...unknown, isAnswered: true } });
  });

  it.each([
    ["an error of Stripe's own", 500, { type: "api_error" }],
    ["a limit in other words", 429, { type: "invalid_request_error", code: "too_much" }],
    ["somebody else's error", 400, { message: "no healthy upstream" }],
  ])("counts %s against the gateway", (_, status, error) => {
    expect(confirmed(status, error)).toEqual({ type: "outcome", outcome: expect.objectContaining(unknown) });
    expect(confirmed(status, error)).not.toHaveProperty("outcome.isAnswered");
  });
});

type Resources = Readonly<Record<"payment_intent" | "payment_method" | "charge", Sample>>;

const refused = (error: Sample, status = 402) => reply({ error }, status);
const inState = (state: Sample) =>
  refused({ type: "invalid_request_error", code: "payment_intent_unexpected_state", payment_intent: state }, 400);

/** Values that no charge of a declined payment has. */
const contradictions: readonly Sample[] = [
  { paid: true },
  { captured: true },
  { status: "pending" },
  { outcome: { type: "authorized" } },
  { payment_intent: "pi_another" },
];

function samplesOf(resources: Resources) {
  const metadata = { attempt_id: "att_1" };
  const intent = (change: Sample = {}) => ({ ...resources.payment_intent, metadata, ...change });
  const declined = {
    type: "card_error",
    code: "card_declined",
    decline_code: "insufficient_funds",
    charge: resources.charge.id,
  };
  return {
    resources,
    charge: { ...resources.charge, paid: false, status: "failed" },
    metadata,
    intent,
    declined,
    held: intent({ status: "requires_capture", amount_capturable: 1099 }),
    captured: intent({ status: "succeeded", amount_received: 1099 }),
    failed: intent({ status: "requires_payment_method", last_payment_error: declined }),
  };
}

type Samples = ReturnType<typeof samplesOf>;

withShared<{ resources: Resources }>("stripe-fixtures", ({ resources }) => {
  describe("Stripe's own samples, read as answers,", () => {
    const samples = samplesOf(resources);
    describePreparation(samples);
    describeConfirmation(samples);
    describeSettling(samples);
    describeLookUp(samples);
  });
});

function describePreparation({ resources, metadata, intent }: Samples): void {
  it("are ready to be confirmed", () => {
    expect(readNewIntent(reply(intent()), attempt)).toEqual({ type: "ready", id: resources.payment_intent.id });
    const method = { ...resources.payment_method, metadata };
    expect(readPaymentMethod(reply(method), attempt)).toEqual({ type: "ready", id: resources.payment_method.id });
    expect(readPaymentMethod(reply(resources.payment_method), attempt)).toMatchObject({ type: "unknown" });
    const notAllowed = refused({ type: "invalid_request_error" });
    expect(readPaymentMethod(notAllowed, attempt)).toMatchObject({
      type: "notProcessed",
      cause: "credentials_refused",
    });
    expect(readNewIntent(reply(resources.payment_intent), attempt)).toMatchObject({ type: "unknown" });
  });
}

function describeConfirmation({ resources, charge, intent, declined, held, failed }: Samples): void {
  it.each([
    [400, { code: "amount_too_small" }, "request_refused", "amount_too_small"],
    [401, { code: "api_key_expired" }, "credentials_refused", "api_key_expired"],
    [401, {}, "credentials_refused", "invalid_request_error"],
    [403, { code: "account_invalid" }, "credentials_refused", "account_invalid"],
  ])("are refused under status %d with Stripe's code: %j", (status, details, cause, gatewayCode) => {
    const error = { type: "invalid_request_error", message: "Invalid API Key provided: sk_test_****", ...details };
    const refused = {
      type: "notProcessed",
      cause,
      gatewayCode,
      reason: `the gateway refused the request (HTTP ${status})`,
    };
    expect(readNewIntent(reply({ error }, status), attempt)).toEqual(refused);
  });

  it("are a hold for exactly our amount, and nothing else is", () => {
    const gatewayReference = resources.payment_intent.id;
    const outcome = (body: object) => readConfirmation(reply(body), attempt);
    expect(outcome(held)).toEqual({ type: "outcome", outcome: { type: "held", gatewayReference } });
    for (const change of [
      { amount_capturable: 1098 },
      { amount: 1098 },
      { currency: "eur" },
      { currency: "USD" },
      { status: "processing" },
      { status: "succeeded" },
      { object: "charge" },
    ]) {
      expect(outcome({ ...held, ...change })).toMatchObject({ outcome: { type: "unknown" } });
    }
  });

  it("wait for the customer to act, with and without an error", () => {
    const waiting = intent({ status: "requires_action" });
    expect(readConfirmation(reply(waiting), attempt)).toEqual({ type: "actionNeeded" });
    expect(readConfirmation(refused({ ...declined, payment_intent: waiting }), attempt)).toEqual({
      type: "actionNeeded",
    });
  });

  it("are a decline with its charge, and one that has yet to be judged without it", () => {
    const withCharge = { ...failed, latest_charge: { ...charge, outcome: { type: "issuer_declined" } } };
    expect(readConfirmation(refused({ ...declined, payment_intent: withCharge }), attempt)).toMatchObject({
      type: "outcome",
      outcome: { type: "declined", declineCode: "insufficient_funds", stop: "none" },
    });
    expect(readConfirmation(refused({ ...declined, payment_intent: failed }), attempt)).toMatchObject({
      type: "unjudged",
    });
    const unjudged = { ...failed, latest_charge: { ...charge, outcome: null } };
    expect(readConfirmation(refused({ ...declined, payment_intent: unjudged }), attempt).type).toBe("unjudged");
    expect(readConfirmation(refused(declined), attempt)).toMatchObject({ outcome: { type: "unknown" } });
    for (const status of ["requires_capture", "succeeded", "processing"]) {
      const contradicted = refused({ ...declined, payment_intent: { ...withCharge, status } });
      expect(readConfirmation(contradicted, attempt)).toMatchObject({ outcome: { type: "unknown" } });
    }
    for (const change of contradictions) {
      const contradicted = { ...failed, latest_charge: { ...withCharge.latest_charge, ...change } };
      expect(readConfirmation(refused({ ...declined, payment_intent: contradicted }), attempt)).toMatchObject({
        outcome: { type: "unknown" },
      });
    }
  });

  it("are certainly no hold when the payment was cancelled before, and in no other unexpected state", () => {
    const state = (status: string) => readConfirmation(inState(intent({ status })), attempt);
    expect(state("canceled")).toMatchObject({ outcome: { type: "notProcessed", cause: "request_refused" } });
    expect(state("requires_capture")).toMatchObject({ outcome: { type: "unknown" } });
  });
}

function describeSettling({ intent, held, captured }: Samples): void {
  it("are a capture of the whole amount, also where it had been made before", () => {
    expect(readCapture(reply(captured), attempt)).toEqual({ type: "done" });
    expect(readCapture(inState(captured), attempt)).toEqual({ type: "done" });
    expect(readCapture(reply({ ...captured, amount_received: 1 }), attempt)).toMatchObject({ type: "unknown" });
    const part = { ...attempt, captureMinor: 1 };
    expect(readCapture(reply({ ...captured, amount_received: 1 }), part)).toEqual({ type: "done" });
    expect(readCapture(reply(captured), part)).toMatchObject({ type: "unknown" });
    expect(readCapture(inState(intent({ status: "canceled" })), attempt)).toMatchObject({ definitive: true });
    const expired = { type: "invalid_request_error", code: "charge_expired_for_capture", payment_intent: held };
    expect(readCapture(refused(expired, 400), attempt)).toMatchObject({ type: "refused", definitive: true });
    const small = { type: "invalid_request_error", code: "amount_too_small", payment_intent: held };
    expect(readCapture(refused(small, 400), { ...attempt, captureMinor: 1 })).toMatchObject({ definitive: true });
  });

  it("are a void, or the answer that it came too late", () => {
    expect(readVoid(reply(intent({ status: "canceled" })), attempt)).toEqual({ type: "done" });
    expect(readVoid(inState(intent({ status: "canceled" })), attempt)).toEqual({ type: "done" });
    expect(readVoid(inState(captured), attempt)).toEqual({ type: "alreadyCaptured" });
    for (const other of [{ amount_received: 1098 }, { amount: 1098, amount_received: 1098 }]) {
      expect(readVoid(inState({ ...captured, ...other }), attempt)).toMatchObject({
        type: "refused",
        definitive: false,
      });
    }
    expect(readVoid(reply(held), attempt)).toMatchObject({ type: "unknown" });
  });
}

function describeLookUp({ resources, charge, intent, held, captured, failed }: Samples): void {
  it("are the result of a look-up by id", () => {
    const gatewayReference = resources.payment_intent.id;
    const recordOf = (body: object) => readRecord(reply(body), attempt);
    expect(recordOf(held)).toEqual({ type: "held", gatewayReference });
    expect(recordOf({ ...held, amount: 1098 })).toEqual({ type: "heldOther", gatewayReference });
    expect(recordOf(captured)).toEqual({ type: "captured", gatewayReference, capturedMinor: 1099 });
    expect(recordOf({ ...captured, amount_received: 1 })).toMatchObject({ type: "captured", capturedMinor: 1 });
    for (const amount_received of [0, 1100, "1099", undefined]) {
      expect(recordOf({ ...captured, amount_received })).toMatchObject({ type: "inconclusive" });
    }
    expect(recordOf(intent({ status: "canceled" }))).toEqual({ type: "voided" });
    expect(recordOf({ ...failed, latest_charge: charge })).toMatchObject({ type: "declined", stop: "none" });
    for (const change of contradictions) {
      expect(recordOf({ ...failed, latest_charge: { ...charge, ...change } })).toMatchObject({ type: "inconclusive" });
    }
    expect(recordOf(intent({ status: "requires_action" }))).toMatchObject({ type: "inconclusive" });
    expect(recordOf(intent({ last_payment_error: null }))).toEqual({ type: "absent" });
    expect(recordOf(intent({ status: "requires_confirmation" }))).toMatchObject({ type: "inconclusive" });
    expect(recordOf(intent({ status: "processing" }))).toMatchObject({ type: "inconclusive" });
    expect(recordOf({ ...held, metadata: {} })).toMatchObject({ type: "inconclusive" });
  });

  it("are the result of a search: capture before hold, hold before what ended, and nothing proves nothing", () => {
    const recordOf = (...data: object[]) => readSearch(reply({ object: "search_result", data }), attempt).type;
    expect(recordOf(failed, held, captured)).toBe("captured");
    expect(recordOf(intent({ status: "canceled" }), held)).toBe("held");
    expect(recordOf()).toBe("inconclusive");
  });
}
