/** What people call a gateway. */

const names: Readonly<Record<string, string>> = {
  STRIPE: "Stripe",
  ADYEN: "Adyen",
  PAYPAL: "PayPal",
  SANDBOX_A: "Sandbox A",
  SANDBOX_B: "Sandbox B",
};

/** Its own name, or the identifier where this page does not know it yet. */
export function nameOfGateway(gateway: string): string {
  return names[gateway] ?? gateway;
}
