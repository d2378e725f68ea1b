/**
 * Opens a session at the external vault in which one page may tokenize a card, and returns the grant that the widget
 * needs.
 */
import { vaultGraceMs, vaultGrantTimeoutMs, vaultTextCharactersMax } from "../../limits.ts";
import { DomainError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { GatewayHttp } from "../../platform/outbound-http.ts";
import { readJsonObject } from "../../platform/outbound-http.ts";
import type { SaasVaultSettings } from "../vault-settings.ts";
import { callVault, errorCodeOf } from "./vault-api.ts";

/** A session at the vault: its id, and the grant with which the widget tokenizes a card. */
export type OpenedSession = { readonly vaultSession: string; readonly sdkAuthorization: string };

/**
 * Opens a session. Throws `unavailable` for anything but a grant; the reason is logged, by status and code. Requested
 * once: without an answer a session stays open at the vault, but its grant is lost.
 *
 * `storage_type: volatile` keeps the card for this payment only and needs no customer.
 * https://api-reference.hyperswitch.io/v2/payment-method-session/payment-method-session--create-v1 (2026)
 */
export async function openVaultSession(
  parts: { http: GatewayHttp; settings: SaasVaultSettings; log: Logger; nowMs: () => number },
  session: { expiresAt: Date },
): Promise<OpenedSession> {
  const { http, settings, log, nowMs } = parts;
  const expiresInMs = session.expiresAt.getTime() + vaultGraceMs - nowMs();
  const reply = await callVault(http, settings, {
    path: "/v1/payment-method-sessions",
    body: {
      storage_type: "volatile",
      expires_in: Math.max(1, Math.ceil(expiresInMs / 1_000)),
      ...(settings.customerId !== undefined && { customer_id: settings.customerId }),
    },
    timeoutMs: vaultGrantTimeoutMs,
  });
  if (reply.type !== "answer") {
    log.warn({ reason: reply.reason }, "the card vault did not open a session");
    throw unavailable();
  }
  const { id, sdk_authorization: grant } = readJsonObject(reply) ?? {};
  const isSession = typeof id === "string" && /^[\w-]{1,128}$/.test(id);
  const isGrant = typeof grant === "string" && grant !== "" && grant.length <= vaultTextCharactersMax;
  if (reply.status >= 200 && reply.status < 300 && isSession && isGrant) {
    return { vaultSession: id, sdkAuthorization: grant };
  }
  log.warn({ status: reply.status, code: errorCodeOf(reply) }, "the card vault did not open a session");
  throw unavailable();
}

function unavailable(): DomainError {
  return new DomainError(
    "unavailable",
    "The card vault did not open a session, so no payment session was created. Repeat the request with the same Idempotency-Key.",
  );
}
