/** How the payments of test calls are named, so that notifications about them are known for what they are. */

/** No attempt's reference begins like this. */
export const probePrefix = "verify_";

/** Whether a notification is about a test call of ours, or was sent by the button for tests in Adyen's Customer Area. */
export function isProbe({
  merchantReference,
  pspReference,
}: {
  readonly merchantReference: string;
  readonly pspReference: string;
}): boolean {
  return merchantReference.startsWith(probePrefix) || pspReference.startsWith("test_");
}
