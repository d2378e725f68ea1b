/**
 * The destinations of cards at the external vault: a row for each operation, with the exact fields that the card may
 * fill. Pure.
 */
import type { EnvironmentName } from "../../platform/signed-claims.ts";

/**
 * One operation of one gateway, by JSON. The external vault sends any request to any address it is given; our own
 * vault's checks are made here.
 */
export type ProxyDestination = {
  readonly connector: string;
  readonly operation: string;
  /**
   * Host names by environment, anchored; nothing is sent to an environment without one. `sandbox`: loopback, in test.
   */
  readonly hosts: "sandbox" | Readonly<Partial<Record<EnvironmentName, RegExp>>>;
  /** `{name}` stands for a path variable. */
  readonly path: string;
  /** JSON pointers, with the placeholder that each field must contain, alone, to be filled. */
  readonly fields: Readonly<Record<string, string>>;
};

/** Adyen's card payments, in test and in live, whose paths differ. */
const adyenCard = {
  "/paymentMethod/number": "{{card.number}}",
  "/paymentMethod/expiryMonth": "{{card.expMonth}}",
  "/paymentMethod/expiryYear": "{{card.expYear}}",
  "/paymentMethod/cvc": "{{card.cvc}}",
  "/paymentMethod/holderName": "{{card.holder}}",
  "/paymentMethod/brand": "{{card.adyenBrand}}",
} as const;

/** Adyen's authentication alone, which needs no security code. */
const adyenAuthentication = {
  "/paymentMethod/number": "{{card.number}}",
  "/paymentMethod/expiryMonth": "{{card.expMonth}}",
  "/paymentMethod/expiryYear": "{{card.expYear}}",
  "/paymentMethod/holderName": "{{card.holder}}",
  "/paymentMethod/brand": "{{card.adyenBrand}}",
} as const;

const adyenLive = /^[0-9a-f]{16}-[a-z0-9]{1,32}-checkout-live\.adyenpayments\.com$/;

/**
 * The rows of our own vault's table (src/vault/destinations.ts), except those of gateways that take more than JSON and
 * whole values. A test compares them.
 */
export const proxyDestinations: readonly ProxyDestination[] = [
  {
    connector: "SANDBOX_B",
    operation: "authorize",
    hosts: "sandbox",
    path: "/b/payments",
    fields: {
      "/paymentMethod/number": "{{card.number}}",
      "/paymentMethod/expiryMonth": "{{card.expMonth}}",
      "/paymentMethod/expiryYear": "{{card.expYear}}",
      "/paymentMethod/cvc": "{{card.cvc}}",
      "/paymentMethod/holderName": "{{card.holder}}",
    },
  },
  {
    connector: "ADYEN",
    operation: "payment",
    hosts: { test: /^checkout-test\.adyen\.com$/ },
    path: "/v72/payments",
    fields: adyenCard,
  },
  {
    connector: "ADYEN",
    operation: "live_payment",
    hosts: { live: adyenLive },
    path: "/checkout/v72/payments",
    fields: adyenCard,
  },
  {
    connector: "ADYEN_3DS",
    operation: "card_details",
    hosts: { test: /^checkout-test\.adyen\.com$/ },
    path: "/v72/cardDetails",
    fields: { "/cardNumber": "{{card.number}}" },
  },
  {
    connector: "ADYEN_3DS",
    operation: "live_card_details",
    hosts: { live: adyenLive },
    path: "/checkout/v72/cardDetails",
    fields: { "/cardNumber": "{{card.number}}" },
  },
  {
    connector: "ADYEN_3DS",
    operation: "payment",
    hosts: { test: /^checkout-test\.adyen\.com$/ },
    path: "/v72/payments",
    fields: adyenAuthentication,
  },
  {
    connector: "ADYEN_3DS",
    operation: "live_payment",
    hosts: { live: adyenLive },
    path: "/checkout/v72/payments",
    fields: adyenAuthentication,
  },
];

/** Returns the row of an operation; undefined if this request cannot be sent through the external vault. */
export function findProxyDestination(wanted: { connector: string; operation: string }): ProxyDestination | undefined {
  return proxyDestinations.find((row) => row.connector === wanted.connector && row.operation === wanted.operation);
}

export type ProxyAddressRequest = {
  readonly environment: EnvironmentName;
  readonly origin: string;
  readonly pathVariables: Readonly<Record<string, string>>;
  /** Hosts, with port, that replace a gateway in test. */
  readonly emulatorHosts: readonly string[];
};

/** Returns the full address of a request; undefined if the row does not allow the host or the path does not fit. */
export function proxyAddressOf(row: ProxyDestination, request: ProxyAddressRequest): string | undefined {
  const url = URL.canParse(request.origin) ? new URL(request.origin) : undefined;
  if (url === undefined || url.origin !== request.origin || !isHostAllowed(row, request, url)) return undefined;
  const path = fillPath(row.path, request.pathVariables);
  return path === undefined ? undefined : url.origin + path;
}

const loopbackNames = new Set(["127.0.0.1", "localhost", "[::1]"]);

function isHostAllowed(row: ProxyDestination, { environment, emulatorHosts }: ProxyAddressRequest, url: URL): boolean {
  if (environment === "test" && emulatorHosts.includes(url.host)) return true;
  if (row.hosts === "sandbox") return environment === "test" && loopbackNames.has(url.hostname);
  return url.protocol === "https:" && url.port === "" && row.hosts[environment]?.test(url.hostname) === true;
}

/** Returns the path with its variables, each one segment of plain letters; undefined if one is missing or is not. */
function fillPath(template: string, variables: Readonly<Record<string, string>>): string | undefined {
  let fits = true;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? (variables[name] ?? "") : "";
    fits &&= /^[A-Za-z0-9_-]{1,128}$/.test(value);
    return value;
  });
  return fits ? path : undefined;
}
