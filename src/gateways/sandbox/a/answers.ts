/** Interprets SANDBOX_A's answers. An answer counts only when it is documented and about this exact payment. */

import { type GatewayReply, isObject, readJsonObject } from "../../../platform/outbound-http.ts";
import { capturedAmountOf, fromGatewayAmount, isSameAmount, toGatewayAmount } from "../../amounts.ts";
import { type AuthenticationResult, pageAddress, resultOf } from "../../authentication.ts";
import type {
  ActionAnswer,
  AttemptAtGateway,
  CaptureAnswer,
  CaptureRecord,
  GatewayOutcome,
  Held,
  Hold,
  LookUpAnswer,
  NotProcessedCause,
  Refused,
  Unknown,
  VoidAnswer,
} from "../../connector.ts";
import { refusedRequest, unansweredAuthorize, unansweredChange, untrusted } from "../../unanswered.ts";
import type { AccountReading } from "../connector-parts.ts";
import { currencies } from "./currencies.ts";
import { judgeDecline } from "./judge-decline.ts";
import { storedIn } from "./stored-cards.ts";

type Json = Readonly<Record<string, unknown>>;
type OurAuthorization = Json & { readonly id: string };

/** Refusals that SANDBOX_A documents as "nothing was done", by status and error type. */
const notProcessed: Readonly<Record<string, NotProcessedCause>> = {
  "400 invalid_request_error": "request_refused",
  "401 authentication_error": "credentials_refused",
  "403 invalid_request_error": "credentials_refused",
  "409 invalid_request_error": "request_refused",
  "429 rate_limit_error": "rate_limited",
};

/** Refusals after which repeating a capture or void is pointless; the cause of any other may be temporary. */
const definitive = new Set(["already_voided", "already_declined", "capture_not_allowed", "amount"]);

/** Returns the outcome of an authorize. An answer that is undocumented or not about this attempt is unknown. */
export function readAuthorize(reply: GatewayReply, attempt: AttemptAtGateway): GatewayOutcome {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && isAbout(json, attempt) && json.status === "held") return heldIn(json);
  if (reply.status === 200 && isAbout(json, attempt) && json.status === "requires_action") {
    const url = urlOf(json.next_action);
    if (url !== undefined) {
      return { type: "actionNeeded", gatewayReference: json.id, action: { url, method: "GET", fields: {} } };
    }
  }
  const error = errorOf(json);
  if (reply.status === 402 && isAbout(error?.authorization, attempt) && typeof error?.decline_code === "string") {
    return judgeDecline(error, error.decline_code);
  }
  const cause = error && notProcessed[`${reply.status} ${error.type}`];
  return cause === undefined
    ? untrusted(reply.status)
    : refusedRequest(cause, reply.status, error?.code ?? error?.type);
}

function urlOf(action: unknown): string | undefined {
  const redirect = isObject(action) ? action.redirect_to_url : undefined;
  return pageAddress(isObject(redirect) ? redirect.url : undefined);
}

export function readAuthenticated(reply: GatewayReply): AuthenticationResult | undefined {
  const json = reply.type === "answer" ? readJsonObject(reply) : undefined;
  const result = (errorOf(json) ?? json)?.three_d_secure;
  if (!isObject(result)) return undefined;
  const { version, trans_status: transStatus, electronic_commerce_indicator: eci, transaction_id: id } = result;
  return resultOf({ version, transStatus, eci, dsTransactionId: id });
}

/** Returns the state of an action; inconclusive unless the record is about this attempt. */
export function readAction(reply: GatewayReply, attempt: AttemptAtGateway): ActionAnswer {
  if (reply.type !== "answer") return { type: "inconclusive", reason: reply.reason };
  const json = readJsonObject(reply);
  if (reply.status !== 200 || !isAbout(json, attempt)) {
    return { type: "inconclusive", reason: untrusted(reply.status).reason };
  }
  switch (json.status) {
    case "requires_action":
      return { type: "waiting" };
    case "requires_confirmation":
      return { type: "answered" };
    case "authentication_failed":
      return { type: "failed" };
    default:
      return readRecords([json], attempt);
  }
}

/** Returns the result of a capture; unknown unless the answer is about this hold and the amount that was ordered. */
export function readCapture(reply: GatewayReply, hold: Hold): CaptureAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  const authorization = reply.status === 200 ? json : authorizationCalled("already_captured", reply.status, json);
  const ordered = toGatewayAmount(currencies, capturedAmountOf(hold));
  const isCaptured = isAbout(authorization, hold) && authorization.status === "captured";
  if (isCaptured && ordered.type === "exact" && authorization.amount_captured === ordered.value) {
    return { type: "done", ...captureRecordIn(authorization) };
  }
  return refusedOrUnknown(reply.status, json, hold);
}

/** Returns the result of a void; unknown unless the answer is about this attempt. */
export function readVoid(reply: GatewayReply, attempt: AttemptAtGateway): VoidAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && json?.reference === attempt.attemptReference && json.status === "voided") {
    return { type: "done" };
  }
  const captured = authorizationCalled("already_captured", reply.status, json);
  if (captured?.reference === attempt.attemptReference) return { type: "alreadyCaptured" };
  const declined = authorizationCalled("already_declined", reply.status, json);
  if (declined?.reference === attempt.attemptReference) return { type: "absent" };
  // The account knows every payment that it has held. An account that does not know one of them is another account.
  const isNowhere = reply.status === 404 && errorOf(json)?.code === "not_found";
  if (isNowhere && attempt.gatewayReference === undefined) return { type: "absent" };
  return refusedOrUnknown(reply.status, json, attempt);
}

/** Reads the record under our reference: a captured payment before a hold, a hold before anything that ended. */
export function readLookUp(reply: GatewayReply, attempt: AttemptAtGateway): LookUpAnswer {
  if (reply.type !== "answer") return { type: "inconclusive", reason: reply.reason };
  const json = readJsonObject(reply);
  const records = json?.data;
  if (reply.status !== 200 || json?.reference !== attempt.attemptReference || !Array.isArray(records)) {
    return { type: "inconclusive", reason: untrusted(reply.status).reason };
  }
  return readRecords(records, attempt);
}

// The list has no payment whose customer is still being authenticated: a void by the gateway's own reference decides.
const unfound = {
  type: "inconclusive",
  reason: "the gateway does not know a payment that it has named",
  isUnfound: true,
} as const;

function readRecords(records: readonly unknown[], attempt: AttemptAtGateway): LookUpAnswer {
  if (records.length === 0) return attempt.gatewayReference === undefined ? { type: "absent" } : unfound;
  // A voided authorization holds nothing, whatever its amount was.
  const isOurs = (record: unknown, status: string) =>
    isObject(record) && record.reference === attempt.attemptReference && record.status === status;
  const other = records.find((record) => !isAbout(record, attempt) && !isOurs(record, "voided"));
  if (other !== undefined) {
    const id = isObject(other) && isOurs(other, "held") ? other.id : undefined;
    if (typeof id === "string") return { type: "heldOther", gatewayReference: id };
    return { type: "inconclusive", reason: "the gateway has another amount, currency or reference on record" };
  }
  const ours = records.filter((record) => isAbout(record, attempt));
  const inState = (status: string) => ours.find((record) => record.status === status);
  const captured = inState("captured");
  if (captured !== undefined) return capturedIn(captured);
  const held = inState("held");
  if (held !== undefined) return heldIn(held);
  if (records.some((record) => isOurs(record, "voided"))) return { type: "voided" };
  const declined = inState("declined");
  if (typeof declined?.decline_code === "string") return judgeDecline(declined, declined.decline_code);
  return { type: "inconclusive", reason: "the gateway's record is in an undocumented state" };
}

/** Returns the account that the credentials open and its rights, or why it could not be read. */
export function readAccount(reply: GatewayReply): AccountReading {
  if (reply.type !== "answer") return { type: "unreadable", reason: `The gateway did not answer: ${reply.reason}.` };
  const json = readJsonObject(reply);
  if (reply.status === 401) return { type: "unreadable", reason: "The gateway does not know this key." };
  if (reply.status !== 200 || json?.object !== "account" || typeof json.id !== "string") {
    return { type: "unreadable", reason: `The gateway returned no account (HTTP ${reply.status}).` };
  }
  const { id, environment, raw_cards: rawCards, manual_capture: manualCapture, currencies: taken } = json;
  return { type: "account", id, environment, rawCards, manualCapture, currencies: taken };
}

function refusedOrUnknown(status: number, json: Json | undefined, attempt: AttemptAtGateway): Refused | Unknown {
  const error = errorOf(json);
  if (status < 400 || status >= 500 || typeof error?.code !== "string") return untrusted(status);
  const aboutAnother = isObject(error.authorization) && error.authorization.reference !== attempt.attemptReference;
  if (aboutAnother) return untrusted(status);
  return { type: "refused", definitive: definitive.has(error.code), gatewayCode: error.code };
}

/** Reports whether this is an authorization of exactly our attempt: its reference, its amount, its currency. */
function isAbout(record: unknown, attempt: AttemptAtGateway): record is OurAuthorization {
  return (
    isObject(record) &&
    typeof record.id === "string" &&
    record.reference === attempt.attemptReference &&
    (attempt.gatewayReference === undefined || record.id === attempt.gatewayReference) &&
    isSameAmount(currencies, attempt, record.amount, record.currency)
  );
}

function heldIn({ id: gatewayReference, capture_before: end, ...record }: OurAuthorization): Held {
  const saysEnd = typeof end === "string" && Number.isFinite(Date.parse(end));
  return {
    type: "held",
    gatewayReference,
    ...transactionIn(record),
    ...(saysEnd && { heldUntil: new Date(end) }),
    ...(typeof record.customer === "string" && storedIn(record, transactionIn(record))),
  };
}

function capturedIn(record: OurAuthorization): LookUpAnswer {
  const captured = fromGatewayAmount(currencies, record.amount_captured, record.currency);
  if (captured === undefined || captured.amountMinor < 1 || Number(record.amount_captured) > Number(record.amount)) {
    return { type: "inconclusive", reason: "the gateway's record of the capture has no valid amount" };
  }
  const { amountMinor: capturedMinor } = captured;
  return { type: "captured", gatewayReference: record.id, capturedMinor, ...captureRecordIn(record) };
}

function captureRecordIn(record: Json): CaptureRecord {
  const { capture } = record;
  return { ...(typeof capture === "string" && { captureReference: capture }), ...transactionIn(record) };
}

function transactionIn({ network_transaction_id: id }: Json): Pick<CaptureRecord, "networkTransactionId"> {
  return typeof id === "string" ? { networkTransactionId: id } : {};
}

function authorizationCalled(code: string, status: number, json: Json | undefined): Json | undefined {
  const error = errorOf(json);
  return status === 409 && error?.code === code && isObject(error.authorization) ? error.authorization : undefined;
}

export function errorOf(json: Json | undefined): Json | undefined {
  return isObject(json?.error) ? json.error : undefined;
}
