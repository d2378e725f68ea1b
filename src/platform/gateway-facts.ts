/** Facts about gateways that the vault and the connectors share, so that both speak to a gateway in the same way. Pure. */

/**
 * The headers of every request to a gateway. Some refuse requests without a user agent. A compressed answer could not
 * be searched for a card number, so none is requested.
 */
export const gatewayHeaders = { "user-agent": "Switchyard", "accept-encoding": "identity" } as const;

/**
 * Token and session of a connector's test call, which gets the test card below instead of a customer's. No payment's
 * session has this name, so none can be paid with it.
 */
export const probeNames = { token: "tok_probe", sessionId: "verify" } as const;

/** Reports whether a request is a connector's test call. */
export function isProbe({ token, sessionId }: { readonly token: string; readonly sessionId: string }): boolean {
  return token === probeNames.token && sessionId === probeNames.sessionId;
}

/**
 * The card of a connector's test calls: a number that the gateway publishes for tests, and that belongs to no person.
 */
export type ProbeCard = {
  readonly number: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly cvc: string;
  readonly holder: string;
};

/** Returns the test card of a gateway's own test environment, as of `now`. In live mode each gateway declines it. */
export function probeCardOf(gateway: string, now: Date): ProbeCard {
  const holder = "Test Call";
  const inTwoYears = { expMonth: 12, expYear: now.getUTCFullYear() + 2, cvc: "123", holder };
  switch (gateway) {
    case "ADYEN":
    case "ADYEN_3DS":
      // Adyen accepts the number only with this expiry and security code:
      // https://docs.adyen.com/development-resources/testing/test-card-numbers (2026).
      return { number: "4111111111111111", expMonth: 3, expYear: 2030, cvc: "737", holder };
    case "PAYPAL":
      // https://developer.paypal.com/tools/sandbox/card-testing/ (2026); the sandbox does not know other gateways' numbers.
      return { number: "4012888888881881", ...inTwoYears };
    default:
      // https://docs.stripe.com/testing (2026); the sandbox gateways know it too.
      return { number: "4242424242424242", ...inTwoYears };
  }
}
