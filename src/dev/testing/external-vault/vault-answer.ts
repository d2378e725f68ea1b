/** The emulator's answers in the vault's own form, and its authentication of callers. */
import type { IncomingHttpHeaders } from "node:http";
import type { VaultEmulatorOptions } from "./orders.ts";

export type VaultAnswer = { readonly status: number; readonly body: unknown };

export type Json = Readonly<Record<string, unknown>>;

/** An error as the vault words it (https://api-reference.hyperswitch.io/essentials/error_codes, 2026). */
export function refusal(status: number, code: string, message: string): VaultAnswer {
  return { status, body: { error: { type: status >= 500 ? "api" : "invalid_request", message, code } } };
}

/** The vault's errors for its own failure, and for a destination that it could not call. */
export const brokenInside = refusal(500, "HE_00", "Something went wrong");

/** Undefined for a caller with the account's API key and profile; otherwise the refusal. */
export function refuseStranger(headers: IncomingHttpHeaders, known: VaultEmulatorOptions): VaultAnswer | undefined {
  const isKnown = headers.authorization === `api-key=${known.apiKey}`;
  if (isKnown && headers["x-profile-id"] === known.profileId) return undefined;
  return refusal(401, "IR_01", "API key not provided or invalid API key used");
}

/** The JSON object in a body; undefined for anything else. */
export function objectIn(body: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
