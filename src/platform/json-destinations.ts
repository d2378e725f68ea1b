/**
 * The destinations of cards at gateways that take JSON and whole values: a row for each operation, fixing address and the
 * exact field that each part of a card may fill. Pure.
 */
import type { WalletName } from "./card-token.ts";
import type { EnvironmentName } from "./signed-claims.ts";

/** An operation of a gateway. A new gateway needs a new row: nothing that the core sends can widen one. */
export type JsonDestination = {
  readonly connector: string;
  readonly operation: string;
  /** Host names by environment, anchored; an environment without one sends nothing. `sandbox`: loopback, in test. */
  readonly hosts: "sandbox" | Readonly<Partial<Record<EnvironmentName, RegExp>>>;
  /** `{name}` is replaced by a path variable. */
  readonly path: string;
  /**
   * The fields that a card may fill, by JSON pointer, with the text that each must contain to be filled. A field whose
   * text needs the security code, the holder's name, the postal code or a chosen brand is omitted if there is none.
   */
  readonly fields: Readonly<Record<string, string>>;
  /** The one wallet whose tokens the row takes; absent: any. */
  readonly wallet?: WalletName | undefined;
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

/** Our own vault and the external one send cards to these. */
export const jsonDestinations: readonly JsonDestination[] = [
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
