/** The one way a card reaches a gateway: the vault's Forward, as connectors see it. The client that calls the vault lives with the environment. */
import { Secret } from "../platform/secrets.ts";
import type { GatewayReply } from "./gateway-http.ts";

/** A gateway request whose body holds placeholders such as `{{card.number}}` where the vault fills the card in. */
export type ForwardRequest = {
  /** Row of the vault's destination table: the gateway's identifier and the operation. */
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
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Token and session of a connector's test call: the vault fills in the number that gateways publish for tests, so that a
 * connection is verified on the way that real cards take. A payment's session never has this name, so none is paid by it.
 */
export const probe = { vaultToken: new Secret("tok_probe"), sessionId: "verify" } as const;

/** What may be shown of a card. */
export type CardShown = { readonly brand: string; readonly last4: string };

/** The gateway's reply, card numbers masked, and the card it was about where the vault still knew it. */
export type ForwardReply = { readonly reply: GatewayReply; readonly card?: CardShown | undefined };

/** Hands requests that carry a card to the vault, which fills it in and sends them on. */
export interface CardForwarder {
  /** Sends once and never throws: what went wrong, and whether a byte had left, is in the reply. */
  forward(request: ForwardRequest): Promise<ForwardReply>;
}

/** Free text made safe to send beside placeholders: the vault refuses `{{` wherever no card belongs, and a merchant may write it. */
export function withoutPlaceholders(text: string): string {
  return text.replace(/\{(?=\{)/g, "{ ");
}
