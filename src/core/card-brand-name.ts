/** What people call a card's brand. PURE. */

const names: ReadonlyMap<string, string> = new Map([
  ["visa", "Visa"],
  ["mastercard", "Mastercard"],
  ["amex", "American Express"],
  ["discover", "Discover"],
  ["diners", "Diners Club"],
  ["jcb", "JCB"],
  ["unionpay", "UnionPay"],
  ["maestro", "Maestro"],
]);

/** Its own name, or the identifier where nobody has named it yet. */
export function nameOfBrand(brand: string): string {
  return names.get(brand) ?? brand;
}
