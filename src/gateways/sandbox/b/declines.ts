/** SANDBOX_B's refusal reason codes: Adyen's numbers, as many as the test cards and the tests need. */
import type { DeclineTable } from "../../declines.ts";

const source = "https://docs.adyen.com/development-resources/refusal-reasons (2026), whose numbers the sandbox borrows";
const again = "a rule of the sandbox's own, so that a retry can be tried at both sandbox gateways";

export const declines: DeclineTable = {
  "2": { kind: "SOFT_DECLINE", stop: "none", declineCode: "card_declined", source },
  "4": { kind: "SOFT_DECLINE", stop: "none", declineCode: "card_declined", source, again },
  "5": { kind: "HARD_DECLINE", stop: "scheme_rule", declineCode: "lost_or_stolen", source },
  "6": { kind: "HARD_DECLINE", stop: "same_card_fails", declineCode: "card_expired", source },
  "8": { kind: "HARD_DECLINE", stop: "same_card_fails", declineCode: "incorrect_number", source },
  "10": { kind: "HARD_DECLINE", stop: "none", declineCode: "card_not_supported", source },
  "11": {
    kind: "SOFT_DECLINE",
    stop: "authentication_failed",
    declineCode: "authentication_failed",
    source,
  },
  "12": { kind: "SOFT_DECLINE", stop: "none", declineCode: "insufficient_funds", source },
  "14": { kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected", source },
  "20": { kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected", source },
  "22": { kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected", source },
  "23": { kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined", source },
  "24": { kind: "HARD_DECLINE", stop: "same_card_fails", declineCode: "incorrect_cvc", source },
  "26": { kind: "HARD_DECLINE", stop: "scheme_rule", declineCode: "card_declined", source },
  "28": { kind: "SOFT_DECLINE", stop: "none", declineCode: "limit_exceeded", source },
  "31": { kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected", source },
  "38": {
    kind: "SOFT_DECLINE",
    stop: "authentication_required",
    declineCode: "authentication_required",
    source,
  },
};
