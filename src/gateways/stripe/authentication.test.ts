import { describe, expect, it } from "vitest";
import { jsonReply as reply } from "../replies.fixture.ts";
import { readConfirmation } from "./answers.ts";
import { readAction, readAuthenticated } from "./authentication.ts";

const attempt = { attemptReference: "att_1", gatewayReference: "pi_1", amountMinor: 4900, currency: "EUR" };
const intent = (change: object = {}) => ({
  id: "pi_1",
  object: "payment_intent",
  amount: 4900,
  currency: "eur",
  metadata: { attempt_id: "att_1" },
  latest_charge: null,
  last_payment_error: null,
  ...change,
});
const page = "https://hooks.stripe.com/3d_secure_2/hosted?merchant=acct_1";
const redirect = { type: "redirect_to_url", redirect_to_url: { url: page, return_url: "https://pay.example/" } };
const failure = { code: "payment_intent_authentication_failure", type: "invalid_request_error" };

describe("readConfirmation()", () => {
  it("returns the page that the customer has to see", () => {
    const asking = intent({ status: "requires_action", next_action: redirect });
    expect(readConfirmation(reply(asking), attempt)).toEqual({ type: "actionNeeded", url: page });
  });

  it.each([
    [{ type: "use_stripe_sdk", use_stripe_sdk: {} }],
    [{ ...redirect, type: "use_stripe_sdk" }],
    [{ type: "redirect_to_url" }],
    [{ ...redirect, redirect_to_url: { url: null } }],
    [{ ...redirect, redirect_to_url: { url: "javascript:alert(1)" } }],
    [null],
  ])("returns no page for the action %j", (action) => {
    const asking = intent({ status: "requires_action", next_action: action });
    expect(readConfirmation(reply(asking), attempt)).toEqual({ type: "actionNeeded", url: undefined });
  });

  it.each([400, 402])("judges a failed authentication under status %d by the payment intent", (status) => {
    const error = { ...failure, payment_intent: intent({ status: "requires_payment_method" }) };
    expect(readConfirmation(reply({ error }, status), attempt)).toEqual({ type: "unjudged", error });
    expect(readConfirmation(reply({ error: failure }, status), attempt)).not.toMatchObject({ type: "unjudged" });
  });
});

describe("readAction()", () => {
  const seen = (change: object, status = 200) => readAction(reply(intent(change), status), attempt);

  it("waits while Stripe waits for the customer, and goes on once it waits for a confirmation", () => {
    expect(seen({ status: "requires_action" })).toEqual({ type: "waiting" });
    expect(seen({ status: "requires_confirmation" })).toEqual({ type: "answered" });
  });

  it("ends with a customer who failed, and not with another payment's record", () => {
    const failed = { status: "requires_payment_method", last_payment_error: failure };
    expect(seen(failed)).toMatchObject({ type: "declined", stop: "authentication_failed" });
    expect(seen({ status: "requires_confirmation", metadata: { attempt_id: "att_2" } }).type).toBe("inconclusive");
    expect(seen({ status: "requires_confirmation", id: "pi_2" }).type).toBe("inconclusive");
    expect(seen({ status: "requires_confirmation" }, 404).type).toBe("inconclusive");
    expect(readAction({ type: "noAnswer", timedOut: true, reason: "" }, attempt).type).toBe("inconclusive");
  });
});

describe("readAuthenticated()", () => {
  const said = (threeDSecure: unknown) => {
    const charge = { payment_method_details: { card: { three_d_secure: threeDSecure } } };
    return readAuthenticated(reply(intent({ latest_charge: charge })));
  };

  it("keeps what Stripe says, in the letters of 3-D Secure, and never the cryptogram", () => {
    const result = { version: "2.2.0", electronic_commerce_indicator: "05", transaction_id: "ds-1", cryptogram: "AAA" };
    expect(said({ ...result, result: "authenticated" })).toEqual({
      version: "2.2.0",
      transStatus: "Y",
      eci: "05",
      dsTransactionId: "ds-1",
    });
    expect(said({ result: "attempt_acknowledged" })).toMatchObject({ transStatus: "A" });
    for (const unheardOf of ["exempted", "constructor", undefined]) {
      expect(said({ result: unheardOf })).toBeUndefined();
    }
  });

  it("knows nothing of a charge without authentication, or of an answer without a charge", () => {
    expect(said(null)).toBeUndefined();
    expect(readAuthenticated(reply(intent({ latest_charge: "ch_1" })))).toBeUndefined();
    expect(readAuthenticated({ type: "noAnswer", timedOut: true, reason: "" })).toBeUndefined();
  });
});
