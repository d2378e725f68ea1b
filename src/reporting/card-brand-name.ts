/** Display names of card brands. PURE. */

const names: ReadonlyMap<string, string> = new Map([
  ["visa", "Visa"],
  ["mastercard", "Mastercard"],
  ["amex", "American Express"],
  ["discover", "Discover"],
  ["diners", "Diners Club"],
  ["jcb", "JCB"],
  ["unionpay", "UnionPay"],
  ["maestro", "Maestro"],
  ["cartes_bancaires", "Cartes Bancaires"],
  ["dankort", "Dankort"],
]);

/** Returns the brand's display name, or its identifier where it has none. */
export function nameOfBrand(brand: string): string {
  return names.get(brand) ?? brand;
}
