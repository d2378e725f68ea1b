/**
 * Opens a session at the external vault in which one page may tokenize a card, and stores which of ours it belongs to for
 * as long as a card of it may be sent.
 */

import { vaultGraceMs, vaultGrantTimeoutMs, vaultSessionLifetimeMs, vaultTextCharactersMax } from "../../limits.ts";
import type { Database, Queryable, Statement } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { SessionId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import { type GatewayHttp, readJsonObject } from "../../platform/outbound-http.ts";
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

// Rows of sessions that were never created, or whose end was not reported, are deleted two at a time with each new one.
const insert: Statement = {
  name: "insert_vault_session",
  text: `
    WITH lapsed AS (
      DELETE FROM vault_session WHERE session_id IN (
        SELECT session_id FROM vault_session WHERE expires_at <= (SELECT app.clock())
        ORDER BY expires_at LIMIT 2 FOR UPDATE SKIP LOCKED))
    INSERT INTO vault_session (session_id, vault_session, expires_at)
    VALUES ($1, $2, app.clock() + $3 * interval '1 ms')`,
};

/** Stores the vault's session of a session that is about to be created. Durable on return. */
export async function recordVaultSession(
  database: Database,
  { sessionId, vaultSession }: { sessionId: SessionId; vaultSession: string },
): Promise<void> {
  await database.query(insert, [sessionId, vaultSession, vaultSessionLifetimeMs]);
}

const select: Statement = {
  name: "select_vault_session",
  text: `SELECT vault_session AS "vaultSession" FROM vault_session WHERE session_id = $1`,
};

/** Returns the vault's session; undefined for one that has ended, or was opened under another mode. */
export async function findVaultSession(queryable: Queryable, sessionId: SessionId): Promise<string | undefined> {
  const [row] = await queryable.query<{ vaultSession: string }>(select, [sessionId]);
  return row?.vaultSession;
}

const remove: Statement = { name: "delete_vault_session", text: "DELETE FROM vault_session WHERE session_id = $1" };

/** Deletes the vault's session: from now on no token is accepted for the session. */
export async function forgetVaultSession(database: Database, sessionId: SessionId): Promise<void> {
  await database.query(remove, [sessionId]);
}
