/** The flow's calls to gateways: each bound to its attempt's connection, credentials, deadline and idempotency key. */
import type {
  AttemptAtGateway,
  AuthorizeAnswer,
  CaptureAnswer,
  Connector,
  GatewayOutcome,
  LookUpAnswer,
  Shopper,
  Unknown,
  VoidAnswer,
} from "../gateways/connector.ts";
import { gatewayReferenceCharactersMax, settlingTimeoutMs } from "../limits.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { classifyHealth } from "./circuit-breaker.ts";
import type { TheirRecord } from "./compare-records.ts";
import type { Core } from "./core.ts";
import type { Attempt, PaymentSession } from "./entities.ts";
import { loadSession } from "./session-trail.ts";
import { findEndInNotices, lookUpInNotices } from "./stored-notices.ts";
import { traceGateway } from "./traced-gateway.ts";

/** An attempt to ask about, also one whose row is lost. */
export type Asked = Attempt & Pick<AttemptAtGateway, "isLost">;

/**
 * Asks the gateway for the hold, and lets the circuit breaker know how that went. Captures, voids and look-ups do not
 * count there: they are repeated for one payment for as long as it takes, and take another way than the card does.
 */
export async function authorize(
  core: Core,
  { session, shopper }: { session: PaymentSession; shopper: Shopper | undefined },
  attempt: Attempt,
): Promise<AuthorizeAnswer> {
  const binding = await bind(core, attempt);
  if (binding === undefined)
    return { outcome: { type: "notProcessed", cause: "credentials_refused", reason: unbound } };
  const { connector, credentials } = binding;
  const reference = encodeId("att", attempt.id);
  const answered = await connector.authorize(
    { credentials, timeoutMs: core.timing.attemptTimeoutMs, idempotencyKey: reference },
    {
      amountMinor: session.amountMinor,
      currency: session.currency,
      attemptReference: reference,
      sessionId: encodeId("ps", session.id),
      vaultToken: new Secret(session.vaultToken ?? ""),
      orderRef: session.orderRef,
      customerEmail: session.customerEmail ?? undefined,
      ...shopper,
    },
  );
  const answer = { ...answered, outcome: withUsableReference(answered.outcome) };
  const health = classifyHealth(answer.outcome, connector);
  core.circuitBreaker.tell(attempt.connectionId, health, core.entropy.now(), attempt.gateway);
  return answer;
}

// Beyond what any gateway uses, and within what an index can hold.
function isUsable(gatewayReference: string): boolean {
  return gatewayReference.length <= gatewayReferenceCharactersMax;
}

/** A hold that could not be named again is no answer; it is given back by our own reference. */
function withUsableReference(outcome: GatewayOutcome): GatewayOutcome {
  if (!("gatewayReference" in outcome) || outcome.gatewayReference === undefined) return outcome;
  if (isUsable(outcome.gatewayReference)) return outcome;
  return outcome.type === "held"
    ? { type: "unknown", kind: "GATEWAY_ERROR", reason: unusable }
    : { ...outcome, gatewayReference: undefined };
}

const unusable = "the gateway's reference is too long to be one";

/**
 * Asks the gateway to take the money: always with the same key, so a repeat takes nothing again. Where it has reported the
 * capture already, its notice is the answer.
 */
export async function capture(core: Core, session: PaymentSession, attempt: Attempt): Promise<CaptureAnswer> {
  const binding = await bind(core, attempt);
  if (binding === undefined) return unanswered;
  const { connector, credentials } = binding;
  const known = await lookUpWithoutRead(core, connector, attempt);
  if (known?.type === "captured") return { type: "done" };
  const key = `${encodeId("att", attempt.id)}_cap`;
  return connector.capture(
    { credentials, timeoutMs: settlingTimeoutMs, idempotencyKey: key },
    {
      ...atGateway(attempt),
      gatewayReference: attempt.gatewayReference ?? "",
      sessionId: encodeId("ps", session.id),
      orderRef: session.orderRef,
    },
  );
}

/** Asks the gateway to give the hold back. A new key each time: a gateway may repeat its first answer to a known one. */
export async function giveBack(
  core: Core,
  { orderRef }: Pick<PaymentSession, "orderRef">,
  attempt: Asked,
): Promise<VoidAnswer> {
  const binding = await bind(core, attempt);
  if (binding === undefined) return unanswered;
  const { connector, credentials } = binding;
  const known = await lookUpWithoutRead(core, connector, attempt);
  if (known?.type === "voided") return { type: "done" };
  if (known?.type === "captured") return { type: "alreadyCaptured" };
  if (known?.type === "absent") return { type: "absent" };
  const key = `${encodeId("att", attempt.id)}_void${attempt.tries + 1}`;
  const call = { credentials, timeoutMs: settlingTimeoutMs, idempotencyKey: key };
  return connector.void(call, { ...atGateway(attempt), orderRef });
}

/**
 * Whether the stored notices, as of now, tell what became of an attempt that is being given back. Never at a gateway that
 * can be read: there notices end nothing, so whoever was woken by one would send the next void at once, and so on.
 */
export async function isEndReported(
  core: Core,
  { sessionId, id }: Pick<Attempt, "sessionId" | "id">,
): Promise<boolean> {
  // Read again: which notices count depends on what was last recorded of the void.
  const { attempts } = await loadSession(core.database, sessionId);
  const attempt = attempts.find((one) => one.id === id);
  if (attempt?.status !== "VOIDING") return false;
  const binding = await bind(core, attempt);
  if (binding === undefined || binding.connector.canRead) return false;
  const { type } = await lookUpInNotices(core.database, attempt);
  return type === "voided" || type === "captured" || type === "absent";
}

/** Gives back a hold of an attempt that is over: of exactly this authorization, whatever else the attempt's reference holds. */
export async function voidStray(
  core: Core,
  attempt: Attempt,
  stray: { gatewayReference: string; tries: number },
): Promise<VoidAnswer> {
  const binding = await bind(core, attempt);
  if (binding === undefined) return unanswered;
  const { connector, credentials } = binding;
  const known = connector.canRead ? undefined : await findEndInNotices(core.database, attempt, stray.gatewayReference);
  if (known !== undefined) return { type: known === "captured" ? "alreadyCaptured" : "done" };
  const key = `${encodeId("att", attempt.id)}_stray${stray.tries}`;
  return connector.void(
    { credentials, timeoutMs: settlingTimeoutMs, idempotencyKey: key },
    { ...atGateway(attempt), gatewayReference: stray.gatewayReference },
  );
}

/** Asks whether the gateway holds the amount; where it cannot be asked, its stored notices are the answer. */
export async function lookUp(core: Core, attempt: Attempt): Promise<LookUpAnswer> {
  return (await readRecord(core, attempt)).answer;
}

/** The gateway's record of an attempt, and whether it was read or put together from its notices. */
export async function readRecord(core: Core, attempt: Asked): Promise<TheirRecord> {
  const binding = await bind(core, attempt);
  if (binding === undefined) return { answer: { type: "cannotTell", reason: unbound }, source: "read" };
  const { connector, credentials } = binding;
  const known = await lookUpWithoutRead(core, connector, attempt);
  if (known !== undefined) return { answer: known, source: "notices" };
  const call = { credentials, timeoutMs: settlingTimeoutMs };
  const answer = await connector.lookUp(call, atGateway(attempt));
  if ("gatewayReference" in answer && !isUsable(answer.gatewayReference)) {
    return { answer: { type: "cannotTell", reason: unusable }, source: "read" };
  }
  return { answer, source: "read" };
}

/** What the notices of a gateway tell that cannot be asked; undefined for one that can. */
async function lookUpWithoutRead(
  core: Core,
  { canRead }: Pick<Connector, "canRead">,
  attempt: Attempt,
): Promise<LookUpAnswer | undefined> {
  return canRead ? undefined : lookUpInNotices(core.database, attempt);
}

const unbound = "this installation has no connector for the gateway, or not the attempt's credentials";

// The gateway may still act on what it was sent, so nothing but its own word ends the matter: asked again later.
const unanswered: Unknown = { type: "unknown", kind: "GATEWAY_ERROR", reason: unbound };

async function bind(core: Core, attempt: Attempt) {
  const bound = await core.bind(attempt.connectionId, attempt.gateway, attempt.credentialVersion);
  return bound && { credentials: bound.credentials, connector: traceGateway(core.tracing, bound.connector, attempt) };
}

function atGateway(attempt: Asked) {
  return {
    attemptReference: encodeId("att", attempt.id),
    gatewayReference: attempt.gatewayReference ?? undefined,
    amountMinor: attempt.amountMinor,
    currency: attempt.currency,
    startedAt: attempt.startedAt,
    ...(attempt.isLost && { isLost: attempt.isLost }),
  };
}
