/** English. The texts that follow an answer of the service come later, from en-outcomes.ts. */

import type { OutcomeTexts, Texts } from "../texts.ts";

/** The texts of the first load. */
const firstTexts: Omit<Texts, keyof OutcomeTexts | "action"> = {
  pay: "Pay {amount}",
  loading: "The card form is still loading.",
  processing: "Processing your payment…",
  unreachable: "We cannot reach the payment service. Check your connection and try again.",
  formUnavailable: "The card form cannot be loaded. Check your connection and content blockers, then try again.",
  tryAgain: "Try again",
  notAccepted: "The payment cannot be made from this page. Please contact the shop.",
};

/** Whole as soon as the service's part has loaded; nothing that is missing before can be shown before. */
export const texts = firstTexts as Texts;
