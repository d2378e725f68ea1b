/** An external vault of Hyperswitch's kind as one environment's card vault: sessions by its API, cards by its proxy. */
import { vaultLateMs, vaultReadTimeoutMs } from "../../limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { ForwardReply, ForwardRequest } from "../card-forwarder.ts";
import type { CardVault, Forwarding, NewVaultSession, VaultObject } from "../card-vault.ts";
import type { GatewayHttp } from "../gateway-http.ts";
import type { SaasVaultSettings } from "../vault-settings.ts";
import { fillPath, findProxyDestination, type ProxyDestination } from "./destinations.ts";
import { openVaultSession } from "./open-session.ts";
import { planProxyBody } from "./proxy-body.ts";
import { type CardReading, cardPathOf, none, readStoredCard, type StoredCard } from "./read-card.ts";
import { readProxied } from "./read-proxied.ts";
import { callVault } from "./vault-api.ts";

/** What the vault is built from. The HTTP client is the gateways', and is closed by whoever opened it. */
export type SaasVaultParts = {
  readonly http: GatewayHttp;
  readonly settings: SaasVaultSettings;
  readonly log: Logger;
  readonly nowMs: () => number;
};

/** Nothing of it lasts here: the vault is asked each time. */
export class SaasVault implements CardVault {
  readonly origin: string;
  // JSON bodies, and in them whole values only; the year is the one that its script was given, in four digits.
  readonly forwarding: Forwarding = { features: new Set(), lateMs: vaultLateMs };
  readonly describesByCall = true;
  readonly #parts: SaasVaultParts;

  constructor(parts: SaasVaultParts) {
    this.#parts = parts;
    this.origin = new URL(parts.settings.sdkUrl).origin;
  }

  async describe(session: NewVaultSession): Promise<VaultObject> {
    const { publishableKey, profileId, sdkUrl } = this.#parts.settings;
    const sdkAuthorization = await openVaultSession(this.#parts, session);
    return { mode: "saas", publishableKey, profileId, sdkAuthorization, sdkUrl };
  }

  async forward(request: ForwardRequest): Promise<ForwardReply> {
    const startedMs = this.#parts.nowMs();
    const destination = findProxyDestination(request);
    const path = destination && fillPath(destination.path, request.pathVariables);
    if (destination === undefined || path === undefined) return refused("the external vault is sent no such request");

    const reading = await this.#readCard(request);
    if (reading.type === "none") return { reply: reading.reply };
    const { card } = reading;
    const body = planProxyBody(destination, request.body, card.parts);
    if (body.type === "refused") return refused(body.reason);

    const timeoutMs = Math.max(1, request.timeoutMs - (this.#parts.nowMs() - startedMs));
    const reply = await this.#send(request, {
      card,
      destination,
      url: request.origin + path,
      body: body.value,
      timeoutMs,
    });
    return { reply: readProxied(reply, card.shown?.last4), card: card.shown };
  }

  /** Nothing to ask for: a volatile session's card is kept for a payment and then dropped by the vault itself. */
  forget(): void {}

  close(): void {}

  async #readCard({ token, timeoutMs, signal }: ForwardRequest): Promise<CardReading> {
    const path = cardPathOf(token.expose());
    if (path === undefined) return none("token_unusable", "the token is none of the external vault's");
    const { http, settings } = this.#parts;
    const limitMs = Math.min(vaultReadTimeoutMs, timeoutMs);
    return readStoredCard(await callVault(http, settings, { path, timeoutMs: limitMs, signal }));
  }

  #send(
    { headers, signal }: ForwardRequest,
    proxied: { card: StoredCard; destination: ProxyDestination; url: string; body: unknown; timeoutMs: number },
  ) {
    const { http, settings } = this.#parts;
    const { card, url, body, timeoutMs } = proxied;
    return callVault(http, settings, {
      path: "/proxy",
      body: {
        request_body: body,
        destination_url: url,
        headers: { ...headers, "Content-Type": "application/json" },
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
