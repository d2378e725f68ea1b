/** Maps a result of the state machine to the page's callbacks and the customer's message. */

import { type CheckoutResult, fieldProblems } from "./checkout.ts";
import type { Message } from "./form.ts";
import type { MountOptions } from "./options.ts";
import { declineText, type Texts } from "./texts.ts";
import { unreachable } from "./unreachable.ts";

/**
 * Calls one callback. An error that it throws is the page's own bug: it is reported as such and cannot stop a payment.
 */
export function emit<Args extends unknown[]>(callback: ((...args: Args) => void) | undefined, ...args: Args): void {
  try {
    callback?.(...args);
  } catch (error) {
    reportError(error);
  }
}

/** Calls the callback of a result; `pending` was called already while the payment was processing. */
export function emitResult(result: CheckoutResult, options: MountOptions): void {
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
      emit(options.onError, result.error);
      break;
    case "pending":
    case "unmounted":
      break;
    default:
      unreachable(result);
  }
}

/** PURE. Returns the customer's message after a result; undefined where the card form itself shows it at the field. */
export function messageFor(result: CheckoutResult, texts: Texts): Message | undefined {
  switch (result.kind) {
    case "succeeded":
      return { kind: "status", tone: "good", text: texts.succeeded };
    case "declined":
      return { kind: "error", text: declineText(texts, result.declineCode) };
    case "expired":
      return { kind: "error", text: texts.expired };
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

// One expression, because each further return costs bytes of the first load. A refused token is no outcome, yet certain:
// the service has answered, and nothing was charged.
function failureMessage(code: string, texts: Texts): Message | undefined {
  if (fieldProblems.includes(code)) return undefined;
  const text =
    code === "card_form_unavailable"
      ? texts.formUnavailable
      : code === "token_refused"
        ? texts.declines.processing_unavailable!
        : ["unreachable", "vault_unavailable"].includes(code)
          ? texts.unreachable
          : texts.notAccepted;
  return { kind: "error", text };
}
