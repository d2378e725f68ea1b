/** Maps a result of the state machine to the page's callbacks and the customer's message. */

import type { WidgetError } from "./answers.ts";
import type { Emit } from "./callbacks.ts";
import { type CheckoutResult, fieldProblems } from "./checkout.ts";
import type { Message } from "./form.ts";
import type { MountOptions } from "./options.ts";
import { declineText, type Texts } from "./texts.ts";

/** Calls the callback of a result; `pending` was called already while the payment was processing. */
export function emitResult(result: CheckoutResult, options: MountOptions, emit: Emit): void {
  switch (result.kind) {
    case "succeeded":
      emit(options.onSuccess, { capturedVia: result.capturedVia, failoverUsed: result.failoverUsed });
      break;
    case "declined":
      emit(options.onDeclined, { declineCode: result.declineCode });
      break;
    case "expired":
      if (options.onExpired) emit(options.onExpired);
      else emit(options.onDeclined, { declineCode: "session_expired" });
      break;
    case "failed":
      explain(result.error);
      emit(options.onError, result.error);
      break;
    // The page would open another session, and take the payment away from the page that the customer uses.
    case "replaced":
    case "pending":
    case "unmounted":
      break;
    default:
      unreachable(result);
  }
}

// The browser names the request that it has blocked; this names what to do. The customer's text says neither.
const hints: Readonly<Record<string, string>> = {
  card_form_unavailable:
    "Check that this page's Content-Security-Policy has the vault's host in script-src and frame-src, and that no content blocker stops it.",
  origin_not_allowed: "Register it as a checkout origin.",
};

/** Writes an error to the console, for the page's developer; not one that the card form shows to the customer. */
function explain({ code, message }: WidgetError): void {
  if (![...fieldProblems, "order_being_paid"].includes(code))
    console.error(`Switchyard: ${code}: ${message} ${hints[code] ?? ""}`);
}

/**
 * PURE. Returns the customer's message after a result; undefined where the card form itself shows it at the field.
 * `canRenew`: the pay button gets a fresh session.
 */
export function messageFor(result: CheckoutResult, texts: Texts, canRenew = false): Message | undefined {
  switch (result.kind) {
    case "succeeded":
      return { kind: "status", tone: "good", text: texts.succeeded };
    case "declined":
      return { kind: "error", text: declineText(texts, result.declineCode) };
    case "expired":
      return { kind: "error", text: canRenew ? texts.expiredRetry : texts.expired };
    case "replaced":
      return { kind: "status", tone: "notice", text: texts.replaced };
    case "pending":
      return { kind: "status", tone: "notice", text: texts.pending };
    case "unmounted":
      return undefined;
    case "failed":
      return failureMessage(result.error.code, texts);
    default:
      return unreachable(result);
  }
}

// No outcome, yet nothing was charged: the service has refused the token, the page had no fresh session, or the vault
// has no time now.
const notCharged = [
  "token_refused",
  "session_unavailable",
  "rate_limited",
  "unavailable",
  "internal",
  "request_timeout",
];

function failureMessage(code: string, texts: Texts): Message | undefined {
  if (fieldProblems.includes(code)) return undefined;
  if (code === "order_being_paid") return { kind: "error", text: declineText(texts, code) };
  if (code === "card_form_unavailable") return { kind: "error", text: texts.formUnavailable };
  if (notCharged.includes(code)) return { kind: "error", text: declineText(texts, "processing_unavailable") };
  const text = ["unreachable", "vault_unavailable"].includes(code) ? texts.unreachable : texts.notAccepted;
  return { kind: "error", text };
}

/** Closes a switch over a union, as that of unreachable.ts does, which belongs to the first load. */
function unreachable(value: never): never {
  return value;
}
