/**
 * POST /wallet-tokens: opens a token that a wallet has encrypted for the merchant, and turns it into a token of one
 * session.
 */
import { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { CreateWalletTokenResponseJson } from "../../../gen/vault/v1/vault_pb.ts";
import type { WalletName } from "../../platform/card-token.ts";
import type { Statement } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { GatewayHttp } from "../../platform/outbound-http.ts";
import { sha256 } from "../../platform/secrets.ts";
import type { SessionGrant } from "../../platform/service-token.ts";
import type { EnvironmentName } from "../../platform/signed-claims.ts";
import { bindingOf, type WalletOrder, walletRefusals } from "../../platform/wallets.ts";
import { type Card, findCardProblems, shownOf } from "../card.ts";
import { parseWalletJson } from "../card-json.ts";
import { type KeptCard, keepCard } from "../card-store.ts";
import { readCall, type Tokenizer } from "../tokenize.ts";
import type { VaultEnvironment } from "../vault-config.ts";
import { refusalLogEveryMs, walletBodyBytesMax, walletSeenMarginMs } from "../vault-limits.ts";
import { appleRoot } from "./apple-root.ts";
import { openAppleToken, readAppleToken } from "./apple-token.ts";
import { GoogleRoots, readGoogleRoots } from "./google-roots.ts";
import { isUnderRoot, openGoogleToken, readGoogleToken } from "./google-token.ts";
import { type OpenedToken, RefusedToken } from "./token-parts.ts";
import { usableWalletKeys } from "./wallet-keys.ts";

export type WalletTokenizer = Tokenizer & {
  readonly http: Pick<GatewayHttp, "send">;
  readonly logger: Logger;
};

// Google's recipient of every token of its test environment:
// https://developers.google.com/pay/api/web/guides/resources/payment-data-cryptography (2026).
const googleTestRecipient = "12345678901234567890";

/** Answers one call. Throws a DomainError that contains nothing of the token. */
export async function takeWalletToken(
  tokenizer: WalletTokenizer,
  request: IncomingMessage,
): Promise<CreateWalletTokenResponseJson> {
  const { grant, environment, caller, body } = await readCall(tokenizer, request, walletBodyBytesMax);
  const { wallet, token } = parseWalletJson(body);
  const { order } = grant;
  if (order === undefined || takesNone(environment)) {
    throw new DomainError("wallet_not_enabled", "This payment session takes no wallet.");
  }
  try {
    if (wallet === "apple_pay") readAppleToken(token);
    else readGoogleToken(token);
    await tokenizer.callCounts.charge(caller);
    const opened = await open(tokenizer, { grant, order, environment, wallet, token });
    const card = cardOf(wallet, opened);
    refuseRealCard(card, environment);
    const kept = await keepOnce(tokenizer, { grant, environment, wallet, opened, card });
    tokenizer.observer?.tokenized(grant.environment);
    tokenizer.observer?.walletToken(grant.environment, wallet, "taken");
    return { token: kept.token.expose(), ...shownOf(card), expiresAt: kept.expiresAt.toISOString() };
  } catch (error) {
    noteRefusal(tokenizer, { environment: grant.environment, kind: wallet }, error);
    if (!(error instanceof RefusedToken)) throw error;
    throw new DomainError("wallet_token_invalid", "The wallet's token is not valid for this payment.");
  }
}

// The refusals of a token that was read, which are logged beside the checks that it failed.
const loggedCodes: ReadonlySet<string> = new Set(walletRefusals);
const loggedAt = new WeakMap<Logger, Map<string, number>>();

/** Counts and logs what refuses a token, without anything of its content. The log is seldom: strangers cannot fill the disk. */
function noteRefusal(
  { logger, observer }: Pick<WalletTokenizer, "logger" | "observer">,
  of: { readonly environment: EnvironmentName; readonly kind: WalletName },
  error: unknown,
): void {
  const code = error instanceof DomainError && loggedCodes.has(error.code) ? error.code : undefined;
  const rule = error instanceof RefusedToken ? error.check : code;
  if (rule === undefined) return;
  observer?.walletToken(of.environment, of.kind, rule);
  const known = loggedAt.get(logger) ?? new Map<string, number>();
  loggedAt.set(logger, known);
  const [key, now] = [`${of.environment} ${of.kind} ${rule}`, performance.now()];
  if (now - (known.get(key) ?? Number.NEGATIVE_INFINITY) < refusalLogEveryMs) return;
  known.set(key, now);
  logger.warn({ ...of, rule }, "a wallet's token was refused");
}

/** A demo's live environment has emulators for gateways, which must get no real number. */
function takesNone({ environment, testCards }: VaultEnvironment): boolean {
  return environment === "live" && testCards !== undefined;
}

type Sent = {
  readonly grant: SessionGrant;
  readonly order: WalletOrder;
  readonly environment: VaultEnvironment;
  readonly wallet: WalletName;
  readonly token: string;
};

/** Opens a token. Throws RefusedToken with the first check that fails. */
async function open(tokenizer: WalletTokenizer, sent: Sent): Promise<OpenedToken> {
  const { wallet, environment, grant } = sent;
  const keys = await usableWalletKeys(tokenizer.database, environment, { merchantId: grant.profile, wallet });
  const now = new Date();
  if (wallet === "apple_pay") {
    const { order } = sent;
    const roots = appleRootsOf(environment);
    return openAppleToken(sent.token, { roots, keys, now, binding: bindingOf(order), order });
  }
  const roots = await googleRootsOf(tokenizer, environment, { token: sent.token, now });
  const recipientOf = ({ recipient }: { recipient: string }) =>
    environment.environment === "test" ? googleTestRecipient : recipient;
  return openGoogleToken(sent.token, { roots, keys, recipientOf, now });
}

/** Test roots count in test only: a token under one proves nothing. */
function testRootsOf({ environment, walletTestRoots }: VaultEnvironment) {
  return environment === "test" ? walletTestRoots : undefined;
}

const appleRoots = new WeakMap<VaultEnvironment, readonly X509Certificate[]>();

function appleRootsOf(environment: VaultEnvironment): readonly X509Certificate[] {
  const known = appleRoots.get(environment);
  if (known !== undefined) return known;
  const roots = [appleRoot, ...(testRootsOf(environment)?.apple ?? []).map((pem) => new X509Certificate(pem))];
  appleRoots.set(environment, roots);
  return roots;
}

const googleRoots = new WeakMap<VaultEnvironment, GoogleRoots>();

/** Returns the roots that count for a token. Throws `wallet_unavailable` if Google's are needed and none is valid. */
async function googleRootsOf(
  { database, http }: WalletTokenizer,
  environment: VaultEnvironment,
  { token, now }: { readonly token: string; readonly now: Date },
) {
  // An emulator's token needs no answer of Google's.
  const ofTest = readGoogleRoots(testRootsOf(environment)?.google ?? "");
  if (ofTest.length > 0 && isUnderRoot(token, ofTest, now)) return ofTest;
  const known = googleRoots.get(environment) ?? new GoogleRoots(database, http, environment.environment);
  googleRoots.set(environment, known);
  const roots = await known.current();
  if (roots.some(({ expiresAt }) => expiresAt > now)) return roots;
  throw new DomainError("wallet_unavailable", "Google's root keys are not known at the moment.");
}

function cardOf(name: WalletName, opened: OpenedToken): Card {
  const { number, expMonth, expYear, credential, cryptogram, eci, messageId, messageEndsAt } = opened;
  const messageExpiration = String(messageEndsAt.getTime());
  return { number, expMonth, expYear, wallet: { name, credential, cryptogram, eci, messageId, messageExpiration } };
}

/** In test a card is one of the listed ones. A device's number counts by the root that vouches for it. */
function refuseRealCard(card: Card, { testCards }: VaultEnvironment): void {
  if (card.wallet?.credential !== "PAN") return;
  const [problem] = findCardProblems(card, new Date()).filter(({ field }) => field !== "cvc");
  if (problem !== undefined) throw new DomainError("wallet_not_supported", "The wallet's card cannot be charged.");
  if (testCards?.has(card.number) === false) {
    throw new DomainError("test_card_required", "This is a test environment: use a wallet with one of its test cards.");
  }
}

const seenStatement: Statement = {
  name: "vault_see_wallet_message",
  text: `INSERT INTO wallet_seen (environment, id_hash, expires_at) VALUES ($1, $2, $3)
    ON CONFLICT (environment, id_hash) DO NOTHING RETURNING true AS new`,
};

/**
 * Stores the card, and in the same transaction the message's id, so that the message cannot be used again, even after a
 * crash.
 */
async function keepOnce(
  { database }: WalletTokenizer,
  {
    grant,
    environment,
    wallet,
    opened,
    card,
  }: Omit<Sent, "order" | "token"> & { readonly opened: OpenedToken; readonly card: Card },
): Promise<KeptCard> {
  const rememberUntil = new Date(opened.messageEndsAt.getTime() + walletSeenMarginMs);
  return database.transaction(async (tx) => {
    const message = sha256(`${wallet} ${opened.messageId}`);
    const [isNew] = await tx.query(seenStatement, [environment.environment, message, rememberUntil]);
    if (isNew === undefined) throw new DomainError("wallet_token_used", "The wallet's token was used before.");
    return keepCard(tx, environment, grant, card);
  });
}
