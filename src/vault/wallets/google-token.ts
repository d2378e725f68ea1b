/**
 * Opens a token of Google Pay, in the order of Google's "Payment data cryptography" (ECv2). Nothing is decrypted before the
 * signatures and the tag are right.
 */
import {
  createDecipheriv,
  createECDH,
  createHmac,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  verify,
} from "node:crypto";
import { equalInConstantTime } from "../../platform/secrets.ts";
import type { WalletCheck } from "../../platform/wallets.ts";
import type { GoogleRoot } from "./google-roots.ts";
import {
  type DecryptionKey,
  isCryptogram,
  isIndicator,
  isNumber,
  membersOf,
  type OpenedToken,
  RefusedToken,
  readBase64,
  readMoment,
  readObject,
} from "./token-parts.ts";

export type GoogleCheck = {
  /** The roots that count here; those that have expired are left out. */
  readonly roots: readonly GoogleRoot[];
  readonly keys: readonly DecryptionKey[];
  /** The recipient that a token names: Google's merchant id. */
  readonly recipientOf: (key: DecryptionKey) => string;
  readonly now: Date;
};

const protocol = "ECv2";
const sender = "Google";
// Google's current messages end within days; a longer life would outlive the memory of them.
const aheadMaxMs = 30 * 24 * 3_600_000;

/** Returns the content of a token, given as its text. Throws RefusedToken with the first check that fails. */
export function openGoogleToken(text: string, { roots, keys, recipientOf, now }: GoogleCheck): OpenedToken {
  const token = readGoogleToken(text);
  const { intermediate } = token;
  if (!isIssued(token, roots, now)) throw refused("root");
  if (intermediate.expiresAt <= now) throw refused("intermediate_expiry");
  const own = keys.filter((key) =>
    isSigned(
      [sender, `merchant:${recipientOf(key)}`, protocol, token.signedMessage],
      intermediate.publicKey,
      token.signature,
    ),
  );
  if (own.length === 0) throw refused("signature");
  return readContent(decrypt(token, own), now);
}

type Token = ReturnType<typeof readGoogleToken>;

/** Reports whether one of these roots has signed the key that signed a token, given as its text. */
export function isUnderRoot(text: string, roots: readonly GoogleRoot[], now: Date): boolean {
  return isIssued(readGoogleToken(text), roots, now);
}

function isIssued({ intermediate }: Token, roots: readonly GoogleRoot[], now: Date): boolean {
  const parts = [sender, protocol, intermediate.signedKey];
  const valid = roots.filter(({ expiresAt }) => expiresAt > now);
  return valid.some(({ publicKey }) => intermediate.signatures.some((one) => isSigned(parts, publicKey, one)));
}

/** Throws RefusedToken for another form. */
export function readGoogleToken(text: string) {
  const token = readObject(text);
  const intermediate = membersOf(token?.intermediateSigningKey);
  const { signedKey, signatures } = intermediate ?? {};
  const key = readObject(signedKey);
  const message = readObject(token?.signedMessage);
  const signature = readBase64(token?.signature);
  const ofKey = Array.isArray(signatures) ? signatures.map(readBase64) : [];
  const publicKey = readPublicKey(key?.keyValue);
  const expiresAt = readMoment(key?.keyExpiration);
  const encrypted = readBase64(message?.encryptedMessage);
  const ephemeralPublicKey = readBase64(message?.ephemeralPublicKey);
  const tag = readBase64(message?.tag);
  if (token?.protocolVersion !== protocol) throw refused("version");
  const isRead = signature && publicKey && expiresAt && encrypted && ephemeralPublicKey && tag;
  if (!isRead || ofKey.length === 0 || ofKey.length > signaturesMax) throw refused("form");
  return {
    intermediate: {
      signedKey: signedKey as string,
      // A malformed signature verifies nothing, so it is left out.
      signatures: ofKey.filter((one) => one !== undefined),
      publicKey,
      expiresAt,
    },
    signedMessage: token.signedMessage as string,
    signature,
    encrypted,
    ephemeralPublicKey,
    tag,
  };
}

// Google signs by each of its roots, of which there are two while one replaces the other.
const signaturesMax = 4;

/** Reports whether `signature` covers the parts, each behind its length in four octets. */
function isSigned(parts: readonly string[], publicKey: KeyObject, signature: Buffer): boolean {
  const bytes = parts.flatMap((part) => {
    const text = Buffer.from(part);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return [length, text];
  });
  return verify("sha256", Buffer.concat(bytes), publicKey, signature);
}

const keyBytes = 32;

/** Decrypts with the first key under which the tag is right. */
function decrypt({ ephemeralPublicKey, encrypted, tag }: Token, keys: readonly DecryptionKey[]): string {
  for (const { privateKey } of keys) {
    const shared = sharedSecret(privateKey, ephemeralPublicKey);
    const material = Buffer.concat([ephemeralPublicKey, shared]);
    const derived = Buffer.from(hkdfSync("sha256", material, Buffer.alloc(keyBytes), sender, 2 * keyBytes));
    const mac = createHmac("sha256", derived.subarray(keyBytes)).update(encrypted).digest();
    if (!equalInConstantTime(mac, tag)) continue;
    const decipher = createDecipheriv("aes-256-ctr", derived.subarray(0, keyBytes), Buffer.alloc(16));
    return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString();
  }
  throw refused("tag");
}

function sharedSecret(privateKey: KeyObject, ephemeralPublicKey: Buffer): Buffer {
  const { d = "" } = privateKey.export({ format: "jwk" });
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(Buffer.from(d, "base64url"));
  try {
    return ecdh.computeSecret(ephemeralPublicKey);
  } catch {
    throw refused("form");
  }
}

function readContent(text: string, now: Date): OpenedToken {
  const content = readObject(text);
  const details = membersOf(content?.paymentMethodDetails);
  const messageEndsAt = readMoment(content?.messageExpiration);
  const { messageId, paymentMethod } = content ?? {};
  if (typeof messageId !== "string" || messageId === "" || messageEndsAt === undefined) throw refused("content");
  const endsInMs = messageEndsAt.getTime() - now.getTime();
  if (endsInMs <= 0 || endsInMs > aheadMaxMs) throw refused("message_expiry");
  if (paymentMethod !== "CARD") throw refused("payment_method");
  const { authMethod, pan: number, cryptogram, eciIndicator: eci } = details ?? {};
  const expiry = { expMonth: Number(details?.expirationMonth), expYear: Number(details?.expirationYear) };
  if (!isNumber(number) || !isExpiry(expiry) || !isIndicator(eci)) throw refused("content");
  const card = { number, ...expiry, messageId, messageEndsAt };
  if (authMethod === "PAN_ONLY") return { credential: "PAN", ...card };
  if (authMethod !== "CRYPTOGRAM_3DS") throw refused("auth_method");
  if (!isCryptogram(cryptogram)) throw refused("content");
  return { credential: "NETWORK_TOKEN", ...card, cryptogram, eci };
}

function readPublicKey(value: unknown): KeyObject | undefined {
  const key = readBase64(value);
  try {
    const publicKey = key && createPublicKey({ key, format: "der", type: "spki" });
    return publicKey?.asymmetricKeyDetails?.namedCurve === "prime256v1" ? publicKey : undefined;
  } catch {
    return undefined;
  }
}

function isExpiry({ expMonth, expYear }: { expMonth: number; expYear: number }): boolean {
  const isMonth = Number.isInteger(expMonth) && expMonth >= 1 && expMonth <= 12;
  return isMonth && Number.isInteger(expYear) && expYear >= 2_000 && expYear < 2_100;
}

function refused(check: WalletCheck): RefusedToken {
  return new RefusedToken("google_pay", check);
}
