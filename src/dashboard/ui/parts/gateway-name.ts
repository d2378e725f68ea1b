/** The display names of gateways and of providers of authentication. PURE. */

const names: Readonly<Record<string, string>> = {
  STRIPE: "Stripe",
  ADYEN: "Adyen",
  PAYPAL: "PayPal",
  SANDBOX_A: "Sandbox A",
  SANDBOX_B: "Sandbox B",
  SANDBOX_3DS: "Sandbox 3DS",
  THREEDSECUREIO: "3dsecure.io",
  ADYEN_3DS: "Adyen 3DS",
};

/** Returns the gateway's name, or its identifier if this page does not know it yet. */
export function nameOfGateway(gateway: string): string {
  return names[gateway] ?? gateway;
}

const identifiers = new RegExp(`\\b(?:${Object.keys(names).join("|")})\\b`, "g");

export function nameGatewaysIn(sentence: string): string {
  return sentence.replace(identifiers, nameOfGateway);
}
