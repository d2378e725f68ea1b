/** What the core tells of payments to whoever counts them: nothing of a merchant or a customer, and only what is durable. */
import type { PaymentSession } from "./entities.ts";

/** Told after the commit. Neither call may throw. */
export type PaymentWatch = {
  /** A session has its final status. */
  settled(status: Exclude<PaymentSession["status"], "CREATED">): void;
  /** After an attempt at this gateway the payment goes on at another one. */
  failedOver(from: string): void;
};
