/**
 * Opens a sheet of Apple Pay: asks Apple, with the merchant's identity, for a session. The page names the host, so only Apple's own
 * hosts count, over public addresses.
 */
import { Agent, request } from "undici";
import { loadWallets, unsealIdentity } from "../../accounts/merchant-wallets.ts";
import type { Core } from "../../core/core.ts";
import { guardedConnector } from "../../events/egress-connect.ts";
import { createFindAddresses } from "../../events/find-addresses.ts";
import { DomainError } from "../../platform/errors.ts";
import type { MerchantId, SessionId } from "../../platform/ids.ts";
import { parseJsonObject } from "../../platform/outbound-http.ts";
import { appleHostOf } from "./apple-host.ts";

const path = "/paymentservices/paymentSession";

/** Sheets of one payment session: a customer who opens and closes one meets no limit. */
const sessionsMax = 10;
// The sheet shows nothing but a spinner meanwhile.
const timeoutMs = 5_000;
const answerBytesMax = 64 * 1024;
// The longest that the sheet shows.
const nameCharactersMax = 64;

type AppleParts = {
  /** The origin of the sandbox, which replaces Apple in test alone. */
  readonly sandboxOrigin: string | undefined;
  /** Connects to Apple, only over public addresses by default. */
  readonly connectorOf?: typeof guardedConnector | undefined;
  /** Records how long Apple took. Must not throw. */
  readonly observe?: ((environment: "test" | "live", end: AppleEnd, durationMs: number) => void) | undefined;
};

type AppleEnd = "given" | "refused" | "no_answer";

type Asked = {
  readonly sessionId: SessionId;
  readonly merchantId: MerchantId;
  readonly merchantName: string;
  readonly validationUrl: string;
  /** The origin of the page, which is registered. */
  readonly origin: string;
};

/** Counts sheets in this process: the oldest sessions are forgotten first. */
export class AppleSessions {
  readonly #parts: AppleParts;
  readonly #counts = new Map<SessionId, number>();

  constructor(parts: AppleParts) {
    this.#parts = parts;
  }

  /**
   * Returns Apple's session as JSON. Throws `invalid_field` for an address that is not Apple's, `rate_limited`,
   * `wallet_not_enabled` for a merchant without an identity, and `wallet_unavailable`.
   */
  async start({ core, name }: { readonly core: Core; readonly name: "test" | "live" }, asked: Asked): Promise<string> {
    const { sandboxOrigin } = this.#parts;
    const { merchantId, validationUrl } = asked;
    const emulator = name === "test" && sandboxOrigin !== undefined && originOf(validationUrl) === sandboxOrigin;
    const origin = emulator ? sandboxOrigin : `https://${appleHostOf(validationUrl)}`;
    this.#count(asked.sessionId);
    const { wallets, setUp } = await loadWallets(core.database, merchantId);
    const merchantIdentifier = wallets.apple?.merchantIdentifier;
    const identity = setUp.identities?.find(({ certificate }) => certificate !== undefined);
    if (merchantIdentifier === undefined || (!emulator && identity === undefined)) {
      throw new DomainError("wallet_not_enabled", "The merchant takes no payments by Apple Pay.");
    }
    const { connectorOf = guardedConnector } = this.#parts;
    const connect = emulator
      ? undefined
      : connectorOf({
          openings: [],
          findAddresses: createFindAddresses(),
          timeoutMs,
          tls: { cert: identity!.certificate!, key: unsealIdentity(core.sealing, merchantId, identity!).expose() },
        });
    const agent = new Agent({ allowH2: false, maxResponseSize: answerBytesMax, ...(connect && { connect }) });
    const startedAt = performance.now();
    let end: AppleEnd = "no_answer";
    try {
      const answer = await request(`${origin}${path}`, {
        method: "POST",
        dispatcher: agent,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          merchantIdentifier,
          displayName: asked.merchantName.slice(0, nameCharactersMax),
          initiative: "web",
          initiativeContext: new URL(asked.origin).hostname,
        }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const body = await answer.body.bytes();
      end = answer.statusCode === 200 && parseJsonObject(body) ? "given" : "refused";
      if (end === "given") return Buffer.from(body).toString();
      core.log.warn({ status: answer.statusCode }, "Apple gave no session for a sheet");
    } catch (error) {
      core.log.warn({ reason: (error as Error).name }, "Apple gave no session for a sheet");
    } finally {
      this.#parts.observe?.(name, end, performance.now() - startedAt);
      await agent.destroy();
    }
    throw new DomainError("wallet_unavailable", "Apple Pay cannot be used at the moment.");
  }

  #count(sessionId: SessionId): void {
    const count = this.#counts.get(sessionId) ?? 0;
    if (count >= sessionsMax) {
      throw new DomainError("rate_limited", "The sheet of Apple Pay was opened too often. Create a new session.");
    }
    const [oldest] = this.#counts.size < countedMax || count > 0 ? [] : this.#counts.keys();
    if (oldest !== undefined) this.#counts.delete(oldest);
    this.#counts.set(sessionId, count + 1);
  }
}

const countedMax = 4_096;

function originOf(text: string): string | undefined {
  return URL.parse(text)?.origin;
}
