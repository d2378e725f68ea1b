/**
 * The vault's Forward as connectors see it: the only way by which a card reaches a gateway. The client that calls the
 * vault lives with the environment.
 */

import { probeNames } from "../platform/gateway-facts.ts";
import type { GatewayReply } from "../platform/outbound-http.ts";
import { Secret } from "../platform/secrets.ts";

/** A gateway request whose body holds placeholders such as `{{card.number}}` where the vault fills the card in. */
export type ForwardRequest = {
  /** The row of the vault's destination table: the gateway's identifier and the operation. */
  readonly connector: string;
  readonly operation: string;
  readonly token: Secret;
  readonly sessionId: string;
  /** Origin of the gateway; the vault's destination table must allow its host. */
  readonly origin: string;
  readonly pathVariables: Readonly<Record<string, string>>;
  /** Credentials and idempotency key. The content type is fixed by the vault's destination. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The holder's name for a card that has none. */
  readonly holder?: string | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Token and session of a connector's test call: the vault fills in the number that gateways publish for tests, so that
 * a connection is verified the way that real cards are sent.
 */
export const probe = { vaultToken: new Secret(probeNames.token), sessionId: probeNames.sessionId } as const;

/** The part of a card that may be shown. */
export type CardSummary = { readonly brand: string; readonly last4: string };

/** The gateway's reply, card numbers masked, and its card's summary if the vault still had it. */
export type ForwardReply = {
  readonly reply: GatewayReply;
  readonly card?: CardSummary | undefined;
  /** The brand that the customer chose for a co-badged card. */
  readonly chosenBrand?: string | undefined;
};

/** Sends requests that carry a card to the vault, which fills in the card and forwards them. */
export interface CardForwarder {
  /** Sends once and never throws: the reply says what failed, and if a byte had left. */
  forward(request: ForwardRequest): Promise<ForwardReply>;
}

/**
 * Makes free text safe to send beside placeholders: the vault refuses `{{` in any field without a card, and a merchant
 * may write it.
 */
export function withoutPlaceholders(text: string): string {
  return text.replace(/\{(?=\{)/g, "{ ");
}
