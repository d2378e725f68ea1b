/** The check that a cart is paid whole: Medusa itself completes one that grew while its payment was under way. */
import { currencyOf, decimalText, refusal, roundedMinor } from "./amounts.ts";

/** The fields of Medusa's cart, as its completeCartWorkflow reads it under the cart's lock. */
type Cart = {
  readonly raw_total: unknown;
  readonly payment_collection?: {
    readonly id: string;
    readonly currency_code: string;
    readonly raw_amount: unknown;
    readonly payment_sessions?: readonly CartSession[];
  };
};
type CartSession = {
  readonly provider_id: string;
  readonly status: string;
  readonly raw_amount: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
};
type PaymentModule = { updatePaymentCollections(id: string, changes: { readonly amount: unknown }): Promise<unknown> };
type Medusa = { readonly container: { resolve(name: string): unknown } };

let isInstalled = false;

/** Returns the handler of the `validate` hook of Medusa's completeCartWorkflow. */
export function cartCheck() {
  isInstalled = true;
  return async ({ cart }: { readonly cart: Cart }, { container }: Medusa): Promise<void> => {
    const collection = cart.payment_collection;
    // The one that Medusa authorizes.
    const session = collection?.payment_sessions?.find(({ status }) => status !== "error" && status !== "canceled");
    if (collection === undefined || !session?.provider_id.startsWith("pp_switchyard_")) return;
    const { decimals } = currencyOf(collection.currency_code);
    const total = roundedMinor(cart.raw_total, decimals);
    // Medusa leaves the total of a change here that it has refused and undone.
    if (roundedMinor(collection.raw_amount, decimals) !== total) {
      const payments = container.resolve("payment") as PaymentModule;
      await payments.updatePaymentCollections(collection.id, { amount: cart.raw_total });
    }
    if (roundedMinor(session.raw_amount, decimals) === total) return;
    const amounts = `${decimalText(session.raw_amount)} is paid, and its total is ${decimalText(cart.raw_total)}`;
    throw refusal(
      `The cart was changed while it was being paid: ${amounts}. Medusa refunds a captured payment ${session.data?.sessionId}; void a hold at Switchyard.`,
    );
  };
}

/** Throws unless Medusa checks carts: without it, a shop would ship more than was paid. */
export function requireCartCheck(): void {
  if (isInstalled) return;
  throw refusal("Medusa has no cartCheck() of @switchyard/medusa in the validate hook of its completeCartWorkflow.");
}
