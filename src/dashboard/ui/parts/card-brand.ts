/** The display names of card brands, short enough for a column. */

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

/** Returns the brand's name, or its identifier if this page does not know it yet. */
export function nameOfBrand(brand: string): string {
  return names[brand] ?? brand;
}

export function isKnownBrand(brand: string): boolean {
  return names[brand] !== undefined;
}
