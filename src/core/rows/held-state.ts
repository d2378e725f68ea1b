/** Tells a payment that waits for its merchant from one that gateways work on. PURE. */
import type { PaymentSession } from "./entities.ts";

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
