/**
 * Set-ups at Stripe: a setup intent checks a card and attaches it to Stripe's customer, and charges nothing. The types of npm stripe 23.1.0
 * (2026), SetupIntents. Not verified against Stripe itself: whether the fields of this version of its API are the same.
 */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type {
  ActionAnswer,
  AttemptAtGateway,
  AuthorizeAnswer,
  AuthorizeRequest,
  ChangingCall,
  GatewayCall,
  GatewayOutcome,
  LookUpAnswer,
  VoidAnswer,
} from "../connector.ts";
import { classifyDecline } from "../declines.ts";
import { unansweredAuthorize, undecided, untrusted } from "../unanswered.ts";
import {
  chosenNetwork,
  errorOf,
  isDecline,
  isKeptError,
  type Prepared,
  readPaymentMethod,
  refusedOrUntrusted,
  whyUnconfirmed,
} from "./answers.ts";
import type { StripeApi } from "./api.ts";
import { billingForm } from "./billing.ts";
import { declines } from "./declines.ts";
import { askingForm, cardForm, creationKey } from "./forms.ts";
import { type Json, judgeDecline } from "./judge-decline.ts";
import { mayBeForgotten } from "./key-life.ts";
import { isFor, type PaymentIntent, pageOf } from "./payment-intent.ts";
import { customerOf, eraseMethod, storedIn } from "./stored-cards.ts";

function setUpPath(id: string, action = ""): string {
  return `/v1/setup_intents/${encodeURIComponent(id)}${action}`;
}

/** Sets a card up: with the vault's card, for the customer of its pseudonym. */
export async function setUp(api: StripeApi, call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer> {
  const left = api.sharedDeadline(call);
  const [{ reply, card, chosenBrand }, created] = await Promise.all([
    api.postCard(call, request, {
      key: `${call.idempotencyKey}_card`,
      form: { ...cardForm(request), ...billingForm(request) },
    }),
    create(api, call, request),
  ]);
  const method = readPaymentMethod(reply, request);
  const intent = readNew(created, request);
  if (method.type !== "ready" || intent.type !== "ready") return { outcome: whyUnconfirmed(method, intent), card };
  // A setup intent has no such field: it would wait for the challenge that the customer cannot get, and is abandoned.
  const { error_on_requires_action: _, ...asking } = askingForm(request.authentication, request.proof);
  const form = {
    payment_method: method.id,
    "payment_method_options[card][network]": chosenNetwork(reply, chosenBrand),
    ...asking,
  };
  const confirmed = await api.post(left(), setUpPath(intent.id, "/confirm"), { key: call.idempotencyKey, form });
  const named = { ...request, gatewayReference: intent.id };
  const outcome = readConfirmed(confirmed, named, request.authentication !== undefined);
  return { outcome: outcome.type === "unknown" ? { ...outcome, gatewayReference: intent.id } : outcome, card };
}

/** Reads a set-up whose customer has answered: it is decided without a further request. */
export async function completeSetUp(
  api: StripeApi,
  call: GatewayCall,
  attempt: AttemptAtGateway,
): Promise<{ readonly outcome: GatewayOutcome }> {
  const reply = await read(api, call, attempt);
  if (reply.type !== "answer") return { outcome: unansweredAuthorize(reply) };
  const intent = reply.status === 200 ? readJsonObject(reply) : undefined;
  return { outcome: isOurs(intent, attempt) ? outcomeOf(intent, false) : untrusted(reply.status) };
}

export async function askSetUp(api: StripeApi, call: GatewayCall, attempt: AttemptAtGateway): Promise<ActionAnswer> {
  const reply = await read(api, call, attempt);
  const intent = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  if (!isOurs(intent, attempt)) return readState(reply, attempt);
  return { type: intent.status === "requires_action" || intent.status === "processing" ? "waiting" : "answered" };
}

/** Reads a set-up by its name; without one it is not found. */
export async function lookUpSetUp(api: StripeApi, call: GatewayCall, attempt: AttemptAtGateway): Promise<LookUpAnswer> {
  if (attempt.gatewayReference === undefined)
    return { type: "inconclusive", reason: "Stripe has no search for set-ups" };
  return readState(await read(api, call, attempt), attempt);
}

/**
 * Cancels a set-up, after which it refuses every confirmation, and detaches the card of one that has stored it already. One whose name is
 * lost is created again under the same key: for a day that returns the name which any confirmation must have used.
 */
export async function undoSetUp(
  api: StripeApi,
  call: ChangingCall,
  { gatewayReference, ...attempt }: AttemptAtGateway,
): Promise<VoidAnswer> {
  const left = api.sharedDeadline(call);
  if (gatewayReference === undefined && mayBeForgotten(attempt)) return unnameable;
  const again = gatewayReference === undefined ? await create(api, call, attempt) : undefined;
  const intent = again ? readNew(again, attempt) : ({ type: "ready", id: gatewayReference ?? "" } as const);
  if (intent.type !== "ready") {
    // An error that is kept for the key, or that refuses the request as such: no confirmation ever had a name to use.
    const isRefused = intent.type === "notProcessed" && again?.type === "answer" && again.status === 400;
    return isRefused || (again && isKeptError(again)) ? { type: "absent" } : uncancelled;
  }
  const named = { ...attempt, gatewayReference: intent.id };
  const cancelled = await api.post(left(), setUpPath(intent.id, "/cancel"), {
    key: `${call.idempotencyKey}_${intent.id}`,
    form: { cancellation_reason: "abandoned" },
  });
  const isCancelled = cancelled.type === "answer" && cancelled.status === 200;
  const state = readState(isCancelled ? cancelled : await read(api, left(), named), named);
  if (state.type === "voided") return { type: "done" };
  const stored = state.type === "held" ? state.stored?.own : undefined;
  if (stored === undefined) return uncancelled;
  const erased = await eraseMethod(api, left(), { ...stored, isLast: false });
  return erased.type === "absent" ? { type: "done" } : erased;
}

const uncancelled = {
  type: "unknown",
  kind: "GATEWAY_ERROR",
  reason: "the set-up could not be cancelled",
} as const;

const unnameable = {
  type: "unknown",
  kind: "GATEWAY_ERROR",
  reason: "Stripe has no search for set-ups, and the set-up is too old to be named by its key",
} as const;

async function create(api: StripeApi, call: GatewayCall, request: AttemptAtGateway): Promise<GatewayReply> {
  const { storedCard, attemptReference } = request;
  const left = api.sharedDeadline(call);
  const customer = storedCard ? await customerOf(api, call, storedCard) : {};
  if ("type" in customer) return customer;
  const isForMerchant = storedCard?.type === "save" && storedCard.purpose !== "customer";
  const form = {
    customer: customer.id,
    usage: isForMerchant ? "off_session" : "on_session",
    "payment_method_types[0]": "card",
    "metadata[attempt_id]": attemptReference,
  };
  return api.post(left(), "/v1/setup_intents", { key: creationKey(request), form });
}

function read(api: StripeApi, call: GatewayCall, { gatewayReference = "" }: AttemptAtGateway): Promise<GatewayReply> {
  return api.get(call, setUpPath(gatewayReference));
}

function isOurs(value: unknown, attempt: AttemptAtGateway): value is PaymentIntent {
  if (!isFor(value, attempt) || value.object !== "setup_intent") return false;
  return attempt.gatewayReference === undefined || value.id === attempt.gatewayReference;
}

function readNew(reply: GatewayReply, request: AttemptAtGateway): Prepared {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && isOurs(json, request)) return { type: "ready", id: json.id };
  return refusedOrUntrusted(reply.status, errorOf(json));
}

function readConfirmed(reply: GatewayReply, attempt: AttemptAtGateway, mayAsk: boolean): GatewayOutcome {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200) return isOurs(json, attempt) ? outcomeOf(json, mayAsk) : untrusted(200);
  const error = errorOf(json);
  const intent = error?.setup_intent;
  if (error !== undefined && isDecline(reply.status, error) && isOurs(intent, attempt)) {
    return intent.status === "requires_payment_method" ? judgeDecline(error, undefined) : untrusted(reply.status);
  }
  // It was confirmed before.
  if (error?.code === "setup_intent_unexpected_state") return undecided(reply.status);
  return refusedOrUntrusted(reply.status, error);
}

/** Returns the outcome of a setup intent. It holds nothing, so one that waits for its customer is declined without more ado. */
function outcomeOf(intent: PaymentIntent, mayAsk: boolean): GatewayOutcome {
  const { id: gatewayReference, status, last_setup_error: error } = intent;
  if (status === "succeeded") return { type: "held", gatewayReference, ...storedIn(intent, {}) };
  if (status === "processing") return undecided(200);
  if (status === "requires_action") {
    const url = mayAsk ? pageOf(intent) : undefined;
    if (url === undefined) return classifyDecline(declines, "authentication_required");
    return { type: "actionNeeded", gatewayReference, action: { url, method: "GET", fields: {} } };
  }
  return status === "requires_payment_method" && isObject(error)
    ? judgeDecline(error as Json, undefined)
    : untrusted(200);
}

function readState(reply: GatewayReply, attempt: AttemptAtGateway): LookUpAnswer {
  if (reply.type !== "answer") return { type: "inconclusive", reason: reply.reason };
  const intent = reply.status === 200 ? readJsonObject(reply) : undefined;
  if (!isOurs(intent, attempt)) return { type: "inconclusive", reason: untrusted(reply.status).reason };
  const { id: gatewayReference, status, last_setup_error: error } = intent;
  if (status === "succeeded") return { type: "held", gatewayReference, ...storedIn(intent, {}) };
  if (status === "canceled") return { type: "voided" };
  if (status === "requires_payment_method" && error === null) return { type: "absent" };
  if (status === "requires_payment_method" && isObject(error)) return judgeDecline(error as Json, undefined);
  return { type: "inconclusive", reason: "the gateway is still working on the set-up" };
}
