/** A payment as its rows describe it, and questions that they answer alone. PURE. */

import type { Exemption } from "../../gateways/authentication.ts";
import type { WalletCredential } from "../../platform/card-token.ts";
import type { AuthenticationId } from "../../platform/ids.ts";
import type { StoredPayment } from "../stored-cards/stored-rows.ts";
import type { Dispute } from "./disputes.ts";
import type { Attempt, Authentication, PaymentSession, PlannedConnection, Refund } from "./entities.ts";

/** A session, its attempts, authentications and refunds, oldest first, all read at one time of the database's clock. */
export type Payment = {
  readonly session: PaymentSession;
  readonly attempts: readonly Attempt[];
  readonly authentications: readonly Authentication[];
  readonly refunds: readonly Refund[];
  /** Present only for a session with `stored`. */
  readonly stored?: StoredPayment | undefined;
  /** Oldest first; only of a session that has any. */
  readonly disputes?: readonly Dispute[] | undefined;
  readonly readAt: Date;
};

/** A session with its plan, if it has one yet. */
export type Planned = { readonly plan?: readonly PlannedConnection[] | null | undefined };

/** Returns the step of the plan that an attempt, or its repeat, belongs to. */
export function plannedAt(
  { plan }: Planned,
  { connectionId }: Pick<Attempt, "connectionId">,
): PlannedConnection | undefined {
  return plan?.find((step) => step.connectionId === connectionId);
}

/** Returns the exemption that an attempt's request asks for. */
export function exemptionOf(
  session: Planned,
  attempt: Pick<Attempt, "connectionId" | "round"> & {
    readonly authenticationId?: AuthenticationId | null | undefined;
  },
): Exemption | undefined {
  if (attempt.round === 1 || attempt.authenticationId != null) return undefined;
  return plannedAt(session, attempt)?.exemption;
}

/** Reports whether each attempt of a plan has to be authenticated, so that its browser is kept with the submission. */
export function isAuthenticatedFirst(plan: Planned["plan"]): boolean {
  return plan?.some(({ authentication, providerFirst }) => authentication === "always" || providerFirst) ?? false;
}

/** Reports whether another gateway came before the winner's; the attempt that it repeats is none. */
export function isFailover({ sequence, round }: Attempt): boolean {
  return sequence > (round === 0 ? 1 : 2);
}

/** Returns the sum of the refunds that have not failed, in minor units. */
export function refundedMinor({ refunds }: Pick<Payment, "refunds">): number {
  return refunds.filter(({ status }) => status !== "FAILED").reduce((sum, { amountMinor }) => sum + amountMinor, 0);
}

/** Returns the refunds that have paid money back, or may have: sent or made at the gateway, and not failed. */
export function leftRefunds({ refunds }: Pick<Payment, "refunds">): readonly Refund[] {
  return refunds.filter(({ status, sends }) => status !== "FAILED" && (status !== "REQUESTED" || sends > 0));
}

/** Returns what can still be refunded, in minor units: 0 unless the session has SUCCEEDED. */
export function refundableMinor(payment: Pick<Payment, "session" | "attempts" | "refunds" | "disputes">): number {
  const captured = capturedOf(payment);
  if (captured === undefined || captured.captureFailedAt) return 0;
  const held = payment.disputes ? heldMinor(payment.disputes) : 0; // rule:dispute-refundable
  return Math.max(0, (captured.capturedAmountMinor ?? 0) - refundedMinor(payment) - held);
}

/** Returns what disputes hold of a payment, in minor units. */
export function heldMinor(disputes: readonly Pick<Dispute, "heldMinor">[]): number {
  return disputes.reduce((sum, dispute) => sum + dispute.heldMinor, 0);
}

export function capturedOf({ session, attempts }: Pick<Payment, "session" | "attempts">): Attempt | undefined {
  if (session.status !== "SUCCEEDED") return undefined;
  return attempts.find(({ id }) => id === session.winnerAttemptId);
}

/**
 * Reports whether a wallet gave a device's number with a cryptogram: the device has authenticated the customer, and a second use follows
 * `../wallets/second-use.ts`. Stands here, so that a card's payment enters no file of wallets.
 */
export function hasCryptogram({
  walletCredential,
}: {
  readonly walletCredential?: WalletCredential | null | undefined;
}): boolean {
  return walletCredential === "NETWORK_TOKEN";
}

/** Reports whether a payment is held and its capture was not ordered yet: the merchant decides, and no gateway is at work. */
export function isHeld({ status, heldAt, captureAskedAt }: HeldFields): boolean {
  return status === "CREATED" && heldAt != null && captureAskedAt == null;
}

/** Reports whether a payment was submitted, and gateways are at work. */
export function isProcessing(session: HeldFields & Pick<PaymentSession, "phase">): boolean {
  return session.phase === "PROCESSING" && session.status === "CREATED" && !isHeld(session);
}

type HeldFields = Pick<PaymentSession, "status" | "heldAt" | "captureAskedAt">;

/** SQL for `isHeld`, of the row `s`. */
export const heldInSql = "s.status = 'CREATED' AND s.held_at IS NOT NULL AND s.capture_asked_at IS NULL";
/** SQL for `isProcessing`, of the row `s`. */
export const processingInSql = `s.phase = 'PROCESSING' AND s.status = 'CREATED' AND NOT (${heldInSql})`;
