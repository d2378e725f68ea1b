/** The end of a payment in one sentence. */
import type { Payment, PaymentAttempt } from "../../../../gen/dashboard/v1/payments_pb.ts";
import {
  Authentication_Status as Authentication,
  Attempt_FailureKind as Kind,
  PaymentSession_Status as Status,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { nameOfGateway } from "../parts/gateway-name.ts";

// Reasons by decline code. `{gateway}` declined last.
const declines: Readonly<Record<string, string>> = {
  card_declined: "The bank declined the card at {gateway} and gave no other reason.",
  insufficient_funds: "The card has insufficient funds.",
  card_expired: "The card has expired, or its date was not right.",
  incorrect_number: "The card number was not right.",
  incorrect_cvc: "The security code was not right.",
  card_not_supported: "{gateway} does not accept this card.",
  limit_exceeded: "The amount or the number of payments exceeds a limit of the card or of {gateway}.",
  lost_or_stolen: "The card was reported as lost or stolen.",
  fraud_suspected: "{gateway} suspected fraud, so no other gateway was called.",
  authentication_required: "The bank asked for 3-D Secure, which was not available for this payment.",
  authentication_failed: "The bank asked for 3-D Secure; the customer did not pass.",
  currency_not_supported: "{gateway} does not accept the currency for this card.",
  unclassified: "{gateway} declined with a code that has no known meaning, so no other gateway was called.",
  processing_unavailable: "No gateway gave a usable answer, or none could be used.",
  session_expired: "The customer did not pay in time.",
  order_being_paid: "Another payment of this order was under way.",
  order_already_paid: "The order had already been paid.",
  too_many_attempts: "The card or its network was tried too often, so no gateway was called.",
  blocked: "Your block list has the customer, so no gateway was called.",
  capture_cancelled: "The payment was approved, and cancelled before its capture.",
  capture_expired: "The payment was approved, and not captured in time.",
};

const challenges: Readonly<Record<number, string>> = {
  [Authentication.FAILED]: "The bank asked for 3-D Secure and refused the customer.",
  [Authentication.CANCELLED]: "The bank asked for 3-D Secure; the customer cancelled.",
  [Authentication.ABANDONED]: "The bank asked for 3-D Secure; the customer did not finish.",
};

/** Returns the sentence; undefined while the payment is in progress, or if its timeline alone says why it ended. */
export function reasonOf(
  payment: Pick<Payment, "summary" | "attempts" | "events" | "amountRefundable">,
): string | undefined {
  const { summary, attempts } = payment;
  const last = attempts.at(-1);
  switch (summary?.status) {
    case Status.SUCCEEDED:
      return isCaptureFailed(payment) ? failedCaptureOf(summary) : captureOf(attempts, summary);
    case Status.DECLINED:
    case Status.DEGRADED: {
      const { declineCode } = summary;
      const challenge = declineCode === "authentication_failed" && challenges[last?.authentication?.status ?? 0];
      const gateway = nameOfGateway(last?.gateway ?? "") || "The gateway";
      if (declineCode === "processing_unavailable" && last) return failureOf(last, gateway);
      return challenge || declines[declineCode]?.replace("{gateway}", gateway);
    }
    default:
      return undefined;
  }
}

/**
 * Reports whether the gateway accepted the capture, and reported later that it failed. If anything can be refunded, a
 * second capture of the payment was reported as done since.
 */
export function isCaptureFailed({ events, amountRefundable }: Pick<Payment, "events" | "amountRefundable">): boolean {
  if (amountRefundable && amountRefundable.amountMinor > 0n) return false;
  return events.some(({ type }) => type === "payment_attempt.capture_failed");
}

const failedCaptureOf = ({ capturedVia }: NonNullable<Payment["summary"]>) =>
  `${nameOfGateway(capturedVia)} accepted the capture, and reported later that it failed.`;

function captureOf(
  attempts: readonly PaymentAttempt[],
  { capturedVia, challenged, failover }: NonNullable<Payment["summary"]>,
): string {
  const gateway = nameOfGateway(capturedVia);
  const first = attempts[0];
  if (failover && first) return `${nameOfGateway(first.gateway)} ${failed(first)}; ${gateway} captured.`;
  return challenged
    ? `The bank asked for 3-D Secure; the customer passed, and ${gateway} captured.`
    : `Captured by ${gateway}.`;
}

function failureOf(attempt: PaymentAttempt, gateway: string): string {
  const others = "and no other gateway could be used";
  return `${gateway} ${failed(attempt)}, ${others}.`;
}

function failed({ failureKind, declineCode }: PaymentAttempt): string {
  if (failureKind === Kind.TIMEOUT) return "did not answer in time";
  if (failureKind === Kind.GATEWAY_ERROR) return "answered with an error";
  return declineCode === "" ? "did not capture" : `declined (${declineCode.replaceAll("_", " ")})`;
}
