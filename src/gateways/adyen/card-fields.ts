/** What every payment with a card says to Adyen, whoever pays. */

/** Held first and captured later, without 3-D Secure; the vault fills the card in. */
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
  // Whoever would have to act is declined instead: https://docs.adyen.com/online-payments/3d-secure (2026).
  authenticationData: { attemptAuthentication: "never" },
  shopperInteraction: "Ecommerce",
  // Required, and never used: nobody is sent anywhere. A name under .invalid leads nowhere for good (RFC 2606).
  returnUrl: "https://return.invalid/",
} as const;
