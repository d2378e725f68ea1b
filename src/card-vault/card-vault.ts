/** The card vault of one environment, of either kind: the contract for sessions, connectors and the plan. A card reaches a gateway by its `forward` only. */

import type { CardFingerprint, TokenWallet, WalletName } from "../platform/card-token.ts";
import { probeNames } from "../platform/gateway-facts.ts";
import type { MerchantId, SessionId } from "../platform/ids.ts";
import type { GatewayReply } from "../platform/outbound-http.ts";
import { Secret } from "../platform/secrets.ts";

/** A requirement of a card request beyond a JSON body in which each part of the card is a whole value. */
export type ForwardFeature =
  | "form_body"
  /** A value that holds more than one part of the card, such as `2031-04`. */
  | "composed_value"
  | "two_digit_year";

const inWords: Readonly<Record<ForwardFeature, string>> = {
  form_body: "form-encoded bodies",
  composed_value: "values made of several parts of the card",
  two_digit_year: "a year of two digits",
};

/** The features of gateway requests that a vault supports, and its delay. */
export type Forwarding = {
  readonly features: ReadonlySet<ForwardFeature>;
  /** Time that the vault may take to forward a request beyond the requested time; in `latestExecutionAt`. */
  readonly lateMs: number;
};

export type NewVaultSession = {
  readonly sessionId: SessionId;
  readonly merchantId: MerchantId;
  readonly publishableKey: string;
  readonly checkoutOrigins: readonly string[];
  readonly expiresAt: Date;
  /** The order that a wallet may pay; without it the session is for cards only. */
  readonly order?: { readonly orderRef: string; readonly amountMinor: number; readonly currency: string } | undefined;
};

/** The vault object of a session. Its members depend on the mode, and only the widget and the vault read them. */
export type VaultObject = { mode: "self_hosted" | "saas"; [member: string]: string };

/** The network of a card, and the first digits of its number, which are stored within a sealed token at most. */
export type CardDigits = {
  /** `unknown` for a network that the vault does not know. */
  readonly brand: string;
  /** Eight digits of a number of sixteen or more, six of a shorter one. */
  readonly firstDigits: string;
};

export type TokenCheck = {
  /** `unknown` if the vault cannot be reached, `code_missing` of a stored card before its security code. */
  readonly state: "unused" | "not_found" | "expired" | "used" | "code_missing" | "unknown";
  /** Its card, if it is unused and the vault reports it. */
  readonly card?: CardDigits | undefined;
  /** The fingerprint of its card; an outside vault makes none. */
  readonly fingerprint?: CardFingerprint | undefined;
  /** The wallet that gave its card, if one did: by what the token says, also if the vault does not answer. */
  readonly wallet?: (TokenWallet & { readonly network: string }) | undefined;
};

/** The vault of one environment: lets a page tokenize for a session, sends cards to gateways, and forgets them. */
export interface CardVault extends CardForwarder {
  /** Origin of the vault's script; the widget sends a card to no other origin. */
  readonly origin: string;
  readonly forwarding: Forwarding;
  /** True if `openSession` makes a call, so that a repeated creation should first look for its earlier answer. */
  readonly opensSessionByCall: boolean;
  /** True if the publishable key of its vault objects is the merchant's; otherwise it is the vault's own. */
  readonly carriesMerchantKey: boolean;
  /** Returns the session's grant. Throws `unavailable` if the vault gives none. */
  openSession(session: NewVaultSession): Promise<VaultObject>;
  /** Checks that a token can pay a session, given by its public id. Uses nothing up and never throws. */
  checkToken(asked: { readonly sessionId: string; readonly token: Secret }): Promise<TokenCheck>;
  /** Deletes every card of a session. Never throws: each vault also forgets by itself. */
  forget(sessionId: SessionId): void;
  /** The cards that customers store. Absent: this vault stores none. */
  readonly stored?: StoredCardVault | undefined;
  /** The keys that decrypt wallets' tokens. Absent: this vault takes no wallets. */
  readonly walletKeys?: WalletKeyVault | undefined;
  close(): void;
}

type KeptCard = CardSummary & {
  /** 1 to 12. */
  readonly expMonth: number;
  /** The year with four digits. */
  readonly expYear: number;
  readonly fingerprint: CardFingerprint;
};

/** A stored card as a token of one session. */
export type OpenedCard = { readonly token: Secret; readonly expiresAt: Date };

/** A card of one merchant. The handle is `vc_` and 32 base64url characters, which are 192 random bits; only its holder can open the card. */
type CardOfMerchant = { readonly sessionId: SessionId; readonly merchantId: MerchantId; readonly handle: Secret };

/** Stores cards for longer than one payment. */
export interface StoredCardVault {
  /**
   * Stores the card of a session's token under a handle, without its security code, and forgets the session, in one transaction. A repeat
   * with the same handle answers the same. "lost": the vault has the card no longer. Throws `unavailable`.
   */
  keep(card: CardOfMerchant & { readonly token: Secret }): Promise<KeptCard | "lost">;
  /**
   * Makes a stored card an ordinary token of one session. With `code` "required" the token can be used only once the card frame has posted
   * a security code under the session's grant. "lost": there is no such card. Throws `unavailable`, and `rate_limited` or `session_ended`
   * for a session that takes no more cards.
   */
  open(card: CardOfMerchant & { readonly code: "required" | "none" }): Promise<OpenedCard | "lost">;
  /** Erases a card, given by the SHA-256 of its handle. A repeat succeeds. Throws `unavailable`. */
  erase(handleHash: Buffer, merchantId: MerchantId): Promise<void>;
}

/** A key of a merchant for a wallet, without its private half. */
export type WalletKey = {
  readonly id: string;
  readonly wallet: WalletName;
  readonly state: "STAGED" | "ACTIVE" | "RETIRING" | "DROPPED";
  /** Apple's merchant identifier, or Google's merchant id. */
  readonly recipient: string;
  /** The uncompressed point in base64. */
  readonly publicKey: string;
  /** Apple's request for a certificate, in PEM; empty for Google. */
  readonly signingRequest: string;
  readonly createdAt: Date;
  readonly retiresAt: Date | undefined;
  readonly certificateEndsAt: Date | undefined;
};

type KeyOfMerchant = { readonly merchantId: MerchantId; readonly id: string };

/**
 * Makes, replaces and erases the keys of merchants' wallets. Throws `invalid_field`, `not_found` and `state_conflict` in the vault's
 * words, and `unavailable`.
 */
export interface WalletKeyVault {
  create(key: { merchantId: MerchantId; wallet: WalletName; recipient: string }): Promise<WalletKey>;
  /** Uses a key from now on. A repeat succeeds, and stores a certificate that ends later. */
  activate(key: KeyOfMerchant & { readonly certificate: Uint8Array }): Promise<WalletKey>;
  /** Lists a merchant's keys, the newest first. */
  list(merchantId: MerchantId): Promise<readonly WalletKey[]>;
  drop(key: KeyOfMerchant): Promise<void>;
}

/** Returns why a gateway cannot get cards from this vault; undefined if it can. */
export function whyNotForwardable(
  { features }: Forwarding,
  connector: { readonly gateway: string; readonly forwardFeatures: readonly ForwardFeature[] },
): string | undefined {
  const missing = connector.forwardFeatures.filter((feature) => !features.has(feature));
  if (missing.length === 0) return undefined;
  return `The card vault of this installation cannot send what ${connector.gateway} needs: ${missing.map((feature) => inWords[feature]).join(", ")}.`;
}

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

export type CardSummary = { readonly brand: string; readonly last4: string };

/** The gateway's reply, card numbers masked, and its card's summary if the vault still had it. */
export type ForwardReply = {
  readonly reply: GatewayReply;
  readonly card?: CardSummary | undefined;
  readonly chosenBrand?: string | undefined;
};

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
