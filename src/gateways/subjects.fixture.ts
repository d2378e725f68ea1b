/** Test fixture: each gateway's connector, the credentials of an account at its emulator, and the gateway's own files. */
import type { HarnessSubject } from "../dev/testing/gateway-harness.ts";
import { Secret } from "../platform/secrets.ts";
import { AdyenConnector } from "./adyen/connector.ts";
import type { PayPalParts } from "./paypal/api.ts";
import { PayPalConnector } from "./paypal/connector.ts";
import { SandboxAConnector } from "./sandbox/a/connector.ts";
import { SandboxBConnector } from "./sandbox/b/connector.ts";
import type { StripeParts } from "./stripe/api.ts";
import { StripeConnector } from "./stripe/connector.ts";

/** The account of them all. */
export const account = "test_conformance";
/** Signs the notifications of ADYEN and SANDBOX_B. */
export const hmacKey = "ab".repeat(32);

/** A customer's browser. */
export const browser = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1_280,
  screenHeight: 800,
  timeZoneOffsetMinutes: -60,
  language: "de-AT",
};

/** Every request and answer is checked against the gateway's files. */
export const subjects = {
  STRIPE: {
    connect: (parts: StripeParts) => new StripeConnector(parts),
    credentials: { secretKey: new Secret("sk_test_conformance") },
    specs: ["stripe", "stripe-disputes"],
  },
  ADYEN: {
    connect: (parts) => new AdyenConnector(parts),
    credentials: {
      apiKey: new Secret("AQEconformance/of-the=bench"),
      merchantAccount: new Secret(account),
      hmacKey: new Secret(hmacKey),
    },
    specs: ["adyen", "adyen-disputes"],
    unlisted: [/^GET \/reports\/download\//],
  },
  PAYPAL: {
    connect: (parts: PayPalParts) => new PayPalConnector(parts),
    credentials: {
      clientId: new Secret("ClientOfConformance_test_conformance"),
      clientSecret: new Secret("SecretOfConformance0"),
    },
    specs: ["paypal-orders", "paypal-payments", "paypal-disputes", "paypal-reporting"],
    unlisted: [/^POST \/v1\/oauth2\/token$/],
  },
  SANDBOX_A: {
    connect: (parts) => new SandboxAConnector(parts),
    credentials: { apiKey: new Secret("sandbox_test_conformance") },
  },
  SANDBOX_B: {
    connect: (parts) => new SandboxBConnector(parts),
    credentials: {
      apiKey: new Secret("sandbox_test_conformance"),
      merchantAccount: new Secret(account),
      notificationHmacKey: new Secret(hmacKey),
    },
  },
} as const satisfies Record<string, HarnessSubject>;
