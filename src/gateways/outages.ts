/**
 * The decline codes by which a gateway says that it could not reach or use the acquirer, the card's network or its issuer. Such a decline
 * says nothing about the card, so it is not counted as a card tester's.
 */

// Codes whose document names another cause, or none, are not among them.
const codes: Readonly<Record<string, readonly string[]>> = {
  // https://docs.stripe.com/declines/codes (2026): the issuer could not be reached; an error occurred while processing the card.
  STRIPE: ["issuer_not_available", "processing_error"],
  // https://docs.adyen.com/development-resources/refusal-reasons (2026): Acquirer Error, Issuer Unavailable, and Current AID is in Penalty
  // Box, which says that the payment network cannot be reached.
  ADYEN: ["4", "9", "40"],
  // PayPal's processor_response.response_code by its names: SYSTEM_MALFUNCTION, ISSUER_NOT_AVAILABLE_NOT_RETRIABLE,
  // ISSUER_NOT_AVAILABLE_RETRIABLE, PROCESSOR_SYSTEM_ERROR, FATAL_COMMUNICATION_ERROR, RETRIABLE_COMMUNICATION_ERROR,
  // SYSTEM_UNAVAILABLE, INTERNAL_SYSTEM_ERROR, NETWORK_ERROR.
  PAYPAL: ["0960", "5910", "5920", "8000", "8100", "8110", "8220", "PPER", "PPNT"],
  // The names and numbers that the sandbox gateways borrow.
  SANDBOX_A: ["processing_error"],
  SANDBOX_B: ["4"],
};

/** The codes as `GATEWAY code`. */
export const outageCodes: readonly string[] = Object.entries(codes).flatMap(([gateway, all]) =>
  all.map((code) => `${gateway} ${code}`),
);
