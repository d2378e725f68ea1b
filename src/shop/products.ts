import type { AgreementTerms } from "../client/merchant/payment-session.ts";

/** A product for sale; its price is in minor units. */
export type Product = {
  readonly name: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** The agreement to later charges by which a customer buys it. */
  readonly agreement?: AgreementTerms;
};

export const product: Product = { name: "Enamel moka pot", amountMinor: 4900, currency: "EUR" };

/** A bag now, and the next ones later, which are charged without the customer. */
export const subscription: Product = {
  name: "Coffee subscription",
  amountMinor: 1200,
  currency: "EUR",
  agreement: {
    type: "UNSCHEDULED",
    text: "Roundhouse charges this card €12.00 for every bag of coffee that it sends, until you cancel.",
    maxAmountMinor: 1200,
  },
};

/** Returns the products of an order, such as "2 × Enamel moka pot". */
export function contentsOf({
  product,
  amountMinor,
}: {
  readonly product: Product;
  readonly amountMinor: number;
}): string {
  const quantity = amountMinor / product.amountMinor;
  return quantity > 1 ? `${quantity} × ${product.name}` : product.name;
}
