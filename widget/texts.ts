/** The widget's texts for the customer. Each file in locales/ holds these texts in one language. */

/** Every text of the widget in one language. */
export type Texts = {
  /** The pay button; `{amount}` is replaced by the amount with its currency. */
  readonly pay: string;
  /** Explains a pay button that cannot be pressed yet. */
  readonly loading: string;
  readonly processing: string;
  readonly succeeded: string;
  readonly pending: string;
  readonly expired: string;
  /** Shown in place of expired where the pay button gets a fresh session. */
  readonly expiredRetry: string;
  /** Shown where the payment was continued in another session, such as in a second tab. */
  readonly replaced: string;
  /** Shown about two minutes before the end. */
  readonly expiresSoon: string;
  readonly unreachable: string;
  readonly formUnavailable: string;
  /** The button below unreachable and formUnavailable, where the form did not open. */
  readonly tryAgain: string;
  readonly notAccepted: string;
  readonly action: ActionTexts;
  /** The texts by public decline code. A code without a text is shown as card_declined. */
  readonly declines: { readonly card_declined: string; [code: string]: string };
};

/** The texts of the part that shows an action. */
export type ActionTexts = {
  /** The heading, and the name of the bank's frame. */
  readonly heading: string;
  /** Shown above the button that opens the bank's page in a window. */
  readonly inWindow: string;
  readonly goToBank: string;
  /** The link below the bank's frame. */
  readonly newWindow: string;
  /** Shown where no window can be opened. */
  readonly noWindow: string;
  /** Shown while another page shows the action, with the button that takes it over. */
  readonly elsewhere: string;
  readonly continueHere: string;
  /** Shown while the bank's page is open in a window, or cannot be shown again. */
  readonly waiting: string;
  readonly cancel: string;
  /** Announced when less than two minutes are left. */
  readonly soon: string;
};

/** The texts that follow an answer of the service. */
export type OutcomeTexts = Pick<
  Texts,
  "succeeded" | "pending" | "expired" | "expiredRetry" | "replaced" | "expiresSoon" | "declines"
>;

/** PURE. Returns the text of a decline; `otherwise` for a code that has none. */
export function declineText({ declines }: Texts, declineCode: string, otherwise = declines.card_declined): string {
  return (Object.hasOwn(declines, declineCode) && declines[declineCode]) || otherwise;
}
