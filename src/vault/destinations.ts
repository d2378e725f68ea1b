/**
 * The destinations of a card: a row for each operation, fixing address, encoding and the exact field that each part of
 * a card may fill. Pure.
 */
import { DomainError } from "../platform/errors.ts";
import { type JsonDestination, jsonDestinations } from "../platform/json-destinations.ts";
import type { EnvironmentName } from "../platform/signed-claims.ts";
import { tokenDestinations } from "./wallets/token-destinations.ts";

type ContentType = "application/x-www-form-urlencoded" | "application/json";

/** An operation of a gateway, by POST; `fields` are by form name or JSON pointer. */
export type Destination = JsonDestination & { readonly contentType: ContentType };

/** An authentication request of EMV 3DS. */
const areqCard = {
  "/acctNumber": "{{card.number}}",
  "/cardExpiryDate": "{{card.expYear2}}{{card.expMonth}}",
  "/cardholderName": "{{card.emvHolder}}",
} as const;

const threeDSecureIo = { test: /^service\.sandbox\.3dsecure\.io$/, live: /^service\.3dsecure\.io$/ };

/** Every operation that may carry a card; a card is sent nowhere else. */
export const destinations: readonly Destination[] = [
  ...[...jsonDestinations, ...tokenDestinations].map((row) => ({ ...row, contentType: "application/json" }) as const),
  {
    connector: "SANDBOX_A",
    operation: "network_token",
    hosts: "sandbox",
    path: "/a/v1/authorizations",
    contentType: "application/x-www-form-urlencoded",
    fields: {
      "network_token[number]": "{{token.number}}",
      "network_token[exp_month]": "{{token.expMonth}}",
      "network_token[exp_year]": "{{token.expYear}}",
      "network_token[cryptogram]": "{{token.cryptogram}}",
      "network_token[eci]": "{{token.eci}}",
    },
  },
  {
    connector: "SANDBOX_A",
    operation: "authorize",
    hosts: "sandbox",
    path: "/a/v1/authorizations",
    contentType: "application/x-www-form-urlencoded",
    fields: {
      "card[number]": "{{card.number}}",
      "card[exp_month]": "{{card.expMonth}}",
      "card[exp_year]": "{{card.expYear}}",
      "card[cvc]": "{{card.cvc}}",
      "card[holder]": "{{card.holder}}",
      "billing_details[address][postal_code]": "{{card.postalCode}}",
    },
  },
  {
    connector: "STRIPE",
    operation: "payment_method",
    hosts: { test: /^api\.stripe\.com$/, live: /^api\.stripe\.com$/ },
    path: "/v1/payment_methods",
    contentType: "application/x-www-form-urlencoded",
    fields: {
      "card[number]": "{{card.number}}",
      "card[exp_month]": "{{card.expMonth}}",
      "card[exp_year]": "{{card.expYear}}",
      "card[cvc]": "{{card.cvc}}",
      "billing_details[name]": "{{card.holder}}",
      "billing_details[address][postal_code]": "{{card.postalCode}}",
    },
  },
  {
    connector: "PAYPAL",
    operation: "authorize",
    hosts: { test: /^api-m\.sandbox\.paypal\.com$/, live: /^api-m\.paypal\.com$/ },
    path: "/v2/checkout/orders/{id}/authorize",
    contentType: "application/json",
    fields: {
      "/payment_source/card/number": "{{card.number}}",
      "/payment_source/card/expiry": "{{card.expYear}}-{{card.expMonth}}",
      "/payment_source/card/security_code": "{{card.cvc}}",
      "/payment_source/card/name": "{{card.holder}}",
    },
  },
  {
    connector: "SANDBOX_3DS",
    operation: "preauth",
    hosts: "sandbox",
    path: "/preauth",
    contentType: "application/json",
    fields: { "/acctNumber": "{{card.number}}" },
  },
  {
    connector: "SANDBOX_3DS",
    operation: "auth",
    hosts: "sandbox",
    path: "/auth",
    contentType: "application/json",
    fields: areqCard,
  },
  {
    connector: "THREEDSECUREIO",
    operation: "preauth",
    hosts: threeDSecureIo,
    path: "/preauth",
    contentType: "application/json",
    fields: { "/acctNumber": "{{card.number}}" },
  },
  {
    connector: "THREEDSECUREIO",
    operation: "auth",
    hosts: threeDSecureIo,
    path: "/auth",
    contentType: "application/json",
    fields: areqCard,
  },
];

/** Reports whether a row takes the numbers of devices, with their cryptograms, and so no cards. */
export function takesNetworkTokens({ fields }: Destination): boolean {
  return Object.values(fields).some((text) => text.includes("{{token."));
}

const loopbackNames = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Returns the row of a connector's operation. Throws `invalid_field` if there is none. */
export function findDestination(
  rows: readonly Destination[],
  { connector, operation }: { connector: string; operation: string },
): Destination {
  const row = rows.find((candidate) => candidate.connector === connector && candidate.operation === operation);
  if (row === undefined)
    throw new DomainError("invalid_field", "The vault does not know this operation.", { field: "operation" });
  return row;
}

export type AddressRequest = {
  readonly environment: EnvironmentName;
  readonly origin: string;
  readonly pathVariables: Readonly<Record<string, string>>;
  /** Hosts, with port, that replace gateways in this environment. */
  readonly sandboxHosts: readonly string[];
};

/**
 * Returns the full address of a request. Throws `invalid_field` if the row does not allow the host or the path does not
 * fit.
 */
export function addressOf(row: Destination, request: AddressRequest): string {
  const url = URL.canParse(request.origin) ? new URL(request.origin) : undefined;
  if (url === undefined || url.origin !== request.origin || !isHostAllowed(row, request, url)) {
    throw new DomainError("invalid_field", "The vault sends no card to this origin.", { field: "origin" });
  }
  return url.origin + fillPath(row.path, request.pathVariables);
}

function isHostAllowed(row: Destination, { environment, sandboxHosts }: AddressRequest, url: URL): boolean {
  if (row.hosts === "sandbox" && environment === "live") return false;
  if (sandboxHosts.includes(url.host)) return true;
  // A demo's live environment: real gateways are out of its reach.
  if (environment === "live" && sandboxHosts.length > 0) return false;
  if (row.hosts === "sandbox") return loopbackNames.has(url.hostname);
  return url.protocol === "https:" && url.port === "" && row.hosts[environment]?.test(url.hostname) === true;
}

function fillPath(template: string, variables: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    // A segment of plain letters can neither leave the path nor be a placeholder.
    if (value === undefined || !/^[A-Za-z0-9_-]{1,128}$/.test(value)) {
      throw new DomainError("invalid_field", "A path variable is missing or malformed.", { field: "path_variables" });
    }
    return value;
  });
}
