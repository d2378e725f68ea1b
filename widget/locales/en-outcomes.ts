/** English: the texts that follow an answer of the service. They come with the part that fetches the answer. */

import type { OutcomeTexts } from "../texts.ts";

export const outcomes: OutcomeTexts = {
  succeeded: "Payment complete.",
  pending: "Your payment is taking longer than usual. It is still being processed: do not pay again.",
  expired: "This payment page has expired. Please start again.",
  expiredRetry: "The time for this payment is over. You have not been charged. Please try again.",
  replaced: "This payment was continued elsewhere, such as in another tab or window. Please complete it there.",
  expiresSoon: "This payment page will expire soon. Please complete your payment now.",
  declines: {
    card_declined: "Your card was declined. Please use another card.",
    insufficient_funds: "There is not enough money on this card. Please use another card.",
    card_expired: "This card has expired. Please use another card.",
    incorrect_number: "The card number is not correct. Check it and try again.",
    incorrect_cvc: "The security code is not correct. Check it and try again.",
    card_not_supported: "This kind of card is not accepted. Please use another card.",
    limit_exceeded: "This payment exceeds the card’s limit. Please use another card.",
    authentication_required: "Your bank asks for a confirmation that is not possible here. Please use another card.",
    authentication_failed: "Your bank did not confirm this payment. You have not been charged. Please try again.",
    currency_not_supported: "This card does not support the currency. Please use another card.",
    processing_unavailable: "The payment could not be processed. You have not been charged. Please try again later.",
    session_expired: "This payment page has expired. Please start again.",
    order_being_paid: "This order is being paid in another tab or window. Wait a moment, then try again.",
    order_already_paid: "This order has already been paid. You have not been charged again.",
  },
};
