/** What the service and the vault answer, in the words of the state machine. Types alone: every part of the widget may read them. */

/** How a session ended for its customer. Final. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly capturedVia: string; readonly failoverUsed: boolean }
  | { readonly kind: "declined"; readonly declineCode: string }
  | { readonly kind: "expired" };

/** A session as the service shows it to its customer. */
export type CheckoutView = {
  /** Undefined while it is open. */
  readonly outcome: Outcome | undefined;
  readonly processing: boolean;
  /** With its currency, as its customer reads it. */
  readonly amount: string;
  readonly merchantName: string;
  /** Networks that the shop takes; empty where the service cannot tell. */
  readonly cardBrands: readonly string[];
  /** The only origin that the card may be sent to. */
  readonly vaultOrigin: string;
  /** How long it can still be submitted; undefined once it was, or has ended. */
  readonly leftMs: number | undefined;
};

/** What went wrong for the integrator; a decline is an outcome and never one of these. */
export type WidgetError = { readonly code: string; readonly message: string };

/** The service answered, said no to the request itself, asked to come later, or gave no answer that says anything. */
export type ApiAnswer =
  | { readonly kind: "checkout"; readonly checkout: CheckoutView }
  | { readonly kind: "refused"; readonly error: WidgetError }
  | { readonly kind: "later"; readonly waitMs: number }
  | { readonly kind: "unreachable" };

/** What the state machine asks of the service. The promises never reject. */
export type SessionApi = {
  getCheckout(): Promise<ApiAnswer>;
  submitPayment(vaultToken: string): Promise<ApiAnswer>;
};

/** What the vault made of the card. */
export type CardAnswer =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "refused"; readonly error: WidgetError };
