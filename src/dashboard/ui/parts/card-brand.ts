/** What people call a card's brand, short enough for a column. */

const names: Readonly<Record<string, string>> = {
  visa: "Visa",
  mastercard: "Mastercard",
  amex: "Amex",
  discover: "Discover",
  diners: "Diners",
  jcb: "JCB",
  unionpay: "UnionPay",
  maestro: "Maestro",
};

/** Its own name, or the identifier where this page does not know it yet. */
export function nameOfBrand(brand: string): string {
  return names[brand] ?? brand;
}
