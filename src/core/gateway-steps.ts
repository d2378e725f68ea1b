/** The flow's calls to gateways: each bound to its attempt's connection, credentials, deadline and idempotency key. */
import type { AuthorizeAnswer, CaptureAnswer, Connector, LookUpAnswer, VoidAnswer } from "../gateways/connector.ts";
import { attemptTimeoutMs, settlingTimeoutMs } from "../limits.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { classifyHealth } from "./circuit-breaker.ts";
import type { Core } from "./core.ts";
import type { Attempt, PaymentSession } from "./entities.ts";
import { lookUpInNotices } from "./stored-notices.ts";

/**
 * Asks the gateway for the hold, and lets the circuit breaker know how that went. Captures, voids and look-ups do not
 * count there: they are repeated for one payment for as long as it takes, and take another way than the card does.
 */
export async function authorize(core: Core, session: PaymentSession, attempt: Attempt): Promise<AuthorizeAnswer> {
  const { connector, credentials } = await bound(core, attempt);
  const reference = encodeId("att", attempt.id);
  const answer = await connector.authorize(
    { credentials, timeoutMs: attemptTimeoutMs, idempotencyKey: reference },
    {
      amountMinor: session.amountMinor,
      currency: session.currency,
      attemptReference: reference,
      sessionId: encodeId("ps", session.id),
      vaultToken: new Secret(session.vaultToken ?? ""),
      orderRef: session.orderRef,
      customerEmail: session.customerEmail ?? undefined,
    },
  );
  core.circuitBreaker.tell(attempt.connectionId, classifyHealth(answer.outcome, connector), core.entropy.now());
  return answer;
}

/**
 * Asks the gateway to take the money: always with the same key, so a repeat takes nothing again. Where it has reported the
 * capture already, its notice is the answer.
 */
export async function capture(core: Core, attempt: Attempt): Promise<CaptureAnswer> {
  const { connector, credentials } = await bound(core, attempt);
  const known = await lookUpWithoutRead(core, connector, attempt);
  if (known?.type === "captured") return { type: "done" };
  const key = `${encodeId("att", attempt.id)}_cap`;
  return connector.capture(
    { credentials, timeoutMs: settlingTimeoutMs, idempotencyKey: key },
    { ...atGateway(attempt), gatewayReference: attempt.gatewayReference ?? "" },
  );
}

/** Asks the gateway to give the hold back. A new key each time: a gateway may repeat its first answer to a known one. */
export async function giveBack(core: Core, attempt: Attempt): Promise<VoidAnswer> {
  const { connector, credentials } = await bound(core, attempt);
  const known = await lookUpWithoutRead(core, connector, attempt);
  if (known?.type === "voided") return { type: "done" };
  if (known?.type === "captured") return { type: "alreadyCaptured" };
  if (known?.type === "absent") return { type: "absent" };
  const key = `${encodeId("att", attempt.id)}_void${attempt.tries + 1}`;
  return connector.void({ credentials, timeoutMs: settlingTimeoutMs, idempotencyKey: key }, atGateway(attempt));
}

/** Asks whether the gateway holds the amount; where it cannot be asked, its stored notices are the answer. */
export async function lookUp(core: Core, attempt: Attempt): Promise<LookUpAnswer> {
  const { connector, credentials } = await bound(core, attempt);
  const known = await lookUpWithoutRead(core, connector, attempt);
  return known ?? connector.lookUp({ credentials, timeoutMs: settlingTimeoutMs }, atGateway(attempt));
}

/** What the notices of a gateway tell that cannot be asked; undefined for one that can. */
async function lookUpWithoutRead(
  core: Core,
  { canRead }: Connector,
  attempt: Attempt,
): Promise<LookUpAnswer | undefined> {
  return canRead ? undefined : lookUpInNotices(core.database, attempt);
}

function bound(core: Core, attempt: Attempt) {
  return core.bind(attempt.connectionId, attempt.gateway, attempt.credentialVersion);
}

function atGateway(attempt: Attempt) {
  return {
    attemptReference: encodeId("att", attempt.id),
    gatewayReference: attempt.gatewayReference ?? undefined,
    amountMinor: attempt.amountMinor,
    currency: attempt.currency,
  };
}
