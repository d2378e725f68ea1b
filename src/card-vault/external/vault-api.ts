/** Calls the external vault's API, and names the errors that it documents. Knows neither sessions nor cards. */

import { type GatewayHttp, type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { Secret } from "../../platform/secrets.ts";

export type VaultApiAccess = { readonly apiBase: string; readonly apiKey: Secret; readonly profileId: string };

export type VaultCall = {
  readonly path: string;
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** Sends once: POST with a body, GET without. Never throws. */
export function callVault(
  http: GatewayHttp,
  { apiBase, apiKey, profileId }: VaultApiAccess,
  call: VaultCall,
): Promise<GatewayReply> {
  const { path, body, timeoutMs, signal } = call;
  return http.send({
    method: body === undefined ? "GET" : "POST",
    url: apiBase + path,
    // https://api-reference.hyperswitch.io/v2/proxy/proxy-v1 (2026): "Format: api-key=<api_key>", and X-Profile-Id.
    headers: {
      ...call.headers,
      accept: "application/json",
      authorization: `api-key=${apiKey.expose()}`,
      "x-profile-id": profileId,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    body: body && JSON.stringify(body),
    timeoutMs,
    signal,
  });
}

type Answer = Extract<GatewayReply, { type: "answer" }>;

/**
 * Returns the code of an error in the vault's own form, such as `IR_01`; undefined for anything else, which may come
 * from any intermediary. https://api-reference.hyperswitch.io/essentials/error_codes (2026)
 */
export function errorCodeOf(answer: Answer): string | undefined {
  const error = readJsonObject(answer)?.error;
  if (!isObject(error) || typeof error.code !== "string") return undefined;
  return /^[A-Z]{2}_[0-9]{2}$/.test(error.code) ? error.code : undefined;
}

/** The subject of the vault's refusal before it did anything. */
export type EarlyRefusal = "our_access" | "the_card" | "the_request";

/**
 * Returns why nothing was done, by the same page; undefined if that is not certain. IR codes are about the request
 * itself; HE_02 and HE_04 say that there is no such object. HE_00 comes with 422 as well as 500 and promises nothing.
 */
export function earlyRefusalOf(answer: Answer): EarlyRefusal | undefined {
  const code = errorCodeOf(answer) ?? "";
  switch (answer.status) {
    case 400:
      return code.startsWith("IR_") ? "the_request" : undefined;
    case 401:
    case 403:
    case 405:
      return code.startsWith("IR_") ? "our_access" : undefined;
    case 404:
      // IR_02: "Unrecognized request URL".
      return code === "IR_02" ? "our_access" : /^HE_0[24]$/.test(code) ? "the_card" : undefined;
    case 422:
      return code.startsWith("IR_") ? "the_card" : undefined;
    default:
      return undefined;
  }
}
