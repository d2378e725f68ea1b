/** Signed positions in a list: a token goes only with the merchant and the filters it was made for, and only for a day. */
import { pageTokenLifetimeMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { equalInConstantTime, hmacSha256, type Secret } from "../platform/secrets.ts";

// In no id.
const separator = " ";

/** A token for the page after the row with this id, of any shape. `scope` is everything that a later call has to repeat. */
export function signPageToken(key: Secret, options: { scope: string; lastId: string; now: Date }): string {
  const content = `${options.lastId}${separator}${(options.now.getTime() + pageTokenLifetimeMs).toString(36)}`;
  const signature = hmacSha256(Buffer.from(key.expose()), `${content}\n${options.scope}`);
  return `${Buffer.from(content).toString("base64url")}.${signature.toString("base64url")}`;
}

/** The id inside a token. Throws `invalid_parameter` when it is not ours, out of date, or of another list. */
export function verifyPageToken(key: Secret, options: { scope: string; token: string; now: Date }): string {
  const [encoded = "", signature = ""] = options.token.split(".");
  const content = Buffer.from(encoded, "base64url").toString();
  const expected = hmacSha256(Buffer.from(key.expose()), `${content}\n${options.scope}`);
  const genuine = equalInConstantTime(expected, Buffer.from(signature, "base64url"));
  const [lastId = "", expiry = ""] = content.split(separator);
  if (!genuine || Number.parseInt(expiry, 36) < options.now.getTime()) {
    throw new DomainError(
      "invalid_parameter",
      "pageToken is not one that this list gave, or is older than a day; start again without it.",
      { field: "pageToken" },
    );
  }
  return lastId;
}
