/** SANDBOX_A's decline codes: Stripe's names, as many as the test cards and the tests need. */
import type { DeclineTable } from "../../declines.ts";

const source = "https://docs.stripe.com/declines/codes (2026), whose names the sandbox borrows";

export const declines: DeclineTable = {
  generic_decline: { kind: "SOFT_DECLINE", stop: "none", declineCode: "card_declined", source },
  processing_error: { kind: "SOFT_DECLINE", stop: "none", declineCode: "card_declined", source, again: source },
  insufficient_funds: { kind: "SOFT_DECLINE", stop: "none", declineCode: "insufficient_funds", source },
  card_velocity_exceeded: { kind: "SOFT_DECLINE", stop: "none", declineCode: "limit_exceeded", source },
  transaction_not_allowed: { kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined", source },
  card_not_supported: { kind: "HARD_DECLINE", stop: "none", declineCode: "card_not_supported", source },
  currency_not_supported: { kind: "HARD_DECLINE", stop: "none", declineCode: "currency_not_supported", source },
  expired_card: { kind: "HARD_DECLINE", stop: "same_card_fails", declineCode: "card_expired", source },
  incorrect_number: { kind: "HARD_DECLINE", stop: "same_card_fails", declineCode: "incorrect_number", source },
  incorrect_cvc: { kind: "HARD_DECLINE", stop: "same_card_fails", declineCode: "incorrect_cvc", source },
  invalid_account: { kind: "HARD_DECLINE", stop: "scheme_rule", declineCode: "incorrect_number", source },
  revocation_of_authorization: { kind: "HARD_DECLINE", stop: "scheme_rule", declineCode: "card_declined", source },
  lost_card: { kind: "HARD_DECLINE", stop: "scheme_rule", declineCode: "lost_or_stolen", source },
  stolen_card: { kind: "HARD_DECLINE", stop: "scheme_rule", declineCode: "lost_or_stolen", source },
  authentication_required: {
    kind: "SOFT_DECLINE",
    stop: "authentication_required",
    declineCode: "authentication_required",
    source,
  },
  authentication_failed: {
    kind: "SOFT_DECLINE",
    stop: "authentication_failed",
    declineCode: "authentication_failed",
    source: "https://docs.stripe.com/error-codes (2026), where it is payment_intent_authentication_failure",
  },
  fraudulent: { kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected", source },
};
