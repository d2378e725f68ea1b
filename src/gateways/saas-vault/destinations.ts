/** Where the external vault is told to send a card: a row an operation, with the exact fields that the card may fill. Pure. */

/**
 * One operation of one gateway, by JSON.
 * The external vault sends what it is told wherever it is told to; what our own vault checks is checked here.
 */
export type ProxyDestination = {
  readonly connector: string;
  readonly operation: string;
  /** `{name}` stands for a path variable. */
  readonly path: string;
  /** JSON pointers, with the placeholder that each field must hold to be filled, and holds alone. */
  readonly fields: Readonly<Record<string, string>>;
};

/** As in the table of our own vault (src/vault/destinations.ts), less what takes more than JSON. A test compares them. */
export const proxyDestinations: readonly ProxyDestination[] = [
  {
    connector: "SANDBOX_B",
    operation: "authorize",
    path: "/b/payments",
    fields: {
      "/paymentMethod/number": "{{card.number}}",
      "/paymentMethod/expiryMonth": "{{card.expMonth}}",
      "/paymentMethod/expiryYear": "{{card.expYear}}",
      "/paymentMethod/cvc": "{{card.cvc}}",
      "/paymentMethod/holderName": "{{card.holder}}",
    },
  },
];

/** The row of an operation; undefined when the external vault is sent no such request. */
export function findProxyDestination(wanted: { connector: string; operation: string }): ProxyDestination | undefined {
  return proxyDestinations.find((row) => row.connector === wanted.connector && row.operation === wanted.operation);
}

/** The path with its variables, each one segment of plain letters; undefined when one is missing or is not. */
export function fillPath(template: string, variables: Readonly<Record<string, string>>): string | undefined {
  let fits = true;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? (variables[name] ?? "") : "";
    fits &&= /^[A-Za-z0-9_-]{1,128}$/.test(value);
    return value;
  });
  return fits ? path : undefined;
}
