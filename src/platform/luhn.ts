/** The check digit of card numbers. PURE. */

const zero = "0".charCodeAt(0);

/** Reports whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B). */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  let isDoubled = false;
  for (let at = digits.length - 1; at >= 0; at--) {
    const digit = digits.charCodeAt(at) - zero;
    const value = isDoubled ? digit * 2 : digit;
    sum += value > 9 ? value - 9 : value;
    isDoubled = !isDoubled;
  }
  return sum % 10 === 0;
}
