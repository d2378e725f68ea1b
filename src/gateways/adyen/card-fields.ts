/** The fields that every card payment at Adyen shares. */

/** Holds first and captures later, without 3-D Secure; the vault fills in the card. */
export const cardFields = {
  paymentMethod: {
    type: "scheme",
    number: "{{card.number}}",
    expiryMonth: "{{card.expMonth}}",
    expiryYear: "{{card.expYear}}",
    cvc: "{{card.cvc}}",
    holderName: "{{card.holder}}",
  },
  additionalData: { manualCapture: "true" },
  // A customer who would have to act is declined instead: https://docs.adyen.com/online-payments/3d-secure (2026).
  authenticationData: { attemptAuthentication: "never" },
  shopperInteraction: "Ecommerce",
  // Required but never used, since no customer is redirected. A name under .invalid never resolves (RFC 2606).
  returnUrl: "https://return.invalid/",
} as const;
