/** Reads what wallets send, strictly: one spelling of each value counts. */
import type { KeyObject } from "node:crypto";
import type { WalletCredential, WalletName } from "../../platform/card-token.ts";
import type { WalletCheck } from "../../platform/wallets.ts";

/** The content of a wallet's token, once every check has passed. */
export type OpenedToken = {
  readonly credential: WalletCredential;
  readonly number: string;
  readonly expMonth: number;
  readonly expYear: number;
  /** The cryptogram of a NETWORK_TOKEN: base64, which a network accepts once. */
  readonly cryptogram?: string | undefined;
  readonly eci?: string | undefined;
  /** The wallet's own id of the message, which is accepted once. */
  readonly messageId: string;
  /** The time from which the message is refused for its age. */
  readonly messageEndsAt: Date;
};

/** A key that may decrypt a token. */
export type DecryptionKey = {
  /** Apple's merchant identifier, or Google's merchant id. */
  readonly recipient: string;
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly privateKey: KeyObject;
};

/**
 * A token that fails a check: the log names the check, and the page gets only the answer that the token is not valid.
 */
export class RefusedToken extends Error {
  override readonly name = "RefusedToken";
  readonly wallet: WalletName;
  readonly check: WalletCheck;

  constructor(wallet: WalletName, check: WalletCheck) {
    super(`a token of ${wallet} fails the check ${check}`);
    this.wallet = wallet;
    this.check = check;
  }
}

/** Returns the members of a JSON object in text; undefined for anything else. */
export function readObject(text: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return membersOf(value);
  } catch {
    return undefined;
  }
}

export function membersOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
}

/** Returns the bytes of base64 in its one form; undefined for anything else. */
export function readBase64(text: unknown): Buffer | undefined {
  if (typeof text !== "string" || text === "") return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

/** Returns the bytes of a SHA-256 in lower-case hexadecimal; undefined for anything else. */
export function readHash(text: unknown): Buffer | undefined {
  return typeof text === "string" && /^[0-9a-f]{64}$/.test(text) ? Buffer.from(text, "hex") : undefined;
}

/** Returns a moment that is given in milliseconds, in text. */
export function readMoment(value: unknown): Date | undefined {
  return typeof value === "string" && /^[0-9]{13}$/.test(value) ? new Date(Number(value)) : undefined;
}

/** Reports whether this is a number that a card or a device may have. A signature vouches for its digits. */
export function isNumber(value: unknown): value is string {
  return typeof value === "string" && /^[0-9]{12,19}$/.test(value);
}

// Networks use 20 to 28 bytes.
const cryptogramBytesMax = 64;

/** Reports whether this is a cryptogram: base64 of some bytes. */
export function isCryptogram(value: unknown): value is string {
  const bytes = readBase64(value);
  return bytes !== undefined && bytes.length >= 8 && bytes.length <= cryptogramBytesMax;
}

/** Reports whether this is an indicator of electronic commerce, which not every network gives. */
export function isIndicator(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === "string" && /^[0-9]{1,2}$/.test(value));
}
