/** The card vault of one environment, whichever of the two kinds it is: what sessions, connectors and the plan ask of it. */
import type { CardForwarder } from "./card-forwarder.ts";
import type { Gateway } from "./connector.ts";

/** What a request that carries a card may need beyond a JSON body in which each part of the card is a whole value. */
export type ForwardFeature =
  /** A form-encoded body. */
  | "form_body"
  /** A value that holds more than one part of the card, such as `2031-04`. */
  | "composed_value"
  /** The year of expiry in two digits. */
  | "two_digit_year";

const inWords: Readonly<Record<ForwardFeature, string>> = {
  form_body: "form-encoded bodies",
  composed_value: "values made of several parts of the card",
  two_digit_year: "a year of two digits",
};

/** What a vault can do with a gateway request, and for how long. */
export type Forwarding = {
  readonly features: ReadonlySet<ForwardFeature>;
  /** How much longer than it was asked to the vault may take to send a request on: a part of the horizon. */
  readonly lateMs: number;
};

/** A session as its vault is told of it, before it is created. */
export type NewVaultSession = {
  readonly sessionId: string;
  readonly merchantId: string;
  readonly publishableKey: string;
  readonly checkoutOrigins: readonly string[];
  readonly expiresAt: Date;
};

/** The vault object of a session. Its members depend on the mode, and nobody but the widget and the vault reads them. */
export type VaultObject = { mode: "self_hosted" | "saas"; [member: string]: string };

/** One environment's vault: lets a page tokenize for a session, sends cards to gateways, and forgets them. */
export interface CardVault extends CardForwarder {
  /** Where the vault's script comes from; the widget sends a card to no other origin. */
  readonly origin: string;
  readonly forwarding: Forwarding;
  /** Whether `describe` takes a call, so that a repeated creation had better look for its first answer before. */
  readonly describesByCall: boolean;
  /** The session's grant. Throws `unavailable` when the vault gives none. */
  describe(session: NewVaultSession): Promise<VaultObject>;
  /** Has every card of a session deleted. Never throws: each vault forgets by itself as well. */
  forget(sessionId: string): void;
  close(): void;
}

/** Why a gateway cannot be given cards out of this vault; undefined when it can. */
export function whyNotForwardable(
  { features }: Forwarding,
  connector: { readonly gateway: Gateway; readonly forwardFeatures: readonly ForwardFeature[] },
): string | undefined {
  const missing = connector.forwardFeatures.filter((feature) => !features.has(feature));
  if (missing.length === 0) return undefined;
  return `The card vault of this installation cannot send what ${connector.gateway} needs: ${missing.map((feature) => inWords[feature]).join(", ")}.`;
}
