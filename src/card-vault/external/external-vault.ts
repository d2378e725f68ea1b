/** An external vault of Hyperswitch's kind as one environment's card vault: sessions by its API, cards by its proxy. */
import { vaultLateMs, vaultReadTimeoutMs } from "../../limits.ts";
import type { Database } from "../../platform/database.ts";
import { isProbe } from "../../platform/gateway-facts.ts";
import { decodeId, type SessionId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import type { GatewayHttp, GatewayReply } from "../../platform/outbound-http.ts";
import type { EnvironmentName } from "../../platform/signed-claims.ts";
import type {
  CardVault,
  Forwarding,
  ForwardReply,
  ForwardRequest,
  NewVaultSession,
  TokenCheck,
  VaultObject,
} from "../card-vault.ts";
import type { SaasVaultSettings } from "../vault-settings.ts";
import { findProxyDestination, type ProxyDestination, proxyAddressOf } from "./destinations.ts";
import { fillProbe, planProxyBody, proxyHeadersOf } from "./proxy-request.ts";
import {
  type CardReading,
  cardPathOf,
  none,
  readStoredCard,
  refuseForeignToken,
  type StoredCard,
  sessionPathOf,
} from "./read-card.ts";
import { readProxied } from "./read-proxied.ts";
import { callVault } from "./vault-api.ts";
import { findVaultSession, forgetVaultSession, openVaultSession, recordVaultSession } from "./vault-sessions.ts";

/** The vault's dependencies. The HTTP client belongs to the gateways and is closed by its owner. */
export type SaasVaultParts = {
  readonly database: Database;
  readonly http: GatewayHttp;
  readonly settings: SaasVaultSettings;
  readonly environment: EnvironmentName;
  /** Hosts, with port, that replace gateways in test. */
  readonly emulatorHosts: readonly string[];
  readonly log: Logger;
  readonly nowMs: () => number;
};

/** A card vault that stores only which of the vault's sessions belongs to which of ours. */
export class SaasVault implements CardVault {
  readonly origin: string;
  // JSON bodies with whole values only; the year has the four digits that its script was given.
  readonly forwarding: Forwarding = { features: new Set(), lateMs: vaultLateMs };
  readonly opensSessionByCall = true;
  readonly carriesMerchantKey = false;
  readonly #parts: SaasVaultParts;

  constructor(parts: SaasVaultParts) {
    this.#parts = parts;
    this.origin = new URL(parts.settings.sdkUrl).origin;
  }

  async openSession(session: NewVaultSession): Promise<VaultObject> {
    const { publishableKey, profileId, sdkUrl } = this.#parts.settings;
    const { vaultSession, sdkAuthorization } = await openVaultSession(this.#parts, session);
    await recordVaultSession(this.#parts.database, { sessionId: session.sessionId, vaultSession });
    return { mode: "saas", publishableKey, profileId, sdkAuthorization, sdkUrl };
  }

  async forward(request: ForwardRequest): Promise<ForwardReply> {
    const startedMs = performance.now();
    const destination = findProxyDestination(request);
    const url = destination && proxyAddressOf(destination, { ...this.#parts, ...request });
    const headers = proxyHeadersOf(request.headers);
    if (destination === undefined || url === undefined || headers === undefined) {
      return refused("this request cannot be sent through the external vault");
    }

    if (isProbe({ token: request.token.expose(), sessionId: request.sessionId })) {
      return this.#sendProbe({ ...request, destination, url, headers });
    }
    const reading = await this.#readCard(request);
    if (reading.type === "none") return { reply: reading.reply };
    const { card } = reading;
    const body = planProxyBody(destination, request.body, card.parts, request.holder);
    if (body.type === "refused") return refused(body.reason);

    const timeoutMs = Math.floor(request.timeoutMs - (performance.now() - startedMs));
    if (timeoutMs <= 0) return { reply: noTimeLeft };
    const reply = await this.#send({ card, url, headers, body: body.value, timeoutMs, signal: request.signal });
    return { reply: readProxied(reply, card.shown?.last4), card: card.shown };
  }

  /** Makes no call: the vault is far away, and each attempt reads the token before anything is sent. */
  async checkToken(): Promise<TokenCheck> {
    return { state: "unknown" };
  }

  /** Stops accepting tokens for the session. The vault itself drops a volatile card, for which it has no call. */
  forget(sessionId: SessionId): void {
    forgetVaultSession(this.#parts.database, sessionId).catch((error: unknown) =>
      this.#parts.log.warn({ err: error, sessionId }, "a session of the card vault was not forgotten"),
    );
  }

  close(): void {}

  /**
   * Sends a test call to the gateway directly, with a number that belongs to no customer, because the vault's proxy
   * sends only stored cards.
   */
  async #sendProbe(
    request: ForwardRequest & { destination: ProxyDestination; url: string; headers: Readonly<Record<string, string>> },
  ): Promise<ForwardReply> {
    const { destination, url, headers, timeoutMs, signal } = request;
    const body = planProxyBody(destination, request.body, { cvc: true, holder: true });
    if (body.type === "refused") return refused(body.reason);
    const filled = fillProbe(body.value, request.connector, new Date(this.#parts.nowMs()));
    return { reply: await this.#parts.http.send({ method: "POST", url, headers, body: filled, timeoutMs, signal }) };
  }

  /** Returns the card of the token, if it was made in this session. */
  async #readCard({ token, sessionId, timeoutMs, signal }: ForwardRequest): Promise<CardReading> {
    const { http, settings } = this.#parts;
    const cardPath = cardPathOf(token.expose());
    const record = await this.#findRecord(sessionId);
    if (record === undefined) return none("vault_unavailable", "the session's record could not be read");
    const { vaultSession } = record;
    if (cardPath === undefined || vaultSession === undefined) {
      return none("token_unusable", "the token does not belong to the external vault, or its session is over");
    }
    const limitMs = Math.min(vaultReadTimeoutMs, timeoutMs);
    const [ofSession, ofCard] = await Promise.all(
      [sessionPathOf(vaultSession), cardPath].map((path) =>
        callVault(http, settings, { path, timeoutMs: limitMs, signal }),
      ),
    );
    return refuseForeignToken(ofSession!, token.expose()) ?? readStoredCard(ofCard!);
  }

  /** Returns undefined if the database does not answer: a forward never throws, and nothing was sent. */
  async #findRecord(sessionId: string): Promise<{ vaultSession: string | undefined } | undefined> {
    const { database, log } = this.#parts;
    try {
      return { vaultSession: await findVaultSession(database, decodeId("ps", sessionId) ?? "") };
    } catch (error) {
      log.warn({ err: error, sessionId }, "the session's record of the card vault could not be read");
      return undefined;
    }
  }

  #send(proxied: {
    card: StoredCard;
    url: string;
    headers: Readonly<Record<string, string>>;
    body: unknown;
    timeoutMs: number;
    signal: AbortSignal | undefined;
  }) {
    const { http, settings } = this.#parts;
    const { card, url, headers, body, timeoutMs, signal } = proxied;
    return callVault(http, settings, {
      path: "/proxy",
      body: {
        request_body: body,
        destination_url: url,
        headers,
        method: "POST",
        token: card.methodId,
        token_type: card.tokenType,
      },
      timeoutMs,
      signal,
    });
  }
}

function refused(reason: string): ForwardReply {
  return { reply: { type: "neverSent", cause: "request_refused", reason } };
}

const noTimeLeft: GatewayReply = {
  type: "neverSent",
  cause: "vault_unavailable",
  reason: "the vault used all of the attempt's time",
};
