/** Decides whether the vault forgets the card of a payment with `stored` at its end. */
import type { Core } from "../core.ts";
import type { Payment } from "../rows/payment.ts";

/** Reports whether the card of a payment that has ended, or is held, is to be stored. */
export function isSaving({ session, stored }: Payment): boolean {
  return stored?.saving === "REQUESTED" && session.winnerAttemptId !== null;
}

/** Lets the vault forget the card of a payment, unless it is to be stored. One that pays as a stored card is stored already. */
export function forgetUnlessSaving(core: { readonly vault: Pick<Core["vault"], "forget"> }, payment: Payment): void {
  if (!isSaving(payment) || payment.stored?.methodId != null) core.vault.forget(payment.session.id);
}
