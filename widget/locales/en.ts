/** English. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Pay {amount}",
  processing: "Processing your payment…",
  succeeded: "Payment complete.",
  pending: "Your payment is taking longer than usual. It is still being processed: do not pay again.",
  expired: "This payment page has expired. Please start again.",
  expiresSoon: "This payment page will expire soon. Please complete your payment now.",
  unreachable: "We cannot reach the payment service. Check your connection and try again.",
  formUnavailable: "The card form cannot be loaded. Please reload the page.",
  notAccepted: "The payment cannot be made from this page. Please contact the shop.",
  declines: {
    card_declined: "Your card was declined. Please use another card.",
    insufficient_funds: "There is not enough money on this card. Please use another card.",
    card_expired: "This card has expired. Please use another card.",
    incorrect_number: "The card number is not correct. Check it and try again.",
    incorrect_cvc: "The security code is not correct. Check it and try again.",
    card_not_supported: "This kind of card is not accepted. Please use another card.",
    limit_exceeded: "This payment exceeds the card’s limit. Please use another card.",
    authentication_required: "Your bank asks for a confirmation that is not possible here. Please use another card.",
    currency_not_supported: "This card does not support the currency. Please use another card.",
    processing_unavailable: "The payment could not be processed. You have not been charged. Please try again later.",
    session_expired: "This payment page has expired. Please start again.",
  },
};
