/** What SANDBOX_B's answers mean. An answer counts only when it is documented and about this very payment. */
import { isSameAmount } from "../../amounts.ts";
import type {
  AttemptAtGateway,
  CaptureAnswer,
  Credentials,
  GatewayOutcome,
  Hold,
  NotProcessedCause,
  Refused,
  Unknown,
  VerifyRow,
  VoidAnswer,
} from "../../connector.ts";
import { classifyDecline } from "../../declines.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../gateway-http.ts";
import { unansweredAuthorize, unansweredChange, untrusted } from "../../unanswered.ts";
import type { AccountReading } from "../connector-parts.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

type Json = Readonly<Record<string, unknown>>;

/** Statuses that SANDBOX_B documents as "nothing was done", when its own error body comes with them. */
const notProcessed: Readonly<Record<number, NotProcessedCause>> = {
  400: "request_refused",
  401: "credentials_refused",
  403: "credentials_refused",
  422: "request_refused",
  429: "rate_limited",
};

/** Refusals after which repeating a capture or void is pointless; of the others the cause may go away. */
const definitive = new Set(["payment_not_found", "amount", "capture_not_allowed"]);

/** What an authorize came to; whatever is not documented or not about this attempt is unknown. */
export function readAuthorize(reply: GatewayReply, attempt: AttemptAtGateway): GatewayOutcome {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && json?.merchantReference === attempt.attemptReference && isAmountOf(json, attempt)) {
    const { resultCode, pspReference, refusalReasonCode } = json;
    if (resultCode === "Authorised" && typeof pspReference === "string") {
      return { type: "held", gatewayReference: pspReference };
    }
    if (resultCode === "Refused" && typeof refusalReasonCode === "string") {
      return classifyDecline(declines, refusalReasonCode);
    }
  }
  const cause = errorCodeOf(reply.status, json) === undefined ? undefined : notProcessed[reply.status];
  if (cause === undefined) return untrusted(reply.status);
  return { type: "notProcessed", cause, reason: `the gateway refused the request (HTTP ${reply.status})` };
}

/** Whether a capture was taken on; what came of it is told by a notice. */
export function readCapture(reply: GatewayReply, hold: Hold): CaptureAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 201 && isReceived(json, hold) && isAmountOf(json, hold)) return { type: "accepted" };
  return refusedOrUnknown(reply.status, json);
}

/** Whether a void was taken on; what came of it is told by a notice. */
export function readVoid(reply: GatewayReply, attempt: AttemptAtGateway): VoidAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 201 && isReceived(json, attempt)) return { type: "accepted" };
  if (errorCodeOf(reply.status, json) === "payment_not_found") return { type: "absent" };
  return refusedOrUnknown(reply.status, json);
}

/** Which account the credentials open and what it may do, or why that cannot be told. */
export function readAccount(reply: GatewayReply): AccountReading {
  if (reply.type !== "answer") return { type: "unreadable", because: `The gateway gave no answer: ${reply.reason}.` };
  const json = readJsonObject(reply);
  if (reply.status === 401) return { type: "unreadable", because: "The gateway does not know this key." };
  if (reply.status === 403) return { type: "unreadable", because: "The key does not open this merchant account." };
  if (reply.status !== 200 || typeof json?.merchantAccount !== "string") {
    return { type: "unreadable", because: `The gateway gave no account (HTTP ${reply.status}).` };
  }
  const { environment, rawCards, manualCapture, currencies: taken } = json;
  return { type: "account", environment, rawCards, manualCapture, currencies: taken };
}

/** Without a working way for notices nothing would ever be known of a capture, so both are required. */
export function notificationChecks(credentials: Credentials, reply: GatewayReply): VerifyRow[] {
  const hasKey = credentials.notificationHmacKey !== undefined;
  const asked = reply.type === "answer" && reply.status === 201;
  return [
    {
      check: "notification_secret",
      state: hasKey ? "passed" : "failed",
      required: true,
      detail: hasKey ? "The notification HMAC key is set." : "Enter the notification HMAC key.",
    },
    {
      check: "test_notice",
      state: asked ? "pending" : "failed",
      required: true,
      detail: asked
        ? "A test notice was asked for; it has not arrived yet."
        : "No test notice could be asked for: give the gateway this connection's notification address first.",
    },
  ];
}

function refusedOrUnknown(status: number, json: Json | undefined): Refused | Unknown {
  const gatewayCode = errorCodeOf(status, json);
  if (gatewayCode === undefined) return untrusted(status);
  return { type: "refused", definitive: definitive.has(gatewayCode), gatewayCode };
}

/** The code of SANDBOX_B's own error body, which repeats the HTTP status; undefined for anything else and for 5xx. */
function errorCodeOf(status: number, json: Json | undefined): string | undefined {
  const isOwn = status >= 400 && status < 500 && json?.status === status;
  return isOwn && typeof json.errorCode === "string" ? json.errorCode : undefined;
}

/** Whether this says that a capture or cancel of exactly our attempt was taken on. */
function isReceived(json: Json | undefined, attempt: AttemptAtGateway): json is Json {
  if (json?.status !== "received") return false;
  return attempt.gatewayReference === undefined
    ? json.paymentReference === attempt.attemptReference
    : json.paymentPspReference === attempt.gatewayReference && json.reference === attempt.attemptReference;
}

function isAmountOf(json: Json, attempt: AttemptAtGateway): boolean {
  return isObject(json.amount) && isSameAmount(currencies, attempt, json.amount.value, json.amount.currency);
}
