/** References of the payments of test calls, by which notifications about them are recognized. */

/** Prefix of a test call's reference; no attempt's reference begins with it. */
export const probePrefix = "verify_";

/**
 * Reports whether a notification is about one of our test calls, or was sent by the test button in Adyen's Customer
 * Area.
 */
export function isProbe({
  merchantReference,
  pspReference,
}: {
  readonly merchantReference: string;
  readonly pspReference: string;
}): boolean {
  return merchantReference.startsWith(probePrefix) || pspReference.startsWith("test_");
}
