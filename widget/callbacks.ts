/** A result of the state machine as the page's callbacks and the customer's words. */

import { type CheckoutResult, fieldProblems } from "./checkout.ts";
import type { Message } from "./form.ts";
import type { MountOptions } from "./options.ts";
import { declineText, type Texts } from "./texts.ts";

/** Calls one callback. What it throws is the page's own bug: reported as such, it must not stop a payment. */
export function tell<Args extends unknown[]>(callback: ((...args: Args) => void) | undefined, ...args: Args): void {
  try {
    callback?.(...args);
  } catch (error) {
    reportError(error);
  }
}

/** Calls the callback that belongs to a result; `pending` has been told while it was waited for. */
export function tellResult(result: CheckoutResult, options: MountOptions): void {
  switch (result.kind) {
    case "succeeded":
      tell(options.onSuccess, { capturedVia: result.capturedVia, failoverUsed: result.failoverUsed });
      break;
    case "declined":
      tell(options.onDeclined, { declineCode: result.declineCode });
      break;
    case "expired":
      if (options.onExpired) tell(options.onExpired);
      else tell(options.onDeclined, { declineCode: "session_expired" });
      break;
    case "failed":
      tell(options.onError, result.error);
      break;
    case "pending":
    case "unmounted":
      break;
  }
}

/** PURE. What the customer reads after a result; undefined where the card form itself says it at the field. */
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
  }
}

function failureMessage(code: string, texts: Texts): Message | undefined {
  if (fieldProblems.includes(code)) return undefined;
  if (code === "card_form_unavailable") return { kind: "error", text: texts.formUnavailable };
  const retryable = code === "unreachable" || code === "vault_unavailable";
  return { kind: "error", text: retryable ? texts.unreachable : texts.notAccepted };
}
