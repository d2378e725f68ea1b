/**
 * The metrics hooks of the payment core. They receive nothing about a merchant or a customer, and only what is durable.
 */
import type { PaymentSession } from "./entities.ts";

/** Observes payments; called after the commit. Neither method may throw. */
export type PaymentObserver = {
  /** Records a session's final status. */
  settled(status: Exclude<PaymentSession["status"], "CREATED">): void;
  /** Records that a payment fails over to another gateway after an attempt at this one. */
  failedOver(from: string): void;
};
