/** Asks the external vault for a session in which one page may tokenize a card: its grant is what the widget needs. */
import { vaultGraceMs, vaultGrantTimeoutMs, vaultTextCharactersMax } from "../../limits.ts";
import { DomainError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { GatewayHttp } from "../gateway-http.ts";
import { readJsonObject } from "../gateway-http.ts";
import type { SaasVaultSettings } from "../vault-settings.ts";
import { callVault, errorCodeOf } from "./vault-api.ts";

/** A session at the vault: the id that it is read by, and what the widget tokenizes a card with. */
export type OpenedSession = { readonly vaultSession: string; readonly sdkAuthorization: string };

/**
 * Opens it. Throws `unavailable` for everything else than a grant; why is logged, by status
 * and code. Asked for once: without its answer a session stays open at the vault, of which nobody has the grant.
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
    log.warn({ reason: reply.reason }, "the card vault opened no session");
    throw unavailable();
  }
  const { id, sdk_authorization: grant } = readJsonObject(reply) ?? {};
  const isSession = typeof id === "string" && /^[\w-]{1,128}$/.test(id);
  const isGrant = typeof grant === "string" && grant !== "" && grant.length <= vaultTextCharactersMax;
  if (reply.status >= 200 && reply.status < 300 && isSession && isGrant) {
    return { vaultSession: id, sdkAuthorization: grant };
  }
  log.warn({ status: reply.status, code: errorCodeOf(reply) }, "the card vault opened no session");
  throw unavailable();
}

function unavailable(): DomainError {
  return new DomainError(
    "unavailable",
    "The card vault opened no session, so none was created; repeat the request with the same Idempotency-Key.",
  );
}
