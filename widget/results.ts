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
    case "succeeded": {
      const { kind, ...success } = result;
      emit(options.onSuccess, success);
      break;
    }
    case "declined": {
      const { kind, ...decline } = result;
      emit(options.onDeclined, decline);
      break;
    }
    case "expired":
      if (options.onExpired) emit(options.onExpired);
      else emit(options.onDeclined, { declineCode: "session_expired" });
      break;
    case "failed":
      if (result.error.code === "wallet_cancelled") break;
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

/** Writes an error to the console, for the page's developer; not one that the form explains to the customer. */
function explain({ code, message }: WidgetError): void {
  if (fieldProblems.includes(code) || code === "order_being_paid") return;
  // The browser names the request that it has blocked; this names the remedy.
  const hint = code === "card_form_unavailable" ? cardFormHint : "";
  console.error(`Switchyard: ${code}: ${message} ${hint}`);
}

const cardFormHint = "Allow the vault's host in script-src and frame-src, and check that no content blocker stops it.";

/**
 * PURE. Returns the customer's message after a result; undefined if the card form itself shows it at the field.
 * `canRenew`: the pay button gets a fresh session.
 */
export function messageFor(result: CheckoutResult, texts: Texts, canRenew: boolean): Message | undefined {
  switch (result.kind) {
    case "succeeded":
    case "replaced":
    case "pending":
      return { kind: "status", tone: result.kind === "succeeded" ? "good" : "notice", text: texts[result.kind] };
    case "declined":
      return { kind: "error", text: declineText(texts, result.declineCode) };
    case "expired":
      return { kind: "error", text: canRenew ? texts.expiredRetry : texts.expired };
    case "unmounted":
      return undefined;
    case "failed":
      if (["wallet_cancelled", ...fieldProblems].includes(result.error.code)) return undefined;
      return { kind: "error", text: failureText(result.error.code, texts) };
    default:
      return unreachable(result);
  }
}

// These have no outcome, and nothing was charged: the service has refused the token, the page had no fresh session, or
// the vault has no time now.
const notCharged = [
  "token_refused",
  "session_unavailable",
  "rate_limited",
  "unavailable",
  "internal",
  "request_timeout",
];

function failureText(code: string, texts: Texts): string {
  if (code === "card_form_unavailable") return texts.formUnavailable;
  if (["unreachable", "vault_unavailable"].includes(code)) return texts.unreachable;
  return declineText(texts, notCharged.includes(code) ? "processing_unavailable" : code, texts.notAccepted);
}

/** Closes a switch over a union, as that of unreachable.ts does, which belongs to the first load. */
function unreachable(value: never): never {
  return value;
}
