/**
 * THREEDSECUREIO: the public API of 3dsecure.io's 3DS server, and SANDBOX_3DS, which has the same API at another
 * address. Requests with the card go through the vault; answers.ts interprets the answers.
 */
import { type CardForwarder, type ForwardReply, probe } from "../../card-vault/card-vault.ts";
import type { GatewayHttp } from "../../platform/outbound-http.ts";
import { Secret } from "../../platform/secrets.ts";
import type {
  AuthenticationProvider,
  AuthenticationRequest,
  Prepared,
  ProviderAnswer,
  ProviderName,
  ProviderResult,
} from "../authentication-provider.ts";
import type { CardOfRequest, CredentialField, GatewayCall, VerifyRow } from "../connector.ts";
import { type Kept, readAres, readKept, readPostauth, readPreauth } from "./answers.ts";
import { areqOf, challengeIndicatorOf } from "./areq.ts";

export type ProviderParts = {
  readonly gateway: ProviderName;
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  /** Origin of the 3DS server, without a path. */
  readonly origin: string;
};

/** The origins of 3dsecure.io (https://docs.3dsecure.io/3dsv2/server-information.html, 2026). */
export const threeDSecureIoOrigins = {
  test: "https://service.sandbox.3dsecure.io",
  live: "https://service.3dsecure.io",
} as const;

/** A 3DS server that takes EMV messages as JSON. */
export class ThreeDSecureIoProvider implements AuthenticationProvider {
  readonly gateway: ProviderName;
  readonly forwardFeatures = ["composed_value", "two_digit_year"] as const;
  readonly credentialFields: readonly CredentialField[];
  readonly #parts: ProviderParts;

  constructor(parts: ProviderParts) {
    this.#parts = parts;
    this.gateway = parts.gateway;
    this.credentialFields = [parts.gateway === "SANDBOX_3DS" ? sandboxKey : serverKey];
  }

  async prepare(call: GatewayCall, card: CardOfRequest & { readonly returnUrl: string }): Promise<Prepared> {
    const answered = await this.#forward(call, card, "preauth", { acctNumber: "{{card.number}}" });
    const read = readPreauth(answered.reply);
    if (read.type === "unavailable") return read;
    const { kept, methodUrl } = read;
    const { threeDSServerTransID } = kept;
    const data = { threeDSServerTransID, threeDSMethodNotificationURL: card.returnUrl };
    return {
      type: "ready",
      keep: keepOf(kept),
      network: answered.card?.brand,
      ...(methodUrl !== undefined && {
        method: { url: methodUrl, method: "POST", fields: { threeDSMethodData: encoded(data) } },
      }),
    };
  }

  async authenticate(call: GatewayCall, request: AuthenticationRequest): Promise<ProviderAnswer> {
    const kept = readKept(request.keep.expose());
    const { threeDSServerTransID, messageVersion } = kept;
    const challengeIndicator = challengeIndicatorOf(request);
    const areq = areqOf(request, { threeDSServerTransID, messageVersion });
    const { reply } = await this.#forward(call, request, "auth", areq);
    const read = readAres(reply, kept, challengeIndicator);
    if (read.type !== "challenge") return read;
    const creq = {
      messageType: "CReq",
      messageVersion,
      threeDSServerTransID,
      acsTransID: read.acsTransID,
      // The bank's page takes the size of the frame that it is in.
      challengeWindowSize: "05",
    };
    return {
      type: "challenge",
      action: { url: read.acsUrl, method: "POST", fields: { creq: encoded(creq) } },
      keep: keepOf(read.kept),
      message: read.message,
    };
  }

  async result({ credentials, timeoutMs, signal }: GatewayCall, keep: Secret): Promise<ProviderResult> {
    const kept = readKept(keep.expose());
    const { http, origin } = this.#parts;
    const reply = await http.send({
      method: "POST",
      url: `${origin}/postauth`,
      headers: { ...headersOf({ credentials }), "content-type": "application/json; charset=utf-8" },
      body: JSON.stringify({ threeDSServerTransID: kept.threeDSServerTransID }),
      timeoutMs,
      signal,
    });
    return readPostauth(reply, kept) ?? { type: "waiting" };
  }

  async verify(call: GatewayCall): Promise<readonly VerifyRow[]> {
    const { reply } = await this.#forward(call, probe, "preauth", { acctNumber: "{{card.number}}" });
    const isAnswered = reply.type === "answer" && (reply.status === 200 || reply.status === 400);
    const detail =
      reply.type !== "answer"
        ? `The server did not answer: ${reply.reason}.`
        : reply.status === 401
          ? "The server does not know this key."
          : `The server refused a test card (HTTP ${reply.status}).`;
    return [
      {
        check: "credentials",
        state: isAnswered ? "passed" : "failed",
        required: true,
        detail: isAnswered ? "The server answered for a test card that the vault sent." : detail,
      },
    ];
  }

  #forward(call: GatewayCall, card: CardOfRequest, operation: string, body: object): Promise<ForwardReply> {
    const { forwarder, origin } = this.#parts;
    return forwarder.forward({
      connector: this.gateway,
      operation,
      token: card.vaultToken,
      sessionId: card.sessionId,
      origin,
      pathVariables: {},
      headers: headersOf(call),
      body: JSON.stringify(body),
      holder: card.customerName,
      timeoutMs: call.timeoutMs,
      signal: call.signal,
    });
  }
}

const serverKey: CredentialField = {
  name: "apiKey",
  label: "API key",
  shape: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  hint: "The key of your merchant account at 3dsecure.io: a UUID.",
};
const sandboxKey: CredentialField = {
  name: "apiKey",
  label: "API key",
  shape: /^sandbox_(test|live)_[a-z0-9-]{1,40}$/,
  hint: "Any name will do: sandbox_test_ followed by 1 to 40 lower-case letters, digits and hyphens.",
};

function headersOf({ credentials }: Pick<GatewayCall, "credentials">): Record<string, string> {
  return { apikey: credentials.apiKey?.expose() ?? "" };
}

function keepOf(kept: Kept): Secret {
  return new Secret(JSON.stringify(kept));
}

/** Returns a message as a form carries it: Base64-URL without padding. */
function encoded(message: object): string {
  return Buffer.from(JSON.stringify(message)).toString("base64url");
}
