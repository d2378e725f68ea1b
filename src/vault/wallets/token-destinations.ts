/**
 * The destinations of devices' numbers at gateways that take JSON: a row for each operation, as those of cards. Only our own
 * vault sends to these. Pure.
 */
import type { JsonDestination } from "../../platform/json-destinations.ts";

/** https://docs.adyen.com/api-explorer/Checkout/72/post/payments (2026): `networkToken` in CardDetails, and ThreeDSecureData. */
const adyenToken = {
  "/paymentMethod/number": "{{token.number}}",
  "/paymentMethod/expiryMonth": "{{token.expMonth}}",
  "/paymentMethod/expiryYear": "{{token.expYear}}",
  "/mpiData/tokenAuthenticationVerificationValue": "{{token.cryptogram}}",
  "/mpiData/eci": "{{token.eci}}",
} as const;

const paypalOrders = {
  hosts: { test: /^api-m\.sandbox\.paypal\.com$/, live: /^api-m\.paypal\.com$/ },
  path: "/v2/checkout/orders/{id}/authorize",
} as const;
const paypalApple = "/payment_source/apple_pay/decrypted_token";
const paypalGoogle = "/payment_source/google_pay/decrypted_token";

export const tokenDestinations: readonly JsonDestination[] = [
  {
    connector: "SANDBOX_B",
    operation: "network_token",
    hosts: "sandbox",
    path: "/b/payments",
    fields: adyenToken,
  },
  {
    connector: "ADYEN",
    operation: "network_token",
    hosts: { test: /^checkout-test\.adyen\.com$/ },
    path: "/v72/payments",
    fields: adyenToken,
  },
  {
    connector: "ADYEN",
    operation: "live_network_token",
    hosts: { live: /^[0-9a-f]{16}-[a-z0-9]{1,32}-checkout-live\.adyenpayments\.com$/ },
    path: "/checkout/v72/payments",
    fields: adyenToken,
  },
  // https://github.com/paypal/paypal-rest-api-specifications, checkout_orders_v2 2.13 (2026).
  {
    connector: "PAYPAL",
    operation: "apple_pay",
    wallet: "apple_pay",
    ...paypalOrders,
    fields: {
      [`${paypalApple}/tokenized_card/number`]: "{{token.number}}",
      [`${paypalApple}/tokenized_card/expiry`]: "{{token.expYear}}-{{token.expMonth}}",
      [`${paypalApple}/payment_data/cryptogram`]: "{{token.cryptogram}}",
      [`${paypalApple}/payment_data/eci_indicator`]: "{{token.eci}}",
    },
  },
  // https://github.com/paypal/PayPal-TypeScript-Server-SDK, doc/models/google-pay-decrypted-token-data.md (2026).
  {
    connector: "PAYPAL",
    operation: "google_pay",
    wallet: "google_pay",
    ...paypalOrders,
    fields: {
      [`${paypalGoogle}/card/number`]: "{{token.number}}",
      [`${paypalGoogle}/card/expiry`]: "{{token.expYear}}-{{token.expMonth}}",
      [`${paypalGoogle}/cryptogram`]: "{{token.cryptogram}}",
      [`${paypalGoogle}/eci_indicator`]: "{{token.eci}}",
      [`${paypalGoogle}/message_id`]: "{{token.messageId}}",
      [`${paypalGoogle}/message_expiration`]: "{{token.messageExpiration}}",
    },
  },
];
