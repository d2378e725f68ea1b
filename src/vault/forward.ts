/** Sends a gateway request with the card filled in: checks everything, opens the card, sends once, masks the answer. */
import { credentialOf, type WalletName } from "../platform/card-token.ts";
import type { Database } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { isProbe, probeCardOf } from "../platform/gateway-facts.ts";
import type { GatewayHttp, GatewayReply } from "../platform/outbound-http.ts";
import { type Tracing, untraced } from "../platform/telemetry.ts";
import { beginningOf, type CardSummary, shownOf } from "./card.ts";
import { type TakenCard, takeCard } from "./card-store.ts";
import { emvNameOf } from "./cardholder-name.ts";
import { addressOf, type Destination, findDestination, takesNetworkTokens } from "./destinations.ts";
import { holdsPlaceholder, planFill } from "./fill-body.ts";
import { type MaskedCard, maskCard, maskCardBytes } from "./mask.ts";
import type { VaultEnvironment } from "./vault-config.ts";

export type Forwarder = {
  readonly database: Database;
  readonly destinations: readonly Destination[];
  readonly http: GatewayHttp;
  readonly tracing?: Tracing | undefined;
};

/** A gateway request as a connector wrote it, with placeholders for the card. */
export type ForwardRequest = {
  readonly connector: string;
  readonly operation: string;
  readonly token: string;
  readonly sessionId: string;
  readonly origin: string;
  readonly pathVariables: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly holder?: string | undefined;
  readonly timeoutMs: number;
};

/** The gateway's masked reply with its card, or why there was no card to send. */
export type ForwardResult =
  | {
      readonly type: "sent";
      readonly reply: GatewayReply;
      readonly shown: CardSummary & { readonly chosenBrand: string };
      readonly wallet: { readonly name: WalletName; readonly network: string } | undefined;
    }
  | { readonly type: "noCard"; readonly reason: Exclude<TakenCard["type"], "card"> | "other_credential" };

// Headers that the vault or the transport sets; from a caller they could change how the gateway reads the request.
const reservedHeader =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|proxy-.*)$/;
const headerName = /^[a-z0-9-]+$/;
const headerValue = /^[\x20-\x7e]*$/;

/**
 * Forwards a request. Throws `invalid_field` before a card is touched if the destination table does not allow it. Once
 * the card is used it returns a result: the use is spent, and the reply says how far the request got.
 */
export async function forward(
  forwarder: Forwarder,
  environment: VaultEnvironment,
  request: ForwardRequest,
): Promise<ForwardResult> {
  const destination = findDestination(forwarder.destinations, request);
  const url = addressOf(destination, {
    environment: environment.environment,
    origin: request.origin,
    pathVariables: request.pathVariables,
    sandboxHosts: environment.sandboxHosts ?? [],
  });
  const headers = { ...checkedHeaders(request.headers), "content-type": destination.contentType };
  const fill = planFill(destination, request.body);
  // The check reads the token's name, which its hash covers, and uses nothing up.
  if ((credentialOf(request.token) === "NETWORK_TOKEN") !== takesNetworkTokens(destination)) {
    return { type: "noCard", reason: "other_credential" };
  }

  const taken = await take(forwarder, environment, request);
  if (taken.type !== "card") return { type: "noCard", reason: taken.type };
  // The row of another wallet's card lacks a part that the gateway needs.
  if (destination.wallet !== undefined && destination.wallet !== taken.card.wallet?.name) {
    return { type: "noCard", reason: "other_credential" };
  }
  const card = { ...taken.card, holder: taken.card.holder ?? request.holder };

  const reply = await traceSend(forwarder, request, () =>
    forwarder.http.send({
      method: "POST",
      url,
      headers,
      body: fill(card),
      timeoutMs: request.timeoutMs,
    }),
  );
  const { wallet } = card;
  return {
    type: "sent",
    reply: maskedNames(reply, { ...card, cryptogram: wallet?.cryptogram }),
    shown: { ...shownOf(card), chosenBrand: card.brand ?? "" },
    wallet: wallet && { name: wallet.name, network: beginningOf(card).brand },
  };
}

/**
 * Traces the send: the gateway sees nothing of the trace, and the trace contains only the first digit of the gateway's
 * status.
 */
function traceSend(
  { tracing = untraced }: Forwarder,
  { connector, operation }: ForwardRequest,
  send: () => Promise<GatewayReply>,
): Promise<GatewayReply> {
  const of = { traceparent: tracing.outgoing() };
  const facts = () => ({ gateway: connector, operation });
  return tracing.span("vault.send", { of, facts, kind: "client" }, async (span) => {
    const reply = await send();
    span.set({ outcome: reply.type, httpStatus: reply.type === "answer" ? reply.status : undefined });
    return reply;
  });
}

async function take(
  { database }: Forwarder,
  environment: VaultEnvironment,
  request: ForwardRequest,
): Promise<TakenCard> {
  if (isProbe(request)) return { type: "card", card: probeCardOf(request.connector, new Date()) };
  const taken = await takeCard(database, environment, request.sessionId, request.token);
  // It may have been kept before this environment took test cards alone; a device's number is none in a demo's live.
  const isRefused =
    credentialOf(request.token) === "NETWORK_TOKEN"
      ? environment.environment === "live" && environment.testCards !== undefined
      : taken.type === "card" && environment.testCards?.has(taken.card.number) === false;
  return isRefused ? { type: "not_found" } : taken;
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lowerName = name.toLowerCase();
    // The destination sets the content type; a caller that names it as well is harmless.
    if (lowerName === "content-type") continue;
    const problem = problemOfHeader(lowerName, value);
    if (problem !== undefined) throw new DomainError("invalid_field", problem, { field: "headers" });
    checked[lowerName] = value;
  }
  return checked;
}

/** Returns why a header is not forwarded. Only a well-formed name is repeated, and never a value. */
function problemOfHeader(name: string, value: string): string | undefined {
  if (!headerName.test(name)) return "A header's name is malformed.";
  if (!headerValue.test(value)) return `The value of the header ${name} is malformed.`;
  if (reservedHeader.test(name)) return `The vault sets the header ${name} itself.`;
  return holdsPlaceholder(value) ? `The header ${name} must not contain a card's placeholder.` : undefined;
}

function masked(reply: GatewayReply, card: MaskedCard): GatewayReply {
  if (reply.type !== "answer") return reply;
  const headers = Object.entries(reply.headers).map(([name, value]) => [name, maskCard(value, card)]);
  return { ...reply, headers: Object.fromEntries(headers), body: maskCardBytes(reply.body, card) };
}

/** Masks the name as the card has it, and as a message of EMV 3DS carried it. */
function maskedNames(reply: GatewayReply, card: MaskedCard): GatewayReply {
  const { holder } = card;
  const once = masked(reply, card);
  const sent = emvNameOf(holder);
  return holder === undefined || sent === holder ? once : masked(once, { ...card, holder: sent });
}
