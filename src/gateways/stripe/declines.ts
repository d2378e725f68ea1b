/** Stripe's decline codes with their meaning here. answers.ts reads network advice and Radar's blocks beside them. */
import type { DeclineCode, DeclineRow, DeclineTable } from "../declines.ts";

const codes = "https://docs.stripe.com/declines/codes (2026)";
const errors = "https://docs.stripe.com/error-codes (2026)";
const testing = "https://docs.stripe.com/testing (2026)";
const blocks = "https://docs.stripe.com/declines#blocked-payments (2026): outcome.type is blocked, whatever the code";
const outcomes = "https://docs.stripe.com/api/charges/object#charge_object-outcome-reason (2026)";
const retries = "https://support.stripe.com/questions/payment-blocked-due-to-excessive-retries (2026)";
const cvcRule = "https://docs.stripe.com/radar/rules#built-in-rules (2026)";
const blind = (what: string) => `${codes}: ${what}`;

const soft = (declineCode: DeclineCode, source: string): DeclineRow => ({
  kind: "SOFT_DECLINE",
  stop: "none",
  declineCode,
  source,
});
const hard = (declineCode: DeclineCode, source: string): DeclineRow => ({
  kind: "HARD_DECLINE",
  stop: "none",
  declineCode,
  source,
});
/** The payment may be sent once more at once, as the next step that the page recommends says. */
const again = (source: string): DeclineRow => ({
  ...soft("card_declined", source),
  again: `${codes}: “attempt the payment again”`,
});
/** The issuer forbids every further attempt, at any gateway. */
const never = (declineCode: DeclineCode, source: string): DeclineRow => ({
  ...hard(declineCode, source),
  stop: "scheme_rule",
});
/** Every gateway returns the same answer until the customer corrects the card. */
const wrongCard = (declineCode: DeclineCode, source: string): DeclineRow => ({
  ...hard(declineCode, source),
  stop: "same_card_fails",
});
const fraud = (source: string): DeclineRow => ({
  kind: "FRAUD",
  stop: "fraud",
  declineCode: "fraud_suspected",
  source,
});
/** The bank wants the customer to authenticate. */
const authentication = (source: string): DeclineRow => ({
  kind: "SOFT_DECLINE",
  stop: "authentication_required",
  declineCode: "authentication_required",
  source,
});
/** The code of a payment, and that of a set-up. */
const unauthenticated: DeclineRow = {
  ...authentication(`${errors}: the customer did not authenticate, or the bank refused`),
  stop: "authentication_failed",
  declineCode: "authentication_failed",
};

/**
 * The meaning of each of Stripe's decline codes. Rows whose names begin with `blocked.` are reasons of a charge whose
 * `outcome.type` is `blocked`; `blocked` covers every other reason.
 */
export const declines: DeclineTable = {
  approve_with_id: again(blind("the payment cannot be authorized")),
  call_issuer: soft("card_declined", blind("unknown reason")),
  do_not_honor: soft("card_declined", blind("unknown reason")),
  generic_decline: soft("card_declined", blind("unknown reason, or a block by Radar, which is judged separately")),
  no_action_taken: soft("card_declined", blind("unknown reason")),
  reenter_transaction: again(blind("not processed by the issuer, for an unknown reason")),
  try_again_later: soft("card_declined", blind("unknown reason, for now; the customer should try again, later")),
  processing_error: again(blind("an error while processing the card")),
  issuer_not_available: again(blind("the issuer could not be reached")),
  insufficient_funds: soft("insufficient_funds", codes),
  card_velocity_exceeded: soft("limit_exceeded", codes),
  withdrawal_count_limit_exceeded: soft("limit_exceeded", codes),

  invalid_amount: hard("limit_exceeded", blind("invalid, or above what is allowed")),
  card_not_supported: hard("card_not_supported", codes),
  currency_not_supported: hard("currency_not_supported", codes),
  not_permitted: hard("card_declined", codes),
  service_not_allowed: hard("card_declined", codes),
  transaction_not_allowed: hard("card_declined", codes),
  incorrect_address: hard("card_declined", blind("an address check, which another gateway may not make")),
  incorrect_zip: hard("card_declined", blind("an address check, which another gateway may not make")),
  offline_pin_required: hard("card_declined", blind("needs the card itself")),
  online_or_offline_pin_required: hard("card_declined", blind("needs the card itself")),
  card_declined: hard("card_declined", `${errors}: a decline that names no reason`),

  expired_card: wrongCard("card_expired", codes),
  invalid_expiry_month: wrongCard("card_expired", errors),
  invalid_expiry_year: wrongCard("card_expired", errors),
  incorrect_number: wrongCard("incorrect_number", codes),
  invalid_number: wrongCard("incorrect_number", codes),
  incorrect_cvc: wrongCard("incorrect_cvc", codes),
  invalid_cvc: wrongCard("incorrect_cvc", codes),
  incorrect_pin: wrongCard("card_declined", codes),
  invalid_pin: wrongCard("card_declined", codes),
  new_account_information_available: wrongCard("card_declined", blind("the card or account has been replaced")),
  testmode_decline: wrongCard("incorrect_number", blind("a test card with a live key")),
  live_mode_test_card: wrongCard("incorrect_number", testing),
  test_mode_live_card: wrongCard("incorrect_number", testing),

  lost_card: never("lost_or_stolen", codes),
  stolen_card: never("lost_or_stolen", codes),
  pickup_card: never("lost_or_stolen", blind("possibly lost or stolen")),
  restricted_card: never("lost_or_stolen", blind("possibly lost or stolen; the stricter reading")),
  invalid_account: never("incorrect_number", blind("no such account; Visa's 14 and 46 forbid another attempt")),
  do_not_try_again: never("card_declined", codes),
  pin_try_exceeded: never("card_declined", codes),
  revocation_of_authorization: never("card_declined", blind("the customer forbade it (R1)")),
  revocation_of_all_authorizations: never("card_declined", blind("the customer forbade it (R3)")),
  stop_payment_order: never("card_declined", blind("the customer forbade it (R0)")),
  duplicate_transaction: never(
    "card_declined",
    blind("the same payment was just made; paying again may charge it twice"),
  ),
  card_decline_rate_limit_exceeded: never("limit_exceeded", `${errors}: declined too often; wait a day`),

  authentication_required: authentication(codes),
  authentication_not_handled: authentication(codes),
  mobile_device_authentication_required: authentication(codes),
  payment_intent_authentication_failure: unauthenticated,
  setup_intent_authentication_failure: unauthenticated,

  fraudulent: fraud(codes),
  merchant_blacklist: fraud(codes),
  security_violation: fraud(
    `${codes} gives no reason; filed under fraud by https://developer.spreedly.com/docs/normalized-values (2026)`,
  ),
  blocked: fraud(blocks),
  "blocked.low_probability_of_authorization": soft(
    "card_declined",
    `${outcomes}: not sent to the bank, which is unlikely to approve it at Stripe`,
  ),
  "blocked.previously_declined_do_not_retry": never("card_declined", `${retries}: tried too often`),
  "blocked.requested_block_on_incorrect_cvc": wrongCard(
    "incorrect_cvc",
    `${cvcRule}: the security code is wrong; the reason is named by the charge alone`,
  ),
};
