/** The gateways of the contract tests: how each is spoken to, and the test cards that its sandbox documents. */
import { adyenTestOrigin } from "../adyen/api.ts";
import { AdyenConnector } from "../adyen/connector.ts";
import type { Connector } from "../connector.ts";
import { paypalOrigins } from "../paypal/api.ts";
import { PayPalConnector } from "../paypal/connector.ts";
import type { ConnectorParts } from "../sandbox/connector-parts.ts";
import { stripeOrigin } from "../stripe/api.ts";
import { StripeConnector } from "../stripe/connector.ts";
import type { Wanted } from "./settings.ts";

/** A card as its holder enters it. */
export type TestCard = { readonly number: string; readonly holder: string };

/** One gateway of the real world, as its contract is tested. */
export type ContractSubject = Wanted & {
  readonly connect: (parts: ConnectorParts) => Connector;
  readonly approved: TestCard;
  readonly declined: TestCard;
};

const fieldsOf = (connect: ContractSubject["connect"]) =>
  connect({ environment: "test", origin: "" } as ConnectorParts).credentialFields;

const stripe = (parts: ConnectorParts) => new StripeConnector(parts);
const adyen = (parts: ConnectorParts) => new AdyenConnector(parts);
const paypal = (parts: ConnectorParts) => new PayPalConnector(parts);

/** Every real gateway. */
export const contractSubjects: readonly ContractSubject[] = [
  {
    gateway: "STRIPE",
    connect: stripe,
    fields: fieldsOf(stripe),
    origin: stripeOrigin,
    // https://docs.stripe.com/testing (2026).
    approved: { number: "4242424242424242", holder: "Ada Lovelace" },
    declined: { number: "4000000000009995", holder: "Ada Lovelace" },
  },
  {
    gateway: "ADYEN",
    connect: adyen,
    fields: fieldsOf(adyen),
    origin: adyenTestOrigin,
    // It signs notifications only, and the contract tests receive none.
    spare: { hmacKey: "0".repeat(64) },
    // https://docs.adyen.com/development-resources/testing/result-codes (2026): the name decides.
    approved: { number: "4111111111111111", holder: "Ada Lovelace" },
    declined: { number: "4111111111111111", holder: "NOT_ENOUGH_BALANCE" },
  },
  {
    gateway: "PAYPAL",
    connect: paypal,
    fields: fieldsOf(paypal),
    origin: paypalOrigins.test,
    // https://developer.paypal.com/tools/sandbox/card-testing/ (2026): the name decides.
    approved: { number: "4012888888881881", holder: "Ada Lovelace" },
    declined: { number: "4012888888881881", holder: "CCREJECT-IF" },
  },
];
