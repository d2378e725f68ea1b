/**
 * Writes the record of a disputed payment as a file for the bank. It begins with the refunds, has no cryptogram, no
 * token and no more of the card than its last four digits, and leaves out unknown fields.
 */
import type { Dispute } from "../core/rows/disputes.ts";
import type { Attempt, Authentication, Refund } from "../core/rows/entities.ts";
import { capturedOf, leftRefunds, type Payment } from "../core/rows/payment.ts";
import type { BillingAddress } from "../gateways/connector.ts";
import type { Evidence } from "../gateways/dispute-answers.ts";
import { amountInWords } from "../platform/money.ts";
import { type PdfLine, writePdf } from "../platform/pdf.ts";

export const factsName = "payment-facts.pdf";
const pagesMax = 4;

type Given = Pick<Evidence, "explanation" | "shipping">;

/** Returns the PDF. `given` is printed where the gateway has no field for it. */
export function writeFacts(payment: Payment, dispute: Dispute, given: Given = {}): Buffer {
  return writePdf(factsOf(payment, dispute, given), { pagesMax });
}

/** The lines of the file. Each call returns the same ones for the same rows. */
function factsOf(payment: Payment, dispute: Dispute, { explanation, shipping }: Given = {}): PdfLine[] {
  const { session, attempts, authentications } = payment;
  const captured = capturedOf(payment);
  const refunds = leftRefunds(payment);
  const { details } = session;
  const card = [session.cardBrand, session.cardLast4 && `ending in ${session.cardLast4}`].filter(Boolean).join(" ");
  return [
    { text: `Payment of order ${session.orderRef}`, style: "title" },
    ...(refunds.length === 0
      ? []
      : section(
          "Refunds: the money was paid back already",
          refunds.map((refund): Row => ["Refund", refundInWords(refund)]),
        )),
    ...section("Payment", [
      ["Amount", amountInWords(captured?.capturedAmountMinor ?? session.amountMinor, session.currency)],
      ["Ordered", timeOf(session.createdAt)],
      ["Authorized", timeOf(captured?.answeredAt)],
      ["Captured", timeOf(captured?.completedAt)],
      ["Card", card],
      ["Statement descriptor", details?.statementDescriptor],
      ["Gateway's reference", captured?.gatewayReference],
      ["Network transaction id", captured?.networkTransactionId],
    ]),
    ...section("Claim", [
      ["Dispute", dispute.gatewayReference],
      ["Disputed", amountInWords(dispute.amountMinor, dispute.currency)],
      [
        "Reason",
        [dispute.reason.replaceAll("_", " "), dispute.networkReasonCode && `(${dispute.networkReasonCode})`]
          .filter(Boolean)
          .join(" "),
      ],
      ["Opened", timeOf(dispute.openedAt ?? dispute.createdAt)],
    ]),
    ...authentications.filter(({ completedAt }) => completedAt !== null).flatMap(authenticationFacts),
    ...section(
      "Attempts",
      attempts.map((attempt): Row => [`${attempt.sequence}. ${attempt.gateway}`, attemptInWords(attempt)]),
    ),
    ...section("Customer", [
      ["Name", details?.customerName],
      ["E-mail", session.customerEmail],
      ["Billing address", details?.billingAddress && addressInWords(details.billingAddress)],
    ]),
    ...(shipping
      ? section("Shipping", [
          ["Carrier", shipping.carrier],
          ["Tracking number", shipping.trackingNumber],
          ["Shipped on", shipping.shippedOn],
        ])
      : []),
    ...(explanation === undefined
      ? []
      : [...section("Explanation", []), ...explanation.split("\n").map((text) => ({ text }))]),
  ];
}

type Row = readonly [label: string, value: string | null | undefined | false];

function section(name: string, rows: readonly Row[]): PdfLine[] {
  const known = rows.filter(([, value]) => value);
  if (known.length === 0 && rows.length > 0) return [];
  return [{ text: name, style: "heading" }, ...known.map(([label, value]) => ({ text: `${label}: ${value}` }))];
}

function authenticationFacts(authentication: Authentication): PdfLine[] {
  const { flow, status, version, transStatus, eci, dsTransactionId, liability, completedAt } = authentication;
  return section("Authentication of the cardholder (3-D Secure)", [
    ["Flow", flow.toLowerCase()],
    ["Result", [status.toLowerCase(), transStatus && `(${transStatus})`].filter(Boolean).join(" ")],
    ["Version", version],
    ["ECI", eci],
    ["Directory server transaction id", dsTransactionId],
    ["Liability", liability?.toLowerCase()],
    ["Completed", timeOf(completedAt)],
  ]);
}

function refundInWords({ amountMinor, currency, completedAt, createdAt, gatewayReference }: Refund): string {
  const reference = gatewayReference ? `, reference ${gatewayReference}` : "";
  return `${amountInWords(amountMinor, currency)} on ${timeOf(completedAt ?? createdAt)}${reference}`;
}

function attemptInWords({ status, startedAt, declineCode }: Attempt): string {
  return `${status.toLowerCase()}${declineCode ? ` (${declineCode})` : ""}, ${timeOf(startedAt)}`;
}

function addressInWords({ line1, line2, postalCode, city, region, country }: BillingAddress): string {
  return [line1, line2, [postalCode, city].filter(Boolean).join(" "), region, country].filter(Boolean).join(", ");
}

function timeOf(at: Date | null | undefined): string | undefined {
  return at ? `${at.toISOString().slice(0, 19).replace("T", " ")} UTC` : undefined;
}
