/** Sends a gateway request with the card filled in: check everything, take the card, send once, mask the answer. */
import type { Database } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type Tracing, untraced } from "../platform/telemetry.ts";
import { type CardShown, shownOf } from "./card.ts";
import { type TakenCard, takeCard } from "./card-store.ts";
import { addressOf, type Destination, findDestination } from "./destinations.ts";
import { holdsPlaceholder, planFill } from "./fill-body.ts";
import type { GatewayCaller, GatewayReply } from "./gateway-call.ts";
import { type MaskedCard, maskCard, maskCardBytes } from "./mask.ts";
import { isProbe, probeCard } from "./probe-card.ts";
import type { VaultEnvironment } from "./vault-config.ts";

/** What forwarding a card needs. */
export type Forwarder = {
  readonly database: Database;
  readonly destinations: readonly Destination[];
  readonly gatewayCaller: GatewayCaller;
  readonly sandboxHosts: readonly string[];
  readonly tracing?: Tracing | undefined;
};

/** A gateway request as a connector wrote it, with placeholders where the card belongs. */
export type ForwardRequest = {
  readonly connector: string;
  readonly operation: string;
  readonly token: string;
  readonly sessionId: string;
  readonly origin: string;
  readonly pathVariables: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
};

/** The gateway's masked reply with the card it was about, or why there was no card to send. */
export type ForwardResult =
  | { readonly type: "sent"; readonly reply: GatewayReply; readonly shown: CardShown }
  | { readonly type: "noCard"; readonly because: Exclude<TakenCard["type"], "card"> };

// Headers that the vault or the transport sets; from anybody else they could change what the gateway reads.
const reservedHeader =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|proxy-.*)$/;
const headerName = /^[a-z0-9-]+$/;
const headerValue = /^[\x20-\x7e]*$/;

/**
 * Throws `invalid_field` before a card is touched when the request is not one the destination table allows.
 * Once the card is taken it answers: the use is spent, and the reply says how far the request got.
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
    sandboxHosts: forwarder.sandboxHosts,
  });
  const headers = { ...checkedHeaders(request.headers), "content-type": destination.contentType };
  const fill = planFill(destination, request.body);

  const taken = await take(forwarder, environment, request);
  if (taken.type !== "card") return { type: "noCard", because: taken.type };

  const reply = await traceSend(forwarder, request, () =>
    forwarder.gatewayCaller.send({
      method: destination.method,
      url,
      headers,
      body: fill(taken.card),
      timeoutMs: request.timeoutMs,
    }),
  );
  return { type: "sent", reply: masked(reply, taken.card), shown: shownOf(taken.card) };
}

/** The gateway sees nothing of the trace, and the trace only how the gateway's answer began. */
function traceSend(
  { tracing = untraced }: Forwarder,
  { connector, operation }: ForwardRequest,
  send: () => Promise<GatewayReply>,
): Promise<GatewayReply> {
  const of = { traceparent: tracing.outgoing() };
  const facts = () => ({ gateway: connector, operation });
  return tracing.span("vault.send", { of, facts, kind: "client" }, async (span) => {
    const reply = await send();
    span.tell({ outcome: reply.type, httpStatus: reply.type === "answer" ? reply.status : undefined });
    return reply;
  });
}

async function take(
  { database }: Forwarder,
  environment: VaultEnvironment,
  request: ForwardRequest,
): Promise<TakenCard> {
  if (isProbe(request)) return { type: "card", card: probeCard(new Date()) };
  return takeCard(database, environment, request.sessionId, request.token);
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lowerName = name.toLowerCase();
    // The content type is the destination's; a caller that names it as well is harmless.
    if (lowerName === "content-type") continue;
    const wellFormed = headerName.test(lowerName) && headerValue.test(value);
    if (!wellFormed || reservedHeader.test(lowerName) || holdsPlaceholder(value)) {
      throw new DomainError("invalid_field", "The vault sends no such header.", { field: "headers" });
    }
    checked[lowerName] = value;
  }
  return checked;
}

function masked(reply: GatewayReply, card: MaskedCard): GatewayReply {
  if (reply.type !== "answer") return reply;
  const headers = Object.entries(reply.headers).map(([name, value]) => [name, maskCard(value, card)]);
  return { ...reply, headers: Object.fromEntries(headers), body: maskCardBytes(reply.body, card) };
}
