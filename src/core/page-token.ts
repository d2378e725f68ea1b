/**
 * Signed positions in a list. A token is valid only for the merchant and the filters it was made for, and only for a
 * day.
 */
import { pageTokenLifetimeMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { equalInConstantTime, hmacSha256, type Secret } from "../platform/secrets.ts";

/** The first key signs; all of them verify, so a token stays valid when its key is rotated. */
export type PageTokenKeys = readonly [Secret, ...Secret[]];

// A character that occurs in no id.
const separator = " ";

/**
 * Signs a token for the page after the row with this id, which may have any shape. `scope` is everything that a later
 * call has to repeat.
 */
export function signPageToken([key]: PageTokenKeys, options: { scope: string; lastId: string; now: Date }): string {
  const content = `${options.lastId}${separator}${(options.now.getTime() + pageTokenLifetimeMs).toString(36)}`;
  const signature = signatureOf(key, content, options.scope);
  return `${Buffer.from(content).toString("base64url")}.${signature.toString("base64url")}`;
}

/**
 * Returns the id inside a token. Throws `invalid_parameter` when the token is not ours, has expired or belongs to
 * another list.
 */
export function verifyPageToken(keys: PageTokenKeys, options: { scope: string; token: string; now: Date }): string {
  const [encoded = "", signature = ""] = options.token.split(".");
  const content = Buffer.from(encoded, "base64url").toString();
  const given = Buffer.from(signature, "base64url");
  const genuine = keys.some((key) => equalInConstantTime(signatureOf(key, content, options.scope), given));
  const [lastId = "", expiry = ""] = content.split(separator);
  if (!genuine || Number.parseInt(expiry, 36) < options.now.getTime()) {
    throw new DomainError(
      "invalid_parameter",
      "pageToken does not belong to this list or is older than a day; start again without it.",
      { field: "pageToken" },
    );
  }
  return lastId;
}

function signatureOf(key: Secret, content: string, scope: string): Buffer {
  return hmacSha256(Buffer.from(key.expose()), `${content}\n${scope}`);
}
