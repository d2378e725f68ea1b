/**
 * The contract between the payment flow and a 3DS server outside of the gateways, which authenticates a customer once.
 * Its proof goes to every gateway that imports one.
 */
import type { ForwardFeature } from "../card-vault/card-vault.ts";
import type { Secret } from "../platform/secrets.ts";
import type { Amount } from "./amounts.ts";
import type { Action, AuthenticationProof, AuthenticationResult, BrowserData, Exemption } from "./authentication.ts";
import type { AuthorizeRequest, CardOfRequest, CredentialField, GatewayCall, VerifyRow } from "./connector.ts";
import type { ChallengeMandate } from "./stored-cards.ts";

/** Every provider; the same literals are public in `provider`. */
export const providers = ["SANDBOX_3DS", "THREEDSECUREIO", "ADYEN_3DS"] as const;
export type ProviderName = (typeof providers)[number];

/** The merchant as its acquirer knows it, which a bank sees with each authentication, and what the acquirer agreed to. */
export type AcquirerData = {
  /** Merchant category code, four digits. */
  readonly mcc: string;
  /** The merchant's country, as an ISO 3166-1 alpha-2 code. */
  readonly country: string;
  readonly merchantName: string;
  /** The acquirer's data by the vault's name of the network. */
  readonly networks: Readonly<Record<string, { readonly acquirerBin: string; readonly acquirerMerchantId: string }>>;
  /** True if the acquirer accepts no authentication with another acquirer's data. */
  readonly acceptsOwnOnly?: boolean | undefined;
  /** The exemptions that the acquirer asks for, each up to an amount. */
  readonly exemptions?: readonly (Amount & { readonly kind: Exemption })[] | undefined;
};

/** The answer to `prepare`. `keep` is what the next calls need. */
export type Prepared =
  | {
      readonly type: "ready";
      readonly keep: Secret;
      /** The network of the card; absent if the vault did not say. */
      readonly network?: string | undefined;
      /** The bank's device check, if it has one: it comes before the request. */
      readonly method?: Action | undefined;
    }
  | Unavailable;

/**
 * The provider gave no usable answer: it does not know the card, or the provider, the directory or the bank cannot be
 * reached.
 */
export type Unavailable = {
  readonly type: "unavailable";
  readonly reason: string;
  /** True if the provider or a directory did not do its part: a connection that fails so again and again is left out. */
  readonly isOutage?: true | undefined;
};

/** The device check: done, not done in time, or none. */
export type MethodIndicator = "Y" | "N" | "U";

export type AuthenticationRequest = Amount &
  CardOfRequest &
  Pick<AuthorizeRequest, "customerEmail" | "billingAddress" | "shopperIp" | "shopperUserAgent"> & {
    readonly keep: Secret;
    readonly methodIndicator: MethodIndicator;
    /** True if the request makes a challenge mandatory: a gateway has declined without authentication. */
    readonly isMandated: boolean;
    /** The card is stored with the payment, which mandates a challenge as well. */
    readonly mandate?: ChallengeMandate | undefined;
    readonly browser: BrowserData;
    readonly returnUrl: string;
    readonly purchasedAt: Date;
    readonly acquirer: Pick<AcquirerData, "mcc" | "country" | "merchantName"> & AcquirerData["networks"][string];
  };

/** The end of an authentication. The bank's own codes are in `result`. */
export type ProviderEnd = {
  readonly type: "ended";
  readonly result: AuthenticationResult;
  /** The bank's code of who ended the challenge. */
  readonly challengeCancel?: string | undefined;
  /** Present exactly if the result can be imported. */
  readonly proof?: AuthenticationProof | undefined;
  readonly message?: BankMessage;
};

/** The bank's message to the customer, as `bankMessageIn` reads it. */
type BankMessage = string | undefined;

/** The answer to `authenticate`. */
export type ProviderAnswer =
  | ProviderEnd
  | { readonly type: "challenge"; readonly action: Action; readonly keep: Secret; readonly message?: BankMessage }
  | Unavailable;

/** The answer to `result`: `waiting` while the customer has not answered. */
export type ProviderResult = ProviderEnd | { readonly type: "waiting" } | Unavailable;

/**
 * A provider, as the payment flow sees it. Calls never throw and never repeat themselves: every failure is in the
 * answer. No call moves money.
 */
export interface AuthenticationProvider {
  /** Its name, in the column that connections of gateways have for theirs. */
  readonly gateway: ProviderName;
  readonly credentialFields: readonly CredentialField[];
  readonly forwardFeatures: readonly ForwardFeature[];
  /** Asks which version and which device check the card has. May be repeated. */
  prepare(call: GatewayCall, card: CardOfRequest & { readonly returnUrl: string }): Promise<Prepared>;
  /** Requests the authentication. Is never repeated: without an answer, `result` has it. */
  authenticate(call: GatewayCall, request: AuthenticationRequest): Promise<ProviderAnswer>;
  /** Returns what leads to the result, where a provider takes it from the customer's return. It proves nothing. */
  readonly readReturn?: ((fields: URLSearchParams) => string | undefined) | undefined;
  /** Reads the result from the provider. `returned` is what `readReturn` found last. */
  result(call: GatewayCall, keep: Secret, returned?: Secret): Promise<ProviderResult>;
  /** Returns every check, also those that could not be tried. */
  verify(call: GatewayCall): Promise<readonly VerifyRow[]>;
}
