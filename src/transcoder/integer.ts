/** Parses integers from the digits of a JSON number, without a double in between. PURE. */

// 2^64 has twenty digits; a longer integer is out of every range, and an exponent must not make us write billions of
// zeros.
const digitsMax = 20;

/**
 * Returns the integer of a JSON number: `4900`, `4900.0` and `4.9e3` are the same. Undefined if it has a fraction; an
 * integer of more than twenty digits becomes 10^20 with its sign, outside of every 64-bit range.
 */
export function parseInteger(source: string): bigint | undefined {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source)!;
  const digits = (whole! + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return 0n;
  // The number of zeros after the last significant digit; negative if that digit is behind the decimal point.
  const zeros = Number(exponent) - fraction.length + (digits.length - significant.length);
  if (zeros < 0) return undefined;
  const size =
    significant.length + zeros > digitsMax ? 10n ** BigInt(digitsMax) : BigInt(significant + "0".repeat(zeros));
  return sign === "-" ? -size : size;
}
