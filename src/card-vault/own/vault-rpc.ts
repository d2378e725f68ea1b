/** The core's client of our own vault: Forward for connectors, Forget when a session has ended. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type ChannelCredentials, credentials, type ServiceError, status } from "@grpc/grpc-js";
import {
  CheckTokenResponse_State,
  type ForwardResponse,
  NeverSent_Reason,
  VaultService,
  Wallet,
} from "../../../gen/vault/v1/vault_pb.ts";
import { vaultGraceMs } from "../../limits.ts";
import { credentialOf, readCardToken, type WalletName } from "../../platform/card-token.ts";
import { unreachable } from "../../platform/errors.ts";
import { createGrpcClient, type GrpcClient } from "../../platform/grpc-client.ts";
import { encodeId, type SessionId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import type { GatewayReply } from "../../platform/outbound-http.ts";
import type { KeyRing, Secret } from "../../platform/secrets.ts";
import {
  createServiceTokens,
  type SigningKey,
  signFramePolicy,
  signSessionGrant,
} from "../../platform/service-token-signing.ts";
import { type Tracing, untraced } from "../../platform/telemetry.ts";
import { orderHashOf, type WalletOrder } from "../../platform/wallets.ts";
import type {
  CardForwarder,
  CardVault,
  Forwarding,
  ForwardReply,
  ForwardRequest,
  NewVaultSession,
  StoredCardVault,
  TokenCheck,
  WalletKeyVault,
} from "../card-vault.ts";
import type { VaultTlsPaths } from "../vault-settings.ts";
import { connectWaitMs, storedCardsOf } from "./stored-cards.ts";
import { walletKeysOf } from "./wallet-keys.ts";

// Time that the vault and the network may take beside the gateway.
const ownTimeMs = 2_000;
const forgetTimeoutMs = 5_000;
// Sessions that end within it share a call; their cards stay that much longer, sealed and for no other use.
const forgetTogetherMs = 50;
const forgetTogetherMax = 100;
// Unless it has expired, a lost card suggests that others are gone as well; cards from before the loss live no longer
// than this.
const askAfterLossMs = 15 * 60_000;
// A check is a single read by an index. A customer waits for it, and the first attempt asks a slower vault again.
const checkTimeoutMs = 500;

const tokenStates: Readonly<Partial<Record<CheckTokenResponse_State, TokenCheck["state"]>>> = {
  [CheckTokenResponse_State.UNUSED]: "unused",
  [CheckTokenResponse_State.NOT_FOUND]: "not_found",
  [CheckTokenResponse_State.EXPIRED]: "expired",
  [CheckTokenResponse_State.USED]: "used",
  [CheckTokenResponse_State.CODE_MISSING]: "code_missing",
};

const walletNames: Readonly<Partial<Record<Wallet, WalletName>>> = {
  [Wallet.APPLE_PAY]: "apple_pay",
  [Wallet.GOOGLE_PAY]: "google_pay",
};

/** The client of one environment's vault, with a service token that is at most a second old for every call. */
export class VaultClient implements CardForwarder {
  readonly stored: StoredCardVault;
  readonly walletKeys: WalletKeyVault;
  readonly #client: GrpcClient<typeof VaultService>;
  readonly #serviceToken: () => string;
  readonly #log: Logger;
  readonly #tracing: Tracing;
  readonly #environment: SigningKey["environment"];
  readonly #cardToken: KeyRing | undefined;
  #ended: SessionId[] = [];
  #forgetting: NodeJS.Timeout | undefined;
  #askUntil = 0;

  /** Throws if files of `tls` cannot be used; without `tls` the connection is not encrypted. */
  constructor(options: {
    address: string;
    signing: SigningKey;
    /** Keys that open the facts in tokens; without them each token needs a call to the vault. */
    cardToken?: KeyRing | undefined;
    log: Logger;
    tls?: VaultTlsPaths | undefined;
    tracing?: Tracing | undefined;
  }) {
    this.#tracing = options.tracing ?? untraced;
    this.#client = createGrpcClient(VaultService, options.address, channelOf(options.tls));
    this.#serviceToken = createServiceTokens(options.signing);
    this.#environment = options.signing.environment;
    this.#cardToken = options.cardToken;
    this.#log = options.log;
    this.stored = storedCardsOf(this.#client, () => this.#metadata());
    this.walletKeys = walletKeysOf(this.#client, () => this.#metadata());
  }

  forward(request: ForwardRequest): Promise<ForwardReply> {
    const facts = () => ({ gateway: request.connector, operation: request.operation });
    const of = { traceparent: this.#tracing.outgoing() };
    return this.#tracing.span("vault.call", { of, facts, kind: "client" }, () => this.#forward(request));
  }

  async #forward(request: ForwardRequest): Promise<ForwardReply> {
    const { token, body, signal, ...rest } = request;
    // Checked before the call, because afterwards a call that was never sent cannot be distinguished from a lost one.
    if (!(await this.#client.isConnected(connectWaitMs))) {
      return { reply: { type: "neverSent", cause: "vault_unavailable", reason: "no connection to the vault" } };
    }
    try {
      const answer = await this.#client.forward(
        { ...rest, token: token.expose(), body: new TextEncoder().encode(body) },
        { timeoutMs: request.timeoutMs + ownTimeMs, metadata: this.#metadata(), signal },
      );
      if (isLostCard(answer)) this.#askUntil = performance.now() + askAfterLossMs;
      const card = answer.brand === "" ? undefined : { brand: answer.brand, last4: answer.last4 };
      return { reply: replyOf(answer), card, chosenBrand: answer.chosenBrand || undefined };
    } catch (error) {
      return { reply: replyWithoutAnswer(error as ServiceError) };
    }
  }

  /**
   * Checks that a token can pay a session, by the facts in it. The vault is called only for a token that does not prove
   * it, and for every token after the vault has lost a card; if it cannot be reached, or is too old for this call, the
   * first attempt decides. That a proven token is unused needs no check: only a submission of its session uses it.
   */
  async checkToken(asked: { sessionId: string; token: Secret }): Promise<TokenCheck> {
    const facts = this.#factsOf(asked);
    const proven = facts && {
      card: { brand: facts.brand, firstDigits: facts.firstDigits },
      fingerprint: facts.fingerprint,
      ...(facts.wallet && { wallet: { ...facts.wallet, network: facts.brand } }),
    };
    if (proven && !facts.needsCode && performance.now() >= this.#askUntil) return { state: "unused", ...proven };
    const check = await this.#askVault(asked);
    // The card is limited and routed by what its token says, also while the vault is silent.
    const wallet = check.wallet ?? proven?.wallet;
    const known = { ...check, ...(check.state === "unknown" && proven), ...(wallet && { wallet }) };
    // A vault from before wallets names none: without one the token would pass for a card's.
    const isUnnamed = wallet === undefined && credentialOf(asked.token.expose()) !== undefined;
    return isUnnamed && known.state === "unused" ? { ...known, state: "unknown" } : known;
  }

  #factsOf({ sessionId, token }: { sessionId: string; token: Secret }) {
    if (this.#cardToken === undefined) return undefined;
    const facts = readCardToken(this.#cardToken, { environment: this.#environment, sessionId }, token.expose());
    return facts && facts.expiresAt.getTime() > Date.now() ? facts : undefined;
  }

  async #askVault({ sessionId, token }: { sessionId: string; token: Secret }): Promise<TokenCheck> {
    const endsAt = performance.now() + checkTimeoutMs;
    if (!(await this.#client.isConnected(checkTimeoutMs))) return { state: "unknown" };
    try {
      const options = { timeoutMs: endsAt - performance.now(), metadata: this.#metadata() };
      const answer = await this.#client.checkToken({ sessionId, token: token.expose() }, options);
      const { brand, firstDigits, isCounted } = answer;
      // A vault from before these fields reports neither.
      const fingerprint = answer.fingerprint.length > 0 ? { versions: answer.fingerprint, isCounted } : undefined;
      const [credential, name] = [credentialOf(token.expose()), walletNames[answer.wallet]];
      const wallet = credential && name && { name, credential, network: answer.network };
      // A device's number has no first digits.
      const card = firstDigits === "" && wallet === undefined ? undefined : { brand, firstDigits };
      const state = tokenStates[answer.state] ?? "unknown";
      return { state, card, fingerprint, ...(wallet && { wallet }) };
    } catch {
      return { state: "unknown" };
    }
  }

  /** Deletes every card of a session; the vault does so by itself after 15 minutes, so a failure is only logged. */
  forget(sessionId: SessionId): void {
    this.#ended.push(sessionId);
    if (this.#ended.length >= forgetTogetherMax) void this.#forgetEnded();
    else this.#forgetting ??= setTimeout(() => this.#forgetEnded(), forgetTogetherMs);
  }

  async #forgetEnded(): Promise<void> {
    clearTimeout(this.#forgetting);
    this.#forgetting = undefined;
    const ended = this.#ended.splice(0);
    const [sessionId, ...moreSessionIds] = ended.map((id) => encodeId("ps", id));
    if (sessionId === undefined) return;
    try {
      const options = { timeoutMs: forgetTimeoutMs, metadata: this.#metadata() };
      await this.#client.forget({ sessionId, moreSessionIds }, options);
    } catch (error) {
      for (const id of ended)
        this.#log.warn({ err: error, sessionId: id }, "the vault could not be asked to forget a card");
    }
  }

  close(): void {
    void this.#forgetEnded().finally(() => this.#client.close());
  }

  #metadata(): Record<string, string> {
    const traceparent = this.#tracing.outgoing();
    const authorization = `Bearer ${this.#serviceToken()}`;
    return { authorization, ...(traceparent !== undefined && { traceparent }) };
  }
}

function isLostCard({ result }: ForwardResponse): boolean {
  return result.case === "neverSent" && result.value.reason === NeverSent_Reason.TOKEN_NOT_FOUND;
}

function channelOf(tls: VaultTlsPaths | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const authorities = readFileSync(tls.caFile);
  // A file without a certificate would mean an empty list of authorities, and every payment would fail.
  new X509Certificate(authorities);
  const [key, cert] = [tls.keyFile, tls.certFile].map((path) => (path === undefined ? null : readFileSync(path)));
  return credentials.createSsl(authorities, key, cert);
}

const neverSentCauses: Readonly<Partial<Record<NeverSent_Reason, "connection_refused" | "request_refused">>> = {
  [NeverSent_Reason.CONNECTION_REFUSED]: "connection_refused",
  [NeverSent_Reason.OTHER_CREDENTIAL]: "request_refused",
};

function replyOf(answer: ForwardResponse): GatewayReply {
  switch (answer.result.case) {
    case "answer": {
      const { status: httpStatus, headers, body } = answer.result.value;
      return { type: "answer", status: httpStatus, headers, body };
    }
    case "neverSent": {
      const { reason, detail } = answer.result.value;
      return { type: "neverSent", cause: neverSentCauses[reason] ?? "token_unusable", reason: detail };
    }
    case "noAnswer":
      return { type: "noAnswer", timedOut: answer.result.value.timedOut, reason: answer.result.value.detail };
    case undefined:
      return { type: "noAnswer", timedOut: false, lostAtVault: true, reason: "the vault's answer is unknown" };
    default:
      return unreachable(answer.result);
  }
}

/**
 * Returns the reply without the vault's answer. Only a refusal documented to come before sending counts as never sent.
 * Otherwise the gateway may have been called, and its answer is lost with the vault.
 */
function replyWithoutAnswer(error: ServiceError): GatewayReply {
  switch (error.code) {
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
      return { type: "neverSent", cause: "vault_unavailable", reason: "the vault refused our service token" };
    case status.INVALID_ARGUMENT:
      return {
        type: "neverSent",
        cause: "request_refused",
        reason: "the vault's destination table refused the request",
      };
    case status.DEADLINE_EXCEEDED:
      return { type: "noAnswer", timedOut: true, lostAtVault: true, reason: "the vault did not answer in time" };
    default:
      return { type: "noAnswer", timedOut: false, lostAtVault: true, reason: "the connection to the vault broke" };
  }
}

/**
 * The vault sends every row of its destination table, within the attempt's time: the delay that it adds is shorter than
 * the margin of our own timeout.
 */
export const selfHostedForwarding: Forwarding = {
  features: new Set(["form_body", "composed_value", "two_digit_year"]),
  lateMs: 0,
};

/** Opens the vault. No connection is made before its first use. Throws if files of `tls` cannot be used. */
export function openSelfHostedVault(options: {
  /** The origin that browsers use. */
  origin: string;
  /** The origin of the pages that show customers' actions. */
  apiOrigin: string;
  /** `host:port` of its gRPC. */
  address: string;
  /** Without `tls` the connection is not encrypted. */
  tls?: VaultTlsPaths | undefined;
  signing: SigningKey;
  /** Without these keys each token needs a call to the vault. */
  cardToken?: KeyRing | undefined;
  log: Logger;
  tracing?: Tracing | undefined;
}): CardVault {
  const { origin, apiOrigin, signing } = options;
  const client = new VaultClient(options);
  return {
    origin,
    forwarding: selfHostedForwarding,
    opensSessionByCall: false,
    carriesMerchantKey: true,
    openSession: openSessionWith({ signing, origin, apiOrigin }),
    forward: (request) => client.forward(request),
    checkToken: (asked) => client.checkToken(asked),
    forget: (sessionId) => client.forget(sessionId),
    stored: client.stored,
    walletKeys: client.walletKeys,
    close: () => client.close(),
  };
}

// A page that submits at the last moment still needs the grant while its card is tokenized.
const graceMs = 60_000;

/** Describes the vault to the widget for each session: signs with the environment's key. */
function openSessionWith(vault: { signing: SigningKey; origin: string; apiOrigin: string }): CardVault["openSession"] {
  const framePolicyOf = rememberingLast(vault.signing, vault.apiOrigin);
  return async (session) => {
    const profileId = encodeId("mer", session.merchantId);
    const origins = session.checkoutOrigins;
    const expiresAt = new Date(session.expiresAt.getTime() + graceMs);
    const order = session.order && orderOf(profileId, session.order);
    const grant = { session: encodeId("ps", session.sessionId), profile: profileId, origins, expiresAt, order };
    return {
      mode: "self_hosted",
      publishableKey: session.publishableKey,
      profileId,
      sdkAuthorization: signSessionGrant(vault.signing, grant),
      sdkUrl: `${vault.origin}/sdk.js`,
      // A page that is reloaded while its customer is at the bank needs a frame, even if the session would have
      // expired.
      framePolicy: framePolicyOf({ origins, expiresAt: new Date(session.expiresAt.getTime() + vaultGraceMs) }),
    };
  };
}

function orderOf(
  merchantId: string,
  { orderRef, amountMinor, currency }: NonNullable<NewVaultSession["order"]>,
): WalletOrder {
  return { hash: orderHashOf(merchantId, orderRef), amountMinor, currency };
}

/**
 * Signs frame policies and keeps the last one: sessions that a merchant creates within one second have the same pages
 * and expiry, and Ed25519 signs the same claims in the same way.
 */
function rememberingLast(signing: SigningKey, serviceOrigin: string) {
  let last = { claims: "", policy: "" };
  return (policy: { origins: readonly string[]; expiresAt: Date }): string => {
    const claims = [Math.floor(policy.expiresAt.getTime() / 1_000), ...policy.origins].join(" ");
    if (claims !== last.claims) last = { claims, policy: signFramePolicy(signing, { ...policy, serviceOrigin }) };
    return last.policy;
  };
}
