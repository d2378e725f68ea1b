import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import {
  approvedCard,
  type GatewayHarness,
  holdPayment,
  startGatewayHarness,
} from "../../dev/testing/gateway-harness.ts";
import { describeConformance } from "../../dev/testing/gateways/connector.conformance.ts";
import { Secret } from "../../platform/secrets.ts";
import { subjects } from "../subjects.fixture.ts";
import { apiVersion } from "./api.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

const subject = subjects.STRIPE;

describeConformance({
  ...subject,
  // The requests that decide about money; faults in earlier requests have tests below.
  spoils: /^(?!POST \/v1\/payment_(methods|intents)$)/,
  gateway: "STRIPE",
  foreign: { secretKey: new Secret("sk_test_anotheraccount") },
  authentication: {
    codes: { unasked: "authentication_required", soft: "authentication_required" },
    reported: {
      Y: { version: "2.2.0", eci: "05" },
      A: { version: "2.2.0", eci: "06" },
    },
    asks: /^POST .*\/confirm$/,
    requests: 3,
    otherShape: (body) =>
      body.replace(/"next_action":\{.*?\}\}/, '"next_action":{"type":"use_stripe_sdk","use_stripe_sdk":{}}'),
  },
  imports: {
    read: (body) => {
      const fields = [...new URLSearchParams(body)].filter(([name]) => /\[(three_d_secure|network)\]/.test(name));
      return Object.fromEntries(
        fields.map(([name, value]) => [name.replace("payment_method_options[card]", ""), value]),
      );
    },
    fields: ({ cartesBancaires, ...proof }) => ({
      "[three_d_secure][version]": proof.version,
      "[three_d_secure][cryptogram]": proof.cryptogram,
      "[three_d_secure][transaction_id]": proof.dsTransactionId,
      "[three_d_secure][electronic_commerce_indicator]": proof.eci,
      "[three_d_secure][ares_trans_status]": proof.directoryStatus,
      "[three_d_secure][requestor_challenge_indicator]": "04",
      ...(cartesBancaires && {
        "[network]": "cartes_bancaires",
        "[three_d_secure][network_options][cartes_bancaires][cb_avalgo]": cartesBancaires.algorithm,
      }),
      ...(cartesBancaires?.score && {
        "[three_d_secure][network_options][cartes_bancaires][cb_exemption]": "4AAA",
        "[three_d_secure][network_options][cartes_bancaires][cb_score]": "57",
      }),
    }),
  },
  holds: { saysEnd: true },
  refunds: {
    acquirer: "STRIPE",
    findsByReference: true,
    finalRefusal: {
      status: 400,
      body: '{"error":{"type":"invalid_request_error","code":"charge_already_refunded"}}',
    },
  },
  stored: {
    setsUp: true,
    undoesSetUps: true,
    plain: [
      "POST /v1/payment_methods type=card&card%5Bnumber%5D=4242424242424242&card%5Bexp_month%5D=03&card%5Bexp_year%5D=2030&card%5Bcvc%5D=737&billing_details%5Bname%5D=Ada%20Lovelace&metadata%5Battempt_id%5D=att_1&metadata%5Bsession_id%5D=ps_1&metadata%5Border_ref%5D=order-1",
      "POST /v1/payment_intents amount=4900&currency=eur&capture_method=manual&payment_method_types%5B0%5D=card&metadata%5Battempt_id%5D=att_1&confirmation_method=manual",
      "POST /v1/payment_intents/pi_1/confirm payment_method=pm_1&error_on_requires_action=true&expand%5B0%5D=latest_charge",
    ],
    read: (body) => {
      const names = /^(customer|metadata\[customer\]|setup_future_usage|off_session)$/;
      return Object.fromEntries([...new URLSearchParams(body)].filter(([name]) => names.test(name)));
    },
    fields: (use) => {
      if (use.type === "customer") return {};
      const named = { customer: expect.stringMatching(/^cus_/) };
      if (use.type === "renewal")
        return { ...named, off_session: use.purpose === "unscheduled" ? "one_off" : "recurring" };
      const usage = use.purpose === "customer" ? "on_session" : "off_session";
      return { ...named, "metadata[customer]": use.customer, setup_future_usage: usage };
    },
  },
  declines,
  currencies,
  refusalOf: (status) =>
    JSON.stringify({
      error: {
        type: status < 500 ? "invalid_request_error" : "api_error",
        code: status === 429 ? "rate_limit" : "in_no_row",
      },
    }),
  notProcessed: {
    400: "request_refused",
    // Not 403: a confirmation may have been carried out before the key's rights were checked.
    401: "credentials_refused",
    429: "rate_limited",
  },
});

const capturedOnce = { type: "done", captureReference: expect.stringMatching(/^ch_/) };

describe("StripeConnector", async () => {
  const harness = await forFile(() => startGatewayHarness(subject));

  it("forbids a challenge of Stripe's where it gets a proof", async () => {
    const proof = { version: "2.2.0", transStatus: "Y", directoryStatus: "Y", eci: "05", cryptogram: "c" };
    const payment = harness.newPayment({ proof: { ...proof, dsTransactionId: "d", challengeIndicator: "01" } });
    await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    const confirm = harness.middle.requests.findLast(({ path }) => path.endsWith("/confirm"))!;
    const form = new URLSearchParams(confirm.body.toString());
    expect(form.get("error_on_requires_action")).toBe("true");
    expect(form.has("return_url")).toBe(false);
  });

  it.each([
    ["4000002500001001", "cartes_bancaires", "cartes_bancaires"],
    ["4000002500001001", "visa", "visa"],
    ["5555552500001001", "cartes_bancaires", "cartes_bancaires"],
    // Not co-badged, as Stripe knows it: a network that the card does not have would be refused.
    ["4242424242424242", "cartes_bancaires", null],
    ["4000002500001001", undefined, null],
  ])("holds on the network that the customer of %s chose: %s", async (number, brand, network) => {
    const payment = harness.newPayment();
    harness.forwarder.useCard(number);
    harness.forwarder.chooseBrand(brand);
    const { outcome, card } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    harness.forwarder.chooseBrand(undefined);
    harness.forwarder.useCard(approvedCard);
    expect(outcome.type).toBe("held");
    expect(card?.brand).toBe(brand ?? "visa");
    const confirm = harness.middle.requests.findLast(({ path }) => path.endsWith("/confirm"))!;
    const form = new URLSearchParams(confirm.body.toString());
    expect(form.get("payment_method_options[card][network]")).toBe(network);
    const { gatewayReference = "" } = outcome as { gatewayReference?: string };
    expect(gatewayReference).toMatch(/^pi_/);
  });

  const authorize = async (number: string, payment = harness.newPayment(), signal?: AbortSignal) => {
    harness.forwarder.useCard(number);
    const answer = harness.connector.authorize({ ...harness.call(payment.attemptReference), signal }, payment);
    harness.forwarder.useCard(approvedCard);
    return (await answer).outcome;
  };
  const withoutName = ({ attemptReference, amountMinor, currency }: ReturnType<GatewayHarness["newPayment"]>) => ({
    attemptReference,
    amountMinor,
    currency,
  });
  const askedFor = (reference: string, path: RegExp) =>
    harness.middle.requests.filter(
      ({ method, path: asked, body }) =>
        path.test(`${method} ${asked.split("?")[0]}`) && decodeURIComponent(body.toString()).includes(reference),
    );

  it.each([
    ["4242424242424242", { type: "held", gatewayReference: expect.stringMatching(/^pi_/) }],
    ["4000000000000002", { type: "declined", kind: "SOFT_DECLINE", stop: "none", gatewayCode: "generic_decline" }],
    ["4000000000009995", { type: "declined", kind: "SOFT_DECLINE", stop: "none", declineCode: "insufficient_funds" }],
    ["4000000000009987", { type: "declined", stop: "scheme_rule", declineCode: "lost_or_stolen" }],
    ["4000000000009979", { type: "declined", stop: "scheme_rule", declineCode: "lost_or_stolen" }],
    ["4000000000006975", { type: "declined", stop: "none", declineCode: "limit_exceeded" }],
    ["4000000000000069", { type: "declined", stop: "same_card_fails", declineCode: "card_expired" }],
    ["4000000000000127", { type: "declined", stop: "same_card_fails", declineCode: "incorrect_cvc" }],
    ["4000000000000119", { type: "declined", kind: "SOFT_DECLINE", stop: "none", gatewayCode: "processing_error" }],
    ["4242424242424241", { type: "declined", stop: "same_card_fails", declineCode: "incorrect_number" }],
    ["4100000000000019", { type: "declined", kind: "FRAUD", stop: "fraud", gatewayCode: "fraudulent" }],
    ["4000000000009235", { type: "held" }],
    ["4000000000003220", { type: "declined", stop: "authentication_required" }],
    ["4000002760003184", { type: "declined", declineCode: "authentication_required" }],
    ["4000000000005001", { type: "unknown", kind: "GATEWAY_ERROR" }],
    ["4000000000004160", { type: "unknown", kind: "GATEWAY_ERROR" }],
  ])("authorizes Stripe's test card %s as Stripe describes it", async (number, expected) => {
    expect(await authorize(number)).toMatchObject(expected);
  });

  const wish = (wish: "as_needed" | "always") => {
    const browser = { javaEnabled: false, colorDepth: 24, screenWidth: 1_280, screenHeight: 800 };
    const returnUrl = "https://pay.example/authentication/test/return/att_1";
    return { authentication: { wish, browser: { ...browser, timeZoneOffsetMinutes: 0, language: "de" }, returnUrl } };
  };

  it.each([
    ["4000002760003184", { type: "held" }],
    ["4000002500003155", { type: "held" }],
    ["4000000000003220", { type: "held" }],
    ["4000008260003178", { type: "declined", declineCode: "insufficient_funds", stop: "none" }],
    ["4000008400001629", { type: "declined", declineCode: "card_declined", stop: "none" }],
  ])(
    "asks the customer of Stripe's test card %s, and then decides as Stripe describes it",
    async (number, expected) => {
      const payment = harness.newPayment(wish("as_needed"));
      const asked = await authorize(number, payment);
      if (asked.type !== "actionNeeded") throw new Error(`expected an action, got ${asked.type}`);
      await fetch(asked.action.url, {
        method: "POST",
        body: new URLSearchParams({ code: "123456" }),
        redirect: "manual",
      });
      const attempt = { ...withoutName(payment), gatewayReference: asked.gatewayReference };
      const call = harness.call(`${payment.attemptReference}_2`);
      const { outcome, authenticated } = await harness.connector.authentication!.complete(call, attempt, {});
      expect(outcome).toMatchObject(expected);
      if (outcome.type !== "held") return;
      expect(authenticated).toMatchObject({ version: "2.2.0", transStatus: "Y", eci: "05" });
      expect(authenticated?.dsTransactionId).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it.each([
    ["no customer", {}, { error_on_requires_action: "true" }],
    ["as_needed", wish("as_needed"), { return_url: wish("always").authentication.returnUrl }],
    [
      "always",
      wish("always"),
      {
        return_url: wish("always").authentication.returnUrl,
        "payment_method_options[card][request_three_d_secure]": "any",
      },
    ],
  ])("creates every payment with the same bytes, and confirms it as permitted: %s", async (_, permission, expected) => {
    const payment = harness.newPayment(permission);
    await authorize(approvedCard, payment);
    const forms = harness.middle.requests.slice(-3).map(({ path, body }) => [path, body.toString()] as const);
    expect(forms.find(([path]) => path === "/v1/payment_intents")?.[1]).toBe(
      `amount=4900&currency=eur&capture_method=manual&payment_method_types%5B0%5D=card&metadata%5Battempt_id%5D=${payment.attemptReference}&confirmation_method=manual`,
    );
    const confirmation = forms.find(([path]) => path.endsWith("/confirm"))?.[1];
    const { payment_method: _method, ...fields } = Object.fromEntries(new URLSearchParams(confirmation));
    expect(fields).toEqual({ ...expected, "expand[0]": "latest_charge" });
  });

  it("sees Radar's block behind a plain decline", async () => {
    const payment = harness.newPayment();
    const outcome = await authorize("4000000000004954", payment);
    expect(outcome).toMatchObject({ kind: "FRAUD", stop: "fraud", gatewayCode: "generic_decline" });
  });

  it("stops at a plain decline whose charge it cannot read", async () => {
    harness.spoilWith((honest) =>
      honest.status === 200 && honest.body.includes('"last_payment_error":{') ? "reset" : honest,
    );
    const outcome = await authorize("4000000000000002");
    harness.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "declined", stop: "unclassified", gatewayCode: "generic_decline" });
  });

  it("sends Stripe's version, a key of its own for each request, and nothing of the payment's text with a key", async () => {
    const payment = harness.newPayment({ orderRef: "order 7", customerEmail: "ada@example.com" });
    const hold = await holdPayment(harness, payment);
    const call = harness.call(`${payment.attemptReference}_cap`);
    await harness.connector.capture(call, { ...hold, ...payment, statementDescriptor: "Tea & <Cake>" });
    const asked = harness.middle.requests.slice(-4);
    expect(asked.map(({ headers }) => headers["stripe-version"])).toEqual(Array(4).fill(apiVersion));
    expect(asked.map(({ headers }) => headers["idempotency-key"]).toSorted()).toEqual([
      payment.attemptReference,
      `${payment.attemptReference}_cap`,
      `${payment.attemptReference}_card`,
      `${payment.attemptReference}_new`,
    ]);
    const forms = Object.fromEntries(asked.map(({ path, body }) => [path, new URLSearchParams(body.toString())]));
    expect(forms["/v1/payment_methods"]?.get("metadata[order_ref]")).toBe("order 7");
    expect(forms["/v1/payment_methods"]?.get("billing_details[email]")).toBe("ada@example.com");
    const capture = forms[`/v1/payment_intents/${hold.gatewayReference}/capture`];
    expect(capture?.get("metadata[order_ref]")).toBe("order 7");
    expect(capture?.get("statement_descriptor_suffix")).toBe("Tea & Cake");
  });

  it("names the payment of a confirmation whose answer was lost, and finds its hold by that name at once", async () => {
    const payment = harness.newPayment();
    harness.spoilWith((honest) => (honest.body.includes('"requires_capture"') ? "reset" : honest));
    const outcome = await authorize(approvedCard, payment);
    harness.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", gatewayReference: expect.stringMatching(/^pi_/) });
    if (outcome.type !== "unknown") throw new Error("checked above");
    const named = { ...withoutName(payment), gatewayReference: outcome.gatewayReference };
    expect(await harness.connector.lookUp(harness.call(""), named)).toMatchObject({ type: "held" });
    expect(await harness.connector.void(harness.call("lost_void"), named)).toEqual({ type: "done" });
  });

  it("finds a hold by our reference once the search has caught up, and until then cannot decide", async () => {
    const payment = harness.newPayment();
    await holdPayment(harness, payment);
    const lookUp = () => harness.connector.lookUp(harness.call(""), withoutName(payment));
    expect(await lookUp()).toMatchObject({ type: "inconclusive", isUnfound: true });
    await harness.sandbox.release({ operation: "stripe.search-index", reference: payment.attemptReference });
    expect(await lookUp()).toMatchObject({ type: "held" });
  });

  it("voids by our reference what the search finds", async () => {
    const payment = harness.newPayment();
    await holdPayment(harness, payment);
    await harness.sandbox.release({ operation: "stripe.search-index", reference: payment.attemptReference });
    const asked = askedFor(payment.attemptReference, /^POST \/v1\/payment_intents$/).length;
    expect(await harness.connector.void(harness.call("found_void"), withoutName(payment))).toEqual({ type: "done" });
    expect(askedFor(payment.attemptReference, /^POST \/v1\/payment_intents$/)).toHaveLength(asked);
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("voids everything that the search finds under our reference", async () => {
    const payment = harness.newPayment();
    await holdPayment(harness, payment);
    await fetch(`${harness.sandboxOrigin}/v1/payment_intents`, {
      method: "POST",
      headers: { authorization: `Bearer ${subject.credentials.secretKey.expose()}` },
      body: new URLSearchParams({
        amount: "4900",
        currency: "eur",
        capture_method: "manual",
        "metadata[attempt_id]": payment.attemptReference,
      }),
    });
    await harness.sandbox.release({ operation: "stripe.search-index", reference: payment.attemptReference });
    expect(await harness.connector.void(harness.call("both_void"), withoutName(payment))).toEqual({ type: "done" });
    expect(await harness.sandbox.requests(payment.attemptReference)).toMatchObject({ "stripe.cancel": 2 });
    expect(await harness.connector.lookUp(harness.call(""), withoutName(payment))).toEqual({ type: "voided" });
  });

  it("neutralizes a payment that Stripe does not know: a late confirmation is refused", async () => {
    const payment = harness.newPayment();
    expect(await harness.connector.void(harness.call("early_void"), withoutName(payment))).toEqual({ type: "done" });
    expect(await authorize(approvedCard, payment)).toMatchObject({ type: "notProcessed", cause: "request_refused" });
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("reports nothing as held, declined or refused while another request works on the payment", async () => {
    const payment = harness.newPayment();
    const first = authorize("4000000000002024", payment);
    await harness.sandbox.paused({ operation: "stripe.silence", reference: payment.attemptReference });
    expect(await authorize("4000000000002024", payment)).toMatchObject({ type: "unknown" });
    const meanwhile = await harness.connector.void(harness.call("meanwhile_void"), withoutName(payment));
    expect(meanwhile).toMatchObject({ type: "refused", definitive: false, gatewayCode: "lock_timeout" });
    await harness.sandbox.release({ operation: "stripe.silence", reference: payment.attemptReference });
    expect(await first).toMatchObject({ type: "unknown" });
    expect(await harness.connector.void(harness.call("late_void"), withoutName(payment))).toEqual({ type: "done" });
  });

  it("trusts the record if Stripe keeps an error for a capture that it carried out", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    const keptError = { status: 500, headers: { "idempotent-replayed": "true" }, body: "" };
    const capture = () => harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    harness.spoilWith((honest) => (honest.body.includes('"succeeded"') ? keptError : honest));
    expect(await capture()).toMatchObject({ type: "unknown" });
    let errors = 1;
    harness.spoilWith((honest) => (errors-- > 0 ? keptError : honest));
    expect(await capture()).toEqual({ ...capturedOnce, networkTransactionId: expect.stringMatching(/./) });
    harness.spoilWith((honest) => honest);
    expect(await harness.sandbox.requests(hold.attemptReference)).toMatchObject({
      "stripe.capture": 2,
      "stripe.read": 2,
    });
  });

  it("captures under another key if Stripe keeps an error for a capture that it did not carry out", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    const keys: string[] = [];
    harness.replaceWith(({ path, headers }) => {
      if (!path.endsWith("/capture") || keys.push(String(headers["idempotency-key"])) > 1) return undefined;
      return { status: 500, headers: { "idempotent-replayed": "true" }, body: '{"error":{"type":"api_error"}}' };
    });
    const answer = await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    harness.replaceWith(() => undefined);
    expect(answer).toEqual(capturedOnce);
    expect(keys).toEqual([
      `${hold.attemptReference}_cap`,
      expect.stringMatching(new RegExp(`^${hold.attemptReference}_cap_.`)),
    ]);
    expect(await harness.sandbox.authorizations(hold.attemptReference)).toMatchObject([{ status: "captured" }]);
  });

  it("treats a capture made under another key as done, and definitively refuses a voided payment", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    await harness.connector.capture(harness.call("first_cap"), hold);
    expect(await harness.connector.capture(harness.call("second_cap"), hold)).toEqual(capturedOnce);
    expect(await harness.connector.void(harness.call("v2"), hold)).toEqual({ type: "alreadyCaptured" });
    const other = await holdPayment(harness, harness.newPayment());
    await harness.connector.void(harness.call("v1"), other);
    expect(await harness.connector.capture(harness.call("c1"), other)).toEqual({
      type: "refused",
      definitive: true,
      gatewayCode: "payment_intent_unexpected_state",
    });
  });

  it("looks up a decline as the same decline, and a hold of another amount as no hold of ours", async () => {
    const payment = harness.newPayment();
    const outcome = await authorize("4000000000009995", payment);
    const gatewayReference = nameOf(payment);
    expect(await harness.connector.lookUp(harness.call(""), { ...payment, gatewayReference })).toEqual(outcome);
    const other = harness.newPayment();
    const unknown = await authorize("4000000000004160", other);
    if (unknown.type !== "unknown") throw new Error("expected a hold over another amount");
    const named = { ...other, gatewayReference: unknown.gatewayReference };
    expect(await harness.connector.lookUp(harness.call(""), named)).toMatchObject({ type: "heldOther" });
  });

  /** Returns the name that Stripe gave to the payment, taken from the address of its confirmation. */
  function nameOf({ attemptReference }: { attemptReference: string }) {
    const confirmation = harness.middle.requests.find(
      ({ path, headers }) => path.endsWith("/confirm") && headers["idempotency-key"] === attemptReference,
    );
    return confirmation?.path.split("/")[3];
  }
});
