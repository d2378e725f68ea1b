/**
 * Opens a token of Apple Pay, in the order of Apple's "Payment token format reference" (EC_v1). Nothing is decrypted before
 * the signature, its age and the order are right.
 */
import { createDecipheriv, createPublicKey, diffieHellman, type X509Certificate } from "node:crypto";
import { DomainError } from "../../platform/errors.ts";
import { currencyNumber } from "../../platform/iso-numbers.ts";
import { isCurrency, isoExponent } from "../../platform/money.ts";
import { sha256 } from "../../platform/secrets.ts";
import type { WalletCheck, WalletOrder } from "../../platform/wallets.ts";
import { verifyAppleSignature } from "./apple-signature.ts";
import {
  type DecryptionKey,
  isCryptogram,
  isIndicator,
  isNumber,
  membersOf,
  type OpenedToken,
  RefusedToken,
  readBase64,
  readHash,
  readObject,
} from "./token-parts.ts";

export type AppleCheck = {
  /** The roots that count here. */
  readonly roots: readonly X509Certificate[];
  readonly keys: readonly DecryptionKey[];
  readonly now: Date;
  /** The sheet's `applicationData`; undefined for none, as in published tokens. */
  readonly binding: Uint8Array | undefined;
  readonly order: Pick<WalletOrder, "amountMinor" | "currency">;
};

// The time that a customer's phone takes to send it, and the difference of two clocks.
const ageMaxMs = 5 * 60_000;
const aheadMaxMs = 60_000;

/**
 * Returns the content of a token, given as the text of its `paymentData`. Throws RefusedToken with the first check that
 * fails, `wallet_not_supported` for another kind of token, and `wallet_amount_mismatch`.
 */
export function openAppleToken(text: string, check: AppleCheck): OpenedToken {
  const token = readAppleToken(text);
  const number = numberOf(check.order.currency);
  const { signedAt } = verifyAppleSignature(token.signature, token.signedContent, check.roots);
  const ageMs = check.now.getTime() - signedAt.getTime();
  if (ageMs > ageMaxMs || ageMs < -aheadMaxMs) throw refused("signing_time");
  const expected = check.binding && sha256(check.binding);
  if (expected === undefined ? token.applicationData !== undefined : !token.applicationData?.equals(expected)) {
    throw refused("application_data");
  }
  const key = check.keys.find(({ publicKey }) => sha256(publicKey).equals(token.publicKeyHash));
  if (key === undefined) throw refused("key");
  const opened = readContent(decrypt(token, key));
  const { currencyCode, transactionAmount } = opened;
  if (currencyCode !== number || transactionAmount !== check.order.amountMinor) {
    throw new DomainError("wallet_amount_mismatch", "The wallet has authorized another amount. Start a new payment.");
  }
  return {
    ...opened.credential,
    messageId: token.transactionId.toString("hex"),
    messageEndsAt: new Date(signedAt.getTime() + ageMaxMs),
  };
}

/** Apple documents the unit of its amounts for no currency of another exponent than 2. */
function numberOf(currency: string): string {
  const number = currencyNumber(currency);
  if (number !== undefined && isCurrency(currency) && isoExponent(currency) === 2) return number;
  throw new DomainError("wallet_not_supported", "Apple Pay is not supported in this currency.");
}

type Token = ReturnType<typeof readAppleToken>;

/** Throws RefusedToken for another form, and `wallet_not_supported` for another kind. */
export function readAppleToken(text: string) {
  const token = readObject(text);
  if (token === undefined) throw refused("form");
  if (token.version !== "EC_v1") throw notSupported();
  const header = membersOf(token.header);
  const data = readBase64(token.data);
  const signature = readBase64(token.signature);
  const ephemeralPublicKey = readBase64(header?.ephemeralPublicKey);
  const publicKeyHash = readBase64(header?.publicKeyHash);
  const transactionId = readHash(header?.transactionId);
  const applicationData = readHash(header?.applicationData);
  const isBound = header?.applicationData === undefined || applicationData !== undefined;
  if (!data || !signature || !ephemeralPublicKey || !publicKeyHash || !transactionId || !isBound) throw refused("form");
  const signed = [ephemeralPublicKey, data, transactionId, ...(applicationData ? [applicationData] : [])];
  return {
    data,
    signature,
    ephemeralPublicKey,
    publicKeyHash,
    transactionId,
    applicationData,
    signedContent: Buffer.concat(signed),
  };
}

// The key derivation of NIST SP 800-56A needs a single block: hashed from the counter, the secret, the algorithm, the
// party and the recipient.
const firstBlock = Buffer.from([0, 0, 0, 1]);
const algorithm = Buffer.from("\x0did-aes256-GCMApple", "latin1");
const tagBytes = 16;

function decrypt({ ephemeralPublicKey, data }: Token, { privateKey, recipient }: DecryptionKey): string {
  try {
    const publicKey = createPublicKey({ key: ephemeralPublicKey, format: "der", type: "spki" });
    const shared = diffieHellman({ privateKey, publicKey });
    const key = sha256(Buffer.concat([firstBlock, shared, algorithm, sha256(recipient)]));
    const decipher = createDecipheriv("aes-256-gcm", key, Buffer.alloc(tagBytes), { authTagLength: tagBytes });
    decipher.setAuthTag(data.subarray(-tagBytes));
    return Buffer.concat([decipher.update(data.subarray(0, -tagBytes)), decipher.final()]).toString();
  } catch {
    throw refused("tag");
  }
}

function readContent(text: string) {
  const content = readObject(text);
  if (content === undefined) throw refused("content");
  if (content.paymentDataType !== "3DSecure") throw notSupported();
  const payment = membersOf(content.paymentData);
  const number = content.applicationPrimaryAccountNumber;
  const [, year, month] = /^(\d\d)(0[1-9]|1[0-2])\d\d$/.exec(String(content.applicationExpirationDate)) ?? [];
  const cryptogram = payment?.onlinePaymentCryptogram;
  const eci = payment?.eciIndicator;
  if (!isNumber(number) || year === undefined || !isCryptogram(cryptogram) || !isIndicator(eci))
    throw refused("content");
  const { currencyCode, transactionAmount } = content;
  const expiry = { expMonth: Number(month), expYear: 2_000 + Number(year) };
  const credential = { credential: "NETWORK_TOKEN", number, ...expiry, cryptogram, eci } as const;
  return { credential, currencyCode, transactionAmount };
}

function notSupported(): DomainError {
  return new DomainError("wallet_not_supported", "This kind of Apple Pay token is not supported.");
}

function refused(check: WalletCheck): RefusedToken {
  return new RefusedToken("apple_pay", check);
}
