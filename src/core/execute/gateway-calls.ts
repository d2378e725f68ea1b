/**
 * The flow's calls to gateways. Each is bound to its attempt's connection, credentials, deadline and idempotency key,
 * and runs inside a span that records the gateway and its answer.
 */
import type { Completion } from "../../gateways/authentication.ts";
import type {
  ActionAnswer,
  AttemptAtGateway,
  AuthorizeAnswer,
  AuthorizeRequest,
  CaptureAnswer,
  CapturedPayment,
  CompletionAnswer,
  Connector,
  Credentials,
  GatewayOutcome,
  Hold,
  LookUpAnswer,
  Refused,
  Shopper,
  Unknown,
  VoidAnswer,
} from "../../gateways/connector.ts";
import { withoutAction } from "../../gateways/unanswered.ts";
import { followUpTimeoutMs, gatewayReferenceCharactersMax } from "../../limits.ts";
import { isNetworkToken } from "../../platform/card-token.ts";
import type { Queryable } from "../../platform/database.ts";
import { unreachable } from "../../platform/errors.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret, sha256 } from "../../platform/secrets.ts";
import type { SpanFacts, SpanName, SpanOptions, Tracing } from "../../platform/telemetry.ts";
import type { Core } from "../core.ts";
import type { TheirRecord } from "../decide/reconcile-records.ts";
import { storableCode } from "../record/attempts.ts";
import { loadSession } from "../record/load-session.ts";
import { findEndInNotifications, lookUpInNotifications } from "../record/stored-notifications.ts";
import type { Attempt, Authentication, PaymentSession } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import { voidedUse } from "../stored-cards/gateway-use.ts";
import { classifyHealth } from "./circuit-breaker.ts";

/** An attempt to look up, including one whose row is lost. */
export type AttemptToLookUp = Attempt & Pick<AttemptAtGateway, "isUnrecorded">;

/** The parts of an attempt's request that features of the payment add; a plain payment has its shopper at most. */
export type Extras = Pick<AuthorizeRequest, "authentication" | "proof" | "exemption" | "storedCard" | "wallet"> & {
  readonly shopper?: Shopper | undefined;
};

/**
 * Authorizes at the gateway and records the outcome in the circuit breaker. Captures, voids and look-ups do not count
 * there: they are repeated for one payment for as long as it takes, and they do not take the card's path.
 */
export async function authorize(
  core: Core,
  session: PaymentSession,
  attempt: Attempt,
  { shopper, ...extras }: Extras,
): Promise<AuthorizeAnswer> {
  const binding = await bind(core, attempt);
  if (binding === undefined)
    return { outcome: { type: "notProcessed", cause: "credentials_refused", reason: unbound } };
  // A renewal whose customer was erased meanwhile must not be sent as a customer's own payment.
  if (session.namedBy !== null && extras.storedCard === undefined)
    return { outcome: { type: "notProcessed", cause: "request_refused", reason: "the agreement has been erased" } };
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
      customerName: session.details?.customerName,
      billingAddress: session.details?.billingAddress,
      statementDescriptor: session.details?.statementDescriptor,
      shopperIp: shopper?.shopperIp,
      shopperUserAgent: shopper?.shopperUserAgent,
      ...extras,
    },
  );
  const outcome = withShownCode(withUsableReference(answered.outcome), credentials);
  const answer = {
    ...answered,
    outcome: extras.authentication ? outcome : withoutAction(outcome),
    // If the customer is absent, or a device has authenticated the customer, the gateway's word about it is no
    // authentication.
    ...((extras.storedCard?.type === "renewal" || isNetworkToken(extras)) && { authenticated: undefined }),
  };
  const health = classifyHealth(answer.outcome, connector);
  core.circuitBreaker.record(attempt.connectionId, health, core.runtime.now(), attempt.gateway);
  return answer;
}

// The bound is longer than any gateway's reference, and short enough for an index.
function isUsable(gatewayReference: string): boolean {
  return gatewayReference.length <= gatewayReferenceCharactersMax;
}

/**
 * Replaces an unusable reference. A hold that could not be named again counts as unknown; it is voided by our own
 * reference.
 */
function withUsableReference(outcome: GatewayOutcome): GatewayOutcome {
  if (!("gatewayReference" in outcome) || outcome.gatewayReference === undefined) return outcome;
  if (isUsable(outcome.gatewayReference)) return outcome;
  return outcome.type === "held"
    ? { type: "unknown", kind: "GATEWAY_ERROR", reason: unusable }
    : { ...outcome, gatewayReference: undefined };
}

const unusable = "the gateway's reference is too long to be one";

/**
 * Completes a payment whose customer has answered. A repeat has the same key, and each return has another one, also with
 * the text of an earlier return: a gateway keeps its answer to that for the key. A second action is not shown: the answer
 * then leaves open what is held.
 */
export async function complete(
  core: Core,
  { attempt, authentication: { answeredAt } }: { attempt: Attempt; authentication: Pick<Authentication, "answeredAt"> },
  completion: Completion,
): Promise<CompletionAnswer> {
  const binding = await bind(core, attempt);
  if (binding?.authentication === undefined) return { outcome: unanswered };
  const { authentication, credentials } = binding;
  const call = {
    credentials,
    timeoutMs: core.timing.attemptTimeoutMs,
    idempotencyKey: `${encodeId("att", attempt.id)}_2${suffixOf(completion, answeredAt)}`,
  };
  const answered = await authentication.complete(call, atGateway(attempt), completion);
  const { outcome } = answered;
  if (outcome.type === "notAnswered") return { ...answered, outcome };
  return { ...answered, outcome: withoutAction(withShownCode(withUsableReference(outcome), credentials)) };
}

/** Cuts a gateway's code to what may be stored: no card number, none of the credentials, and no long text. */
function withShownCode(outcome: GatewayOutcome, credentials: Credentials): GatewayOutcome {
  if (outcome.type !== "declined" && outcome.type !== "notProcessed") return outcome;
  const { gatewayCode } = outcome;
  if (gatewayCode === undefined) return outcome;
  const secrets = Object.values(credentials).map((value) => value.expose());
  const isSecret = secrets.some((secret) => secret.length >= secretCharactersMin && gatewayCode.includes(secret));
  return { ...outcome, gatewayCode: isSecret ? "not_shown" : storableCode(gatewayCode) };
}

// A shorter value, such as an account's name, may be part of an honest code.
const secretCharactersMin = 12;

function suffixOf({ returned }: Completion, answeredAt: Date | null | undefined): string {
  return returned === undefined
    ? ""
    : `_${sha256(`${answeredAt?.getTime()} ${returned.expose()}`).toString("hex").slice(0, 16)}`;
}

/**
 * Asks the gateway whether its customer has answered. A gateway that has no such request answers by a return that leads
 * on, or by its notifications.
 */
export async function askAction(core: Core, attempt: Attempt, completion: Completion): Promise<ActionAnswer> {
  const binding = await bind(core, attempt);
  if (binding?.authentication === undefined) return { type: "waiting" };
  const { authentication, connector, credentials } = binding;
  if (authentication.askAction !== undefined) {
    const answer = await authentication.askAction(
      { credentials, timeoutMs: followUpTimeoutMs },
      atGateway(attempt),
      completion,
    );
    const isNamed = !("gatewayReference" in answer) || isUsable(answer.gatewayReference);
    return isNamed ? answer : { type: "inconclusive", reason: unusable };
  }
  const known = await lookUpWithoutRead(core, connector, attempt);
  const isMoney = known?.type === "held" || known?.type === "captured";
  if (known !== undefined && (isMoney || !completion.returned)) return known;
  return { type: completion.returned ? "answered" : "waiting" };
}

/** A capture in the record of a gateway, which may be of another amount than the ordered one. */
export type FoundCapture = Extract<LookUpAnswer, { type: "captured" }>;

/**
 * Captures at the gateway. The connector always gets the same key, so a repeat charges nothing twice; it may send
 * another one only if its gateway cannot capture the hold twice. If the gateway has already reported the capture, or
 * that it voided this hold, its notification is the answer. A gateway also refuses to capture what a person has
 * captured since the order: its record is then the answer.
 */
export async function capture(
  core: Core,
  { session, readAt }: Pick<Payment, "session" | "readAt">,
  attempt: Attempt,
): Promise<CaptureAnswer | FoundCapture> {
  // A set-up holds no money, so there is none to capture.
  if (attempt.amountMinor === 0) return { type: "done" };
  const binding = await bind(core, attempt);
  if (binding === undefined) return unanswered;
  const { connector, credentials } = binding;
  const known = await lookUpWithoutRead(core, connector, attempt);
  if (known?.type === "captured") return known;
  if (known?.type === "voided") return holdVoided;
  const key = `${encodeId("att", attempt.id)}_cap`; // rule:capture-one-key
  const answer = await sendWithRoom(core, attempt, () =>
    connector.capture(
      { credentials, timeoutMs: followUpTimeoutMs, idempotencyKey: key },
      {
        ...atGateway(attempt),
        // A hold may be days old when its capture is ordered.
        ageMs: ageOf({ startedAt: attempt.captureOrderedAt ?? attempt.startedAt }, readAt),
        attemptAgeMs: ageOf(attempt, readAt),
        gatewayReference: attempt.gatewayReference ?? "",
        ...partOf(attempt),
        // A restored database has another session of the same renewal, and the key of its capture is the same.
        ...(session.namedBy === null && { sessionId: encodeId("ps", session.id) }),
        orderRef: session.orderRef,
        statementDescriptor: session.details?.statementDescriptor,
      },
    ),
  );
  if (answer.type !== "refused") return answer;
  const found = await lookUp(core, attempt);
  return found.type === "captured" ? found : answer;
}

/**
 * Sends a capture or a void. A repeat is sent only while its gateway has room for one: those at a silent gateway would
 * otherwise take up every place of recovery (`submissionsInFlightMax`), and payments at others would wait.
 */
async function sendWithRoom<Answer>(
  core: Core,
  attempt: Attempt,
  send: () => Promise<Answer>,
): Promise<Answer | Unknown> {
  if (attempt.retries === 0) return send();
  return core.repeats.hasRoom(attempt) ? core.repeats.occupy(attempt, send()) : crowded;
}

function partOf({ amountMinor, capturedAmountMinor }: Attempt): Pick<Hold, "captureMinor"> {
  const part = capturedAmountMinor === amountMinor ? null : capturedAmountMinor; // rule:capture-amount-once
  return part === null ? {} : { captureMinor: part };
}

/** The answer for a voided hold: it was not captured and no longer can be. */
export const holdVoided: Refused = { type: "refused", definitive: true, gatewayCode: "voided" };

/**
 * Voids the hold at the gateway, with a new key each time: a gateway may repeat its first answer to a known key. A
 * gateway that reports only by notifications refuses to void what it declined. Its signed decline of an attempt that
 * never held is therefore the answer, once it accepted or refused a void that was sent after the latest execution time.
 */
export async function voidHold(
  core: Core,
  { session, readAt, stored }: Pick<Payment, "session" | "readAt" | "stored">,
  attempt: AttemptToLookUp,
): Promise<VoidAnswer> {
  if (hasNothingToVoid(core, attempt)) return { type: "done" };
  const binding = await bind(core, attempt);
  if (binding === undefined) return unanswered;
  const { connector, credentials } = binding;
  const known = await lookUpWithoutRead(core, connector, attempt);
  if (known?.type === "voided") return { type: "done" };
  if (known?.type === "captured") return { type: "alreadyCaptured" };
  if (known?.type === "absent") return { type: "absent" };
  const isDeclined =
    known?.type === "declined" && attempt.captureOrderedAt === null && readAt >= attempt.latestExecutionAt;
  const isVoidTakenOn = attempt.status === "VOIDING" && attempt.voidAskedAt !== null;
  if (isDeclined && isVoidTakenOn) return { type: "absent" };
  const key = `${encodeId("att", attempt.id)}_void${attempt.retries + 1}`;
  const call = { credentials, timeoutMs: followUpTimeoutMs, idempotencyKey: key };
  const use = stored && voidedUse(core, { session, stored }, attempt);
  const named = { ...atGateway(attempt), ageMs: ageOf(attempt, readAt), orderRef: session.orderRef, ...use };
  const answer = await sendWithRoom(core, attempt, () => connector.void(call, named));
  return isDeclined && answer.type === "refused" ? { type: "absent" } : answer;
}

/** Reports whether an attempt is a set-up's that leaves nothing at its gateway. */
function hasNothingToVoid({ connectorOf }: Pick<Core, "connectorOf">, { amountMinor, gateway }: Attempt): boolean {
  return amountMinor === 0 && connectorOf(gateway)?.keepsSetUps !== true;
}

function ageOf({ startedAt }: Pick<Attempt, "startedAt">, readAt: Date): number {
  return readAt.getTime() - startedAt.getTime();
}

/**
 * Reports whether the gateway notifications stored so far end an attempt that is being voided. Always false for a
 * gateway that can be read: its notifications end nothing, so a session woken by one would send the next void at once,
 * and so on.
 */
export async function isEndReported(
  core: Core,
  { sessionId, id }: Pick<Attempt, "sessionId" | "id">,
): Promise<boolean> {
  // Read again: the last record of the void determines which notifications count.
  const { attempts } = await loadSession(core.database, sessionId);
  const attempt = attempts.find((one) => one.id === id);
  if (attempt?.status !== "VOIDING") return false;
  const binding = await bind(core, attempt);
  if (binding === undefined || binding.connector.canRead) return false;
  const { type } = await lookUpInNotifications(core.database, attempt);
  return type === "voided" || type === "captured" || type === "absent";
}

/**
 * Voids an orphaned authorization of an attempt that is over: exactly this authorization, whatever else is held under
 * the attempt's reference.
 */
export async function voidOrphan(
  core: Core,
  attempt: Attempt,
  orphan: { gatewayReference: string; retries: number },
): Promise<VoidAnswer> {
  if (hasNothingToVoid(core, attempt)) return { type: "done" };
  const binding = await bind(core, attempt);
  if (binding === undefined) return unanswered;
  const { connector, credentials } = binding;
  const known = connector.canRead
    ? undefined
    : await findEndInNotifications(core.database, attempt, orphan.gatewayReference);
  if (known !== undefined) return { type: known === "captured" ? "alreadyCaptured" : "done" };
  const key = `${encodeId("att", attempt.id)}_orphan${orphan.retries}`;
  return connector.void(
    { credentials, timeoutMs: followUpTimeoutMs, idempotencyKey: key },
    { ...atGateway(attempt), gatewayReference: orphan.gatewayReference },
  );
}

/** The dependencies of a look-up. */
export type Reading = Pick<Core, "bind" | "tracing"> & { readonly database: Queryable };

/**
 * Looks up whether the gateway holds the amount. If the gateway cannot be read, its stored notifications are the
 * answer.
 */
export async function lookUp(core: Reading, attempt: Attempt): Promise<LookUpAnswer> {
  return (await readRecord(core, attempt)).answer;
}

/** Returns the gateway's record of an attempt, and whether it was read or assembled from its notifications. */
export async function readRecord(core: Reading, attempt: AttemptToLookUp): Promise<TheirRecord> {
  const binding = await bind(core, attempt);
  if (binding === undefined) return { answer: { type: "inconclusive", reason: unbound }, source: "read" };
  const { connector, credentials } = binding;
  const known = await lookUpWithoutRead(core, connector, attempt);
  if (known !== undefined) return { answer: known, source: "notifications" };
  const call = { credentials, timeoutMs: followUpTimeoutMs };
  const answer = await connector.lookUp(call, atGateway(attempt)); // rule:look-up-reads
  if ("gatewayReference" in answer && !isUsable(answer.gatewayReference)) {
    return { answer: { type: "inconclusive", reason: unusable }, source: "read" };
  }
  return { answer, source: "read" };
}

/** Returns the answer in the notifications of a gateway that cannot be read; undefined for one that can. */
async function lookUpWithoutRead(
  core: Pick<Reading, "database">,
  { canRead }: Pick<Connector, "canRead">,
  attempt: Attempt,
): Promise<LookUpAnswer | undefined> {
  return canRead ? undefined : lookUpInNotifications(core.database, attempt);
}

/** The reason of a look-up that called no gateway. */
export const unbound = "this installation has no connector for the gateway, or not the attempt's credentials";

// The gateway may still execute the request, so only its own answer ends the attempt: the call is repeated later.
const unanswered: Unknown = { type: "unknown", kind: "GATEWAY_ERROR", reason: unbound };

const crowded: Unknown = { type: "unknown", kind: "TIMEOUT", reason: "too many repeats wait for the gateway" };

async function bind(core: Pick<Core, "bind" | "tracing">, attempt: Attempt) {
  const bound = await core.bind(attempt.connectionId, attempt.gateway, attempt.credentialVersion);
  return (
    bound && {
      credentials: bound.credentials,
      connector: traceGateway(core.tracing, bound.connector, attempt),
      authentication: traceAuthentication(core.tracing, bound.connector.authentication, attempt),
    }
  );
}

function atGateway(attempt: AttemptToLookUp) {
  return {
    attemptReference: encodeId("att", attempt.id),
    gatewayReference: attempt.gatewayReference ?? undefined,
    amountMinor: attempt.amountMinor,
    currency: attempt.currency,
    ...(attempt.isUnrecorded && { isUnrecorded: attempt.isUnrecorded }),
  };
}

export function capturedAtGateway(
  captured: Pick<
    Attempt,
    "id" | "gatewayReference" | "amountMinor" | "currency" | "capturedAmountMinor" | "captureReference"
  >,
): CapturedPayment {
  return {
    attemptReference: encodeId("att", captured.id),
    gatewayReference: captured.gatewayReference ?? "",
    amountMinor: captured.amountMinor,
    currency: captured.currency,
    capturedMinor: captured.capturedAmountMinor ?? captured.amountMinor,
    captureReference: captured.captureReference ?? undefined,
  };
}

/** The part of a connector that the payment flow uses for one attempt. */
type TracedConnector = Pick<Connector, "canRead" | "failsOnRequest" | "authorize" | "capture" | "void" | "lookUp">;

type Answer = CompletionAnswer["outcome"] | VoidAnswer | LookUpAnswer | ActionAnswer;
type Traced = Pick<Attempt, "sessionId" | "id" | "gateway">;

function tracerOf(tracing: Tracing, attempt: Traced) {
  const options: SpanOptions = {
    of: { session: attempt.sessionId },
    kind: "client",
    facts: () => ({
      sessionId: encodeId("ps", attempt.sessionId),
      attemptId: encodeId("att", attempt.id),
      gateway: attempt.gateway,
    }),
  };
  return <Given>(name: SpanName, call: () => Promise<Given>, answerOf: (given: Given) => Answer) =>
    tracing.span(name, options, async (span) => {
      const given = await call();
      span.set(factsOf(answerOf(given)));
      return given;
    });
}

const whole = <Given>(given: Given) => given;

/** Wraps the calls of a gateway's authentication in spans. */
function traceAuthentication(tracing: Tracing, authentication: Connector["authentication"], attempt: Traced) {
  if (authentication === undefined) return undefined;
  const traced = tracerOf(tracing, attempt);
  const { askAction } = authentication;
  const complete: typeof authentication.complete = (...asked) =>
    traced(
      "gateway.complete",
      () => authentication.complete(...asked),
      ({ outcome }) => outcome,
    );
  const ask: typeof askAction = (...asked) =>
    traced("gateway.ask_action", () => askAction!.apply(authentication, asked), whole);
  return { complete, askAction: askAction && ask };
}

/** Wraps a connector's calls in spans. */
function traceGateway(tracing: Tracing, connector: Connector, attempt: Traced): TracedConnector {
  const traced = tracerOf(tracing, attempt);
  return {
    canRead: connector.canRead,
    failsOnRequest: connector.failsOnRequest,
    authorize: (...asked) =>
      traced(
        "gateway.authorize",
        () => connector.authorize(...asked),
        ({ outcome }) => outcome,
      ),
    capture: (...asked) => traced("gateway.capture", () => connector.capture(...asked), whole),
    void: (...asked) => traced("gateway.void", () => connector.void(...asked), whole),
    lookUp: (...asked) => traced("gateway.look_up", () => connector.lookUp(...asked), whole),
  };
}

/** Returns our own words for an answer; the gateway's text is left out. */
function factsOf(answer: Answer): SpanFacts {
  switch (answer.type) {
    case "declined":
      return { outcome: answer.type, failureKind: answer.kind, declineCode: answer.declineCode };
    case "unknown":
      return { outcome: answer.type, failureKind: answer.kind };
    case "notProcessed":
      return { outcome: answer.type, operation: answer.cause };
    case "refused":
    case "held":
    case "done":
    case "accepted":
    case "alreadyCaptured":
    case "captured":
    case "voided":
    case "absent":
    case "heldOther":
    case "inconclusive":
    case "actionNeeded":
    case "waiting":
    case "answered":
    case "notAnswered":
    case "failed":
      return { outcome: answer.type };
    default:
      return unreachable(answer);
  }
}
