/**
 * The answers of the service and the vault, in the terms of the state machine. Types only: every part of the widget may
 * import them.
 */

import type { Offer } from "./wallet-sheets.ts";

/** The final outcome of a session for its customer. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly capturedVia: string; readonly failoverUsed: boolean }
  | { readonly kind: "declined"; readonly declineCode: string }
  | { readonly kind: "expired" }
  /** The merchant has created another session in its place, which another page shows. */
  | { readonly kind: "replaced" };

/** A session as the service shows it to its customer. */
export type CheckoutView = {
  /** Undefined while it is open. */
  readonly outcome: Outcome | undefined;
  readonly processing: boolean;
  /** True while another session pays the order: this one stays open, and takes no card. */
  readonly isOrderTaken?: boolean;
  /** The amount with its currency, formatted for the customer. */
  readonly amount: string;
  readonly merchantName: string;
  /** Networks that the shop accepts; empty if the service cannot know them. */
  readonly cardBrands: readonly string[];
  /** The wallets that the customer can pay with beside a card. */
  readonly wallets?: readonly Offer[] | undefined;
  /** The only origin that the card may be sent to. */
  readonly vaultOrigin: string;
  /** The time left to submit; undefined once it was submitted, or has ended. */
  readonly leftMs: number | undefined;
  /** The action that the customer has to complete before the payment continues; undefined while there is none. */
  readonly action: NextAction | undefined;
};

/** A step of customer authentication, which the bank's page requires. */
export type NextAction = {
  readonly authenticationId: string;
  /** True of the bank's device check, which the customer does not see. */
  readonly isHidden: boolean;
  /** False if the bank's page needs a separate window. */
  readonly isFramed: boolean;
  /** True once a page has shown it, this one or another. */
  readonly opened: boolean;
  readonly shownCount: number;
  readonly expiresInSeconds: number;
};

/**
 * An error for the integrator; a decline is an outcome and never one of these. `token_refused`: the service accepts no
 * payment with this token; another token of the same session may pay it.
 */
export type WidgetError = { readonly code: string; readonly message: string };

/** The service answered, refused the request itself, asked to retry later, or gave no usable answer. */
export type ApiAnswer =
  | { readonly kind: "checkout"; readonly checkout: CheckoutView }
  | { readonly kind: "refused"; readonly error: WidgetError }
  /** `isUntouched`: the service refused the call before it had any effect. */
  | { readonly kind: "later"; readonly waitMs: number; readonly isUntouched?: boolean }
  | { readonly kind: "unreachable" };

/** The state machine's calls to the service. The promises never reject. */
export type SessionApi = {
  getCheckout(): Promise<ApiAnswer>;
  submitPayment(vaultToken: string, saveCard?: SaveCard): Promise<ApiAnswer>;
};

/** The customer's consent to store the card: the sentence that was shown, by its name and language. */
export type SaveCard = { readonly template: string; readonly locale: string };

/** The vault's answer for a card. */
export type CardAnswer =
  | { readonly kind: "token"; readonly token: string; readonly saveCard?: SaveCard | undefined }
  | { readonly kind: "refused"; readonly error: WidgetError };
