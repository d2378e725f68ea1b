/** The gateways of the contract tests: their connectors, and the test cards that their sandboxes document. */
import { adyenTestOrigin } from "../../gateways/adyen/api.ts";
import { AdyenConnector } from "../../gateways/adyen/connector.ts";
import type { Connector } from "../../gateways/connector.ts";
import type { DeclineCode } from "../../gateways/declines.ts";
import { paypalOrigins } from "../../gateways/paypal/api.ts";
import { PayPalConnector } from "../../gateways/paypal/connector.ts";
import type { ConnectorParts } from "../../gateways/sandbox/connector-parts.ts";
import { stripeOrigin } from "../../gateways/stripe/api.ts";
import { StripeConnector } from "../../gateways/stripe/connector.ts";
import type { Wanted } from "./settings.ts";

/** A card as its holder enters it; the default security code is 737. */
export type TestCard = { readonly number: string; readonly holder: string; readonly cvc?: string };

export type ContractSubject = Wanted & {
  readonly connect: (parts: ConnectorParts) => Connector;
  readonly approved: TestCard;
  readonly declined: TestCard & { readonly declineCode: DeclineCode };
};

const fieldsOf = (connect: ContractSubject["connect"]) =>
  connect({ environment: "test", origin: "" } as ConnectorParts).credentialFields;

const stripe = (parts: ConnectorParts) => new StripeConnector(parts);
const adyen = (parts: ConnectorParts) => new AdyenConnector(parts);
const paypal = (parts: ConnectorParts) => new PayPalConnector(parts);

export const contractSubjects: readonly ContractSubject[] = [
  {
    gateway: "STRIPE",
    connect: stripe,
    fields: fieldsOf(stripe),
    origin: stripeOrigin,
    // https://docs.stripe.com/testing (2026).
    approved: { number: "4242424242424242", holder: "Ada Lovelace" },
    declined: { number: "4000000000009995", holder: "Ada Lovelace", declineCode: "insufficient_funds" },
  },
  {
    gateway: "ADYEN",
    connect: adyen,
    fields: fieldsOf(adyen),
    origin: adyenTestOrigin,
    // It signs notifications only, and the contract tests receive none.
    spare: { hmacKey: "0".repeat(64) },
    // https://docs.adyen.com/development-resources/testing/test-card-numbers (2026): another security code than 737 is
    // wrong. The holder's name, which decides as well, is a field that a customer and a vault may leave out.
    approved: { number: "4111111111111111", holder: "Ada Lovelace" },
    declined: { number: "4111111111111111", holder: "Ada Lovelace", cvc: "999", declineCode: "incorrect_cvc" },
  },
  {
    gateway: "PAYPAL",
    connect: paypal,
    fields: fieldsOf(paypal),
    origin: paypalOrigins.test,
    // https://developer.paypal.com/tools/sandbox/card-testing/ (2026): the name decides.
    approved: { number: "4012888888881881", holder: "Ada Lovelace" },
    declined: { number: "4012888888881881", holder: "CCREJECT-IF", declineCode: "insufficient_funds" },
  },
];
