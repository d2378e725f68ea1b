/** English. The declines but the first are in en-declines.ts. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Pay {amount}",
  processing: "Processing your payment…",
  succeeded: "Payment complete.",
  pending: "Your payment is taking longer than usual. It is still being processed: do not pay again.",
  expired: "This payment page has expired. Please start again.",
  expiresSoon: "This payment page will expire soon. Please complete your payment now.",
  unreachable: "We cannot reach the payment service. Check your connection and try again.",
  formUnavailable: "The card form cannot be loaded. Check your connection and try again.",
  tryAgain: "Try again",
  notAccepted: "The payment cannot be made from this page. Please contact the shop.",
  declines: {
    card_declined: "Your card was declined. Please use another card.",
  },
};
