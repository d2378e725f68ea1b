/** Keys of the straight payment: each token that it issues is its text and an HMAC over it. */
import { createHmac, timingSafeEqual } from "node:crypto";

/** Returns the text with its MAC; `purpose` keeps a token from serving as another kind of token. */
export function signText(key: string, purpose: string, text: string): string {
  return `${text}.${macOf(key, purpose, text)}`;
}

/** Returns the text of a token that the key has signed for this purpose; undefined for any other token. */
export function verifyText(key: string, purpose: string, token: string): string | undefined {
  const dot = token.lastIndexOf(".");
  const text = token.slice(0, Math.max(dot, 0));
  const [given, right] = [Buffer.from(token.slice(dot + 1)), Buffer.from(macOf(key, purpose, text))];
  return given.length === right.length && timingSafeEqual(given, right) ? text : undefined;
}

export function bearerOf(authorization: string | undefined): string {
  return /^bearer (\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
}

function macOf(key: string, purpose: string, text: string): string {
  return createHmac("sha256", key).update(`${purpose}\n${text}`).digest("base64url");
}
