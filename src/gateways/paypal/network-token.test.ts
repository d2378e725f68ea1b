import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { Secret } from "../../platform/secrets.ts";
import type { AuthorizeRequest } from "../connector.ts";
import { subjects } from "../subjects.fixture.ts";

const harness = await forFile(() => startGatewayHarness(subjects.PAYPAL));

async function pay(number: string, payment: AuthorizeRequest) {
  harness.forwarder.useCard(number);
  return (await harness.connector.authorize(harness.call(payment.attemptReference), payment)).outcome;
}

describe("a device's number", () => {
  const number = "4000000000008302";
  const tokenOf = (name?: "apple_pay" | "google_pay") =>
    harness.newPayment({ vaultToken: new Secret(`wnt_${name}`), wallet: { credential: "NETWORK_TOKEN", name } });
  const sent = () =>
    JSON.parse(harness.middle.requests.findLast(({ path }) => path.endsWith("/authorize"))!.body.toString());
  const cryptogram = expect.stringMatching(/^[A-Za-z0-9+/]+=*$/);
  const card = { number, expiry: "2030-03" };

  it("is sent as Apple Pay's, with the amount", async () => {
    expect(await pay(number, tokenOf("apple_pay"))).toMatchObject({ type: "held" });
    const payment_data = { cryptogram, eci_indicator: "5" };
    const transaction_amount = { currency_code: "EUR", value: "49.00" };
    const decrypted_token = { transaction_amount, tokenized_card: card, payment_data_type: "3DSECURE", payment_data };
    expect(sent()).toEqual({ payment_source: { apple_pay: { decrypted_token } } });
  });

  it("is sent as Google Pay's, with its message", async () => {
    expect(await pay(number, tokenOf("google_pay"))).toMatchObject({ type: "held" });
    const message = { message_id: "1", message_expiration: "1" };
    const method = { payment_method: "CARD", authentication_method: "CRYPTOGRAM_3DS" };
    const decrypted_token = { ...message, ...method, card, cryptogram, eci_indicator: "5" };
    expect(sent()).toEqual({ payment_source: { google_pay: { decrypted_token } } });
  });

  it("is not sent where the wallet is unknown, and nothing has happened", async () => {
    const requests = harness.middle.requests.length;
    expect(await pay(number, tokenOf())).toMatchObject({ type: "notProcessed", cause: "request_refused" });
    expect(harness.middle.requests).toHaveLength(requests);
  });

  it.each([
    "APPLE_PAY_AMOUNT_MISMATCH",
    "NOT_ENABLED_FOR_APPLE_PAY",
    "NOT_ENABLED_FOR_GOOGLE_PAY",
    "INVALID_GOOGLE_PAY_TOKEN",
    "GOOGLE_PAY_GATEWAY_MERCHANT_ID_MISMATCH",
  ])("was seen by no network where PayPal answers %s", async (issue) => {
    const body = JSON.stringify({ name: "UNPROCESSABLE_ENTITY", details: [{ issue }], debug_id: "1" });
    harness.replaceWith(({ path }) => (path.endsWith("/authorize") ? { status: 422, body } : undefined));
    const outcome = await pay(number, tokenOf("apple_pay"));
    harness.replaceWith(() => undefined);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "request_refused", gatewayCode: issue });
  });
});
