/** What people call a card's brand. */

const names: Readonly<Record<string, string>> = {
  visa: "Visa",
  mastercard: "Mastercard",
  amex: "American Express",
};

/** Its own name, or the identifier where this page does not know it yet. */
export function nameOfBrand(brand: string): string {
  return names[brand] ?? brand;
}
