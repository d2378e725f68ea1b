/**
 * A second list of the codes that are fraud, and of those after which a payment may be sent to the same gateway again.
 * Fraud never fails over, so a code that is no longer classified as fraud would let a card be tried at the next gateway.
 * A change to the list must be made here too, with the gateway's own words for it.
 */
import { describe, expect, it } from "vitest";
import { declines as adyen } from "./adyen/declines.ts";
import { classifyDecline, type DeclineTable } from "./declines.ts";
import { declines as paypal } from "./paypal/declines.ts";
import { declines as sandboxA } from "./sandbox/a/declines.ts";
import { declines as sandboxB } from "./sandbox/b/declines.ts";
import { declines as stripe } from "./stripe/declines.ts";

type Judged = {
  readonly gateway: string;
  readonly table: DeclineTable;
  readonly frauds: readonly string[];
  readonly again: readonly string[];
};

const gateways: readonly Judged[] = [
  {
    // https://docs.stripe.com/declines/codes and, for `blocked`, https://docs.stripe.com/declines#blocked-payments (2026)
    gateway: "STRIPE",
    table: stripe,
    frauds: ["blocked", "fraudulent", "merchant_blacklist", "security_violation"],
    // https://docs.stripe.com/declines/codes (2026), "Next steps": "Attempt the payment again."
    again: ["approve_with_id", "issuer_not_available", "processing_error", "reenter_transaction"],
  },
  {
    // https://docs.adyen.com/development-resources/refusal-reasons and …/raw-acquirer-responses (2026)
    gateway: "ADYEN",
    table: adyen,
    frauds: ["14", "20", "22", "31", "raw.34", "raw.59", "raw.63"],
    // The page says of no code that it may be sent again at once.
    again: [],
  },
  {
    // https://github.com/paypal/paypal-rest-api-specifications (2026): processor codes, then issues
    gateway: "PAYPAL",
    table: paypal,
    frauds: [
      "9500",
      "9510",
      "PAYEE_BLOCKED_TRANSACTION",
      "PAYMENT_DENIED",
      "PPSC",
      "TRANSACTION_BLOCKED_BY_PAYEE",
      "TRANSACTION_REFUSED",
    ],
    // processor-response-code.md of PayPal's own SDKs (2026): "DECLINED_PLEASE_RETRY. Retry."
    again: ["9100"],
  },
  { gateway: "SANDBOX_A", table: sandboxA, frauds: ["fraudulent"], again: ["processing_error"] },
  { gateway: "SANDBOX_B", table: sandboxB, frauds: ["14", "20", "22", "31"], again: ["4"] },
];

describe.each(gateways)("$gateway's decline table", ({ table, frauds, again: allowing }) => {
  it("classifies these codes as fraud, and no others", () => {
    const called = Object.keys(table).filter((code) => table[code]?.kind === "FRAUD");
    const advice =
      "a code became fraud or ceased to be: if that is meant, change the list of fraud-declines.test.ts too";
    expect(called.toSorted(), advice).toEqual(frauds);
  });

  it("stops the plan at each of them, and reports nothing else as suspected fraud", () => {
    for (const code of Object.keys(table)) {
      const { stop, declineCode } = classifyDecline(table, code);
      const isFraud = frauds.includes(code);
      expect([code, stop === "fraud", declineCode === "fraud_suspected"]).toEqual([code, isFraud, isFraud]);
    }
  });

  it("allows another try at once after these codes, of which none has a stop, and after no others", () => {
    const rows = Object.entries(table).filter(([, row]) => row.again !== undefined);
    const advice = "a row has gained or lost `again`: its source must say that the payment may be sent again at once";
    expect(rows.map(([code, { kind, stop }]) => [code, kind, stop]).toSorted(), advice).toEqual(
      allowing.map((code) => [code, "SOFT_DECLINE", "none"]),
    );
  });
});
