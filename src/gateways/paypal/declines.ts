/** PayPal's decline codes with their meaning here. Issues about the request or the account are in refusals.ts. */
import type { DeclineCode, DeclineRow, DeclineTable } from "../declines.ts";

// The names are PayPal's own; it explains few of them, so most rows are judged by the name.
const specification = "https://github.com/paypal/paypal-rest-api-specifications (2026)";
const code = (name: string) => `${specification}, processor_response.response_code: ${name}`;
const issue = (why?: string) => `${specification}, orders_v2, issue${why === undefined ? "" : `: ${why}`}`;

// Issues that the specification lacks.
const errorPage = (name: string) => `https://developer.paypal.com/api/payments/v2/errors/${name} (2026)`;
// PayPal's own explanation of the codes; of most, it has the name alone.
const sdkPage =
  "https://github.com/paypal/PayPal-TypeScript-Server-SDK/blob/main/doc/models/processor-response-code.md (2026)";
const module =
  "https://github.com/PrestaShopCorp/ps_checkout (2026), PayPalException, which PayPal's own partner reads; by the name";

/** Returns the source of a row: a text with a URL as it is, any other as the name of a code. */
const sourceOf = (text: string) => (text.includes("https://") ? text : code(text));

const soft = (declineCode: DeclineCode, source: string): DeclineRow => ({
  kind: "SOFT_DECLINE",
  stop: "none",
  declineCode,
  source: sourceOf(source),
});
const hard = (declineCode: DeclineCode, source: string): DeclineRow => ({
  ...soft(declineCode, source),
  kind: "HARD_DECLINE",
});
/** Every gateway returns the same answer until the customer corrects the card. */
const wrongCard = (declineCode: DeclineCode, source: string): DeclineRow => ({
  ...hard(declineCode, source),
  stop: "same_card_fails",
});
/** The issuer or the network forbids every further attempt, at any gateway. */
const never = (declineCode: DeclineCode, source: string): DeclineRow => ({
  ...hard(declineCode, source),
  stop: "scheme_rule",
});
/** The bank wants the customer to authenticate, or the attempt at it broke off. */
const authentication = (source: string): DeclineRow => ({
  ...soft("authentication_required", source),
  stop: "authentication_required",
});
const fraud = (source: string): DeclineRow => ({
  kind: "FRAUD",
  stop: "fraud",
  declineCode: "fraud_suspected",
  source: sourceOf(source),
});

export const declines: DeclineTable = {
  "0100": soft("card_declined", "REFERRAL: call the issuer"),
  "0500": soft("card_declined", "DO_NOT_HONOR"),
  "0800": soft("card_declined", "BAD_RESPONSE_REVERSAL_REQUIRED"),
  "0880": soft("card_declined", "CRYPTOGRAPHIC_FAILURE"),
  "0960": soft("card_declined", "SYSTEM_MALFUNCTION"),
  "10BR": soft("card_declined", "ISSUER_REJECTED"),
  1393: soft("card_declined", "TRANSACTION_CANNOT_BE_COMPLETED"),
  5100: soft("card_declined", "GENERIC_DECLINE"),
  5120: soft("insufficient_funds", "INSUFFICIENT_FUNDS"),
  5190: soft("card_declined", "SOFT_AVS"),
  5710: soft("limit_exceeded", "TX_ATTEMPTS_EXCEED_LIMIT"),
  5910: soft("card_declined", "ISSUER_NOT_AVAILABLE_NOT_RETRIABLE"),
  // “Retriable”, here and in 8110, does not say when, and PayPal says no more about them.
  5920: soft("card_declined", "ISSUER_NOT_AVAILABLE_RETRIABLE"),
  7800: soft("card_declined", "BIN_ERROR"),
  8000: soft("card_declined", "PROCESSOR_SYSTEM_ERROR"),
  8010: soft("card_declined", "HOST_KEY_ERROR"),
  8020: soft("card_declined", "CONFIGURATION_ERROR"),
  8100: soft("card_declined", "FATAL_COMMUNICATION_ERROR"),
  8110: soft("card_declined", "RETRIABLE_COMMUNICATION_ERROR"),
  8220: soft("card_declined", "SYSTEM_UNAVAILABLE"),
  9100: { ...soft("card_declined", "DECLINED_PLEASE_RETRY"), again: `${sdkPage}: “Retry.”` },
  9600: soft("card_declined", "UNRECOGNIZED_RESPONSE_CODE"),
  PPAR: soft("card_declined", "AUTH_RESULT"),
  PPAX: soft("limit_exceeded", "AMOUNT_EXCEEDED"),
  PPDT: soft("limit_exceeded", "DECLINE_THRESHOLD_BREACH"),
  PPDV: soft("card_declined", "AUTH_MESSAGE"),
  PPEL: soft("limit_exceeded", "EXCEEDS_FREQUENCY_LIMIT"),
  PPER: soft("card_declined", "INTERNAL_SYSTEM_ERROR"),
  PPNL: soft("limit_exceeded", "EXCEEDS_NETWORK_FREQUENCY_LIMIT"),
  PPNT: soft("card_declined", "NETWORK_ERROR"),
  PPS3: soft("card_declined", "BANKAUTH_EXPIRED"),

  "0580": hard("card_declined", "UNAUTHORIZED_TRANSACTION"),
  "0890": hard("card_declined", "UNACCEPTABLE_PIN"),
  1300: hard("card_declined", "INVALID_DATA_FORMAT"),
  1310: hard("limit_exceeded", "INVALID_AMOUNT"),
  1317: hard("card_declined", "INVALID_CAPTURE_DATE"),
  1320: hard("currency_not_supported", "INVALID_CURRENCY_CODE"),
  1340: hard("card_declined", "INVALID_TERMINAL"),
  1350: hard("card_declined", "INVALID_MERCHANT"),
  1360: hard("card_declined", "BAD_PROCESSING_CODE"),
  1370: hard("card_declined", "INVALID_MCC"),
  1384: hard("card_declined", "INVALID_LIFE_CYCLE_OF_TRANSACTION"),
  1390: hard("card_declined", "INVALID_ORDER"),
  5160: hard("card_declined", "UNAUTHORIZED_USER"),
  5170: hard("card_declined", "AVS_FAILURE: an address check, which another gateway may not make"),
  5800: hard("card_declined", "REVERSAL_REJECTED"),
  5930: hard("card_declined", "CARD_NOT_ACTIVATED"),
  7900: hard("card_declined", "PIN_ERROR"),
  8030: hard("card_declined", "UNSUPPORTED_OPERATION"),
  9540: hard("card_declined", "REFUSED_CARD"),
  PCNR: hard("card_declined", "CONTINGENCIES_NOT_RESOLVED"),
  PPAD: hard("card_declined", "BILLING_ADDRESS: an address check, which another gateway may not make"),
  PPAE: hard("card_not_supported", "AMEX_DISABLED"),
  PPAG: hard("card_declined", "ADULT_GAMING_UNSUPPORTED"),
  PPAI: hard("limit_exceeded", "AMOUNT_INCOMPATIBLE"),
  PPAU: hard("card_declined", "MCC_CODE"),
  PPAV: hard("card_declined", "ARC_AVS: an address check, which another gateway may not make"),
  PPBG: hard("card_declined", "BAD_GAMING"),
  PPCE: hard("card_declined", "CE_REGISTRATION_INCOMPLETE"),
  PPCO: hard("card_declined", "COUNTRY"),
  PPCR: hard("card_declined", "CREDIT_ERROR"),
  PPCT: hard("card_not_supported", "CARD_TYPE_UNSUPPORTED"),
  PPCU: hard("currency_not_supported", "CURRENCY_USED_INVALID"),
  PPDC: hard("card_declined", "DCC_UNSUPPORTED"),
  PPDI: hard("card_not_supported", "DINERS_REJECT"),
  PPFE: hard("card_declined", "FUNDING_SOURCE_ALREADY_EXISTS"),
  PPFI: hard("card_declined", "INVALID_FUNDING_INSTRUMENT"),
  PPFV: hard("card_declined", "FIELD_VALIDATION_FAILED"),
  PPGR: hard("card_declined", "GAMING_REFUND_ERROR"),
  PPH1: hard("card_declined", "H1_ERROR"),
  PPIF: hard("card_declined", "IDEMPOTENCY_FAILURE"),
  PPII: hard("card_declined", "INVALID_INPUT_FAILURE"),
  PPIM: hard("card_declined", "ID_MISMATCH"),
  PPIT: hard("card_declined", "INVALID_TRACE_ID"),
  PPLR: hard("card_declined", "LATE_REVERSAL"),
  PPLS: hard("card_declined", "LARGE_STATUS_CODE"),
  PPMB: hard("card_declined", "MISSING_BUSINESS_RULE_OR_DATA"),
  PPMC: hard("card_not_supported", "BLOCKED_MASTERCARD"),
  PPMD: hard("card_declined", "DEPRECATED"),
  PPNC: hard("card_declined", "NOT_SUPPORTED_NRC"),
  PPNM: hard("card_declined", "NO_MID_FOUND"),
  PPPH: hard("card_declined", "NO_PHONE_FOR_DCC_TRANSACTION"),
  PPPI: hard("card_declined", "INVALID_PRODUCT"),
  PPPM: hard("card_declined", "INVALID_PAYMENT_METHOD"),
  PPQC: hard("card_declined", "QUASI_CASH_UNSUPPORTED"),
  PPRE: hard("card_declined", "UNSUPPORT_REFUND_ON_PENDING_BC"),
  PPRF: hard("card_declined", "INVALID_PARENT_TRANSACTION_STATUS"),
  PPRR: hard("card_declined", "MERCHANT_NOT_REGISTERED"),
  PPS0: hard("card_declined", "BANKAUTH_ROW_MISMATCH"),
  PPS1: hard("card_declined", "BANKAUTH_ROW_SETTLED"),
  PPS2: hard("card_declined", "BANKAUTH_ROW_VOIDED"),
  PPS4: hard("currency_not_supported", "CURRENCY_MISMATCH"),
  PPS5: hard("card_declined", "CREDITCARD_MISMATCH"),
  PPS6: hard("card_declined", "AMOUNT_MISMATCH"),
  PPSD: hard("card_declined", "STATUS_DESCRIPTION"),
  PPSE: hard("card_not_supported", "AMEX_DENIED"),
  PPTE: hard("card_declined", "VERIFICATION_TOKEN_EXPIRED"),
  PPTF: hard("card_declined", "INVALID_TRACE_REFERENCE"),
  PPTI: hard("card_declined", "INVALID_TRANSACTION_ID"),
  PPTR: hard("card_declined", "VERIFICATION_TOKEN_REVOKED"),
  PPTT: hard("card_declined", "TRANSACTION_TYPE_UNSUPPORTED"),
  PPTV: hard("card_declined", "INVALID_VERIFICATION_TOKEN"),
  PPUA: hard("card_declined", "USER_NOT_AUTHORIZED"),
  PPUC: hard("currency_not_supported", "CURRENCY_CODE_UNSUPPORTED"),
  PPUE: hard("card_declined", "UNSUPPORT_ENTITY"),
  PPUI: hard("card_declined", "UNSUPPORT_INSTALLMENT"),
  PPUP: hard("card_declined", "UNSUPPORT_POS_FLAG"),
  PPUR: hard("card_declined", "UNSUPPORTED_REVERSAL"),
  PPVC: hard("currency_not_supported", "VALIDATE_CURRENCY"),
  PPVE: hard("card_declined", "VALIDATION_ERROR"),
  PPVT: hard("card_declined", "VIRTUAL_TERMINAL_UNSUPPORTED"),

  "00N7": wrongCard("incorrect_cvc", "CVV2 failure (possible retry with CVV)"),
  1380: wrongCard("card_expired", "INVALID_EXPIRATION"),
  1382: wrongCard("incorrect_cvc", "INVALID_CARD_VERIFICATION_VALUE"),
  5110: wrongCard("incorrect_cvc", "CVV2_FAILURE"),
  5130: wrongCard("card_declined", "INVALID_PIN"),
  5400: wrongCard("card_expired", "EXPIRED_CARD"),
  5500: wrongCard("card_declined", "INCORRECT_PIN_REENTER"),
  5950: wrongCard("card_declined", "DECLINED_DUE_TO_UPDATED_ACCOUNT: the issuer has newer data"),
  PCVV: wrongCard("incorrect_cvc", "CVV_FAILURE"),
  PPC2: wrongCard("incorrect_cvc", "ARC_CVV"),
  PPEF: wrongCard("card_expired", "EXPIRED_FUNDING_INSTRUMENT"),
  PPEX: wrongCard("card_expired", "EXPIRY_DATE"),

  "0390": never("incorrect_number", "ACCOUNT_NOT_FOUND"),
  "0R00": never("card_declined", "CANCELLED_PAYMENT: the customer forbade it"),
  1312: never("card_declined", "INVALID_TRANSACTION_CARD_ISSUER_ACQUIRER: Visa's 12 forbids another attempt"),
  1330: never("incorrect_number", "INVALID_ACCOUNT"),
  1335: never("incorrect_number", "INVALID_ACCOUNT_RECURRING"),
  1352: never("lost_or_stolen", "RESTRICTED_OR_INACTIVE_ACCOUNT: restricted; the stricter reading"),
  5135: never("card_declined", "DECLINED_PIN_TRY_EXCEEDED"),
  5140: never("card_declined", "CARD_CLOSED"),
  5150: never("lost_or_stolen", "PICKUP_CARD_SPECIAL_CONDITIONS"),
  5180: never("incorrect_number", "INVALID_OR_RESTRICTED_CARD: PayPal: do not retry the same card"),
  5200: never("card_declined", "DUPLICATE_TRANSACTION: the same payment was just made"),
  5210: never("card_declined", "INVALID_TRANSACTION: Visa's 12 forbids another attempt"),
  5700: never("card_declined", "TRANSACTION_NOT_PERMITTED: Visa's 57 forbids another attempt"),
  5900: never("incorrect_number", "INVALID_ISSUE: no such issuer"),
  6300: never("incorrect_number", "ACCOUNT_NOT_ON_FILE"),
  9520: never("lost_or_stolen", "LOST_OR_STOLEN"),
  9530: never("card_declined", "HOLD_CALL_CENTER: the card should be retained; Visa's 04 forbids another attempt"),
  PP06: never("card_declined", "ACCOUNT_CLOSED"),
  PPAB: never("card_declined", "ACCOUNT_BLOCKED_BY_ISSUER"),
  PPFR: never("lost_or_stolen", "RESTRICTED_FUNDING_INSTRUMENT: restricted; the stricter reading"),
  PPRN: never("card_declined", "REATTEMPT_NOT_PERMITTED"),

  5650: authentication("DECLINED_SCA_REQUIRED"),
  7700: authentication("ERROR_3DS"),
  7710: {
    ...authentication("AUTHENTICATION_FAILED"),
    stop: "authentication_failed",
    declineCode: "authentication_failed",
  },
  PPD3: authentication("SECURE_ERROR_3DS"),

  9500: fraud("SUSPECTED_FRAUD"),
  9510: fraud("SECURITY_VIOLATION"),
  PPSC: fraud("ARC_SCORE: PayPal's own risk score"),

  // Issues of HTTP 422, where PayPal or its processor refuses without an authorization.
  DOMESTIC_TRANSACTION_REQUIRED: hard("card_declined", issue("only cards of the merchant's own country")),
  CARD_BRAND_NOT_SUPPORTED: hard("card_not_supported", issue()),
  CARD_COUNTRY_NOT_SUPPORTED: hard(
    "card_not_supported",
    "https://docs.upgrade.chat/payment-processors/paypal/troubleshooting/error-codes (2026): the card's country",
  ),
  CARD_TYPE_NOT_SUPPORTED: hard("card_not_supported", errorPage("card_type_not_supported")),
  PAYER_COUNTRY_NOT_SUPPORTED: hard("card_not_supported", module),
  CURRENCY_NOT_SUPPORTED_FOR_BANK: hard("currency_not_supported", issue("not about a card; listed for its name")),
  CURRENCY_NOT_SUPPORTED_FOR_CARD_BRAND: hard(
    "currency_not_supported",
    errorPage("currency_not_supported_for_card_brand"),
  ),
  CURRENCY_NOT_SUPPORTED_FOR_CARD_TYPE: hard("currency_not_supported", module),
  CURRENCY_NOT_SUPPORTED_FOR_COUNTRY: hard("currency_not_supported", module),
  TRANSACTION_LIMIT_EXCEEDED: hard("limit_exceeded", issue()),
  AUTHORIZATION_AMOUNT_EXCEEDED: hard("limit_exceeded", issue()),
  INSTRUMENT_DECLINED: soft("card_declined", issue("by the processor or the bank, which names no reason")),
  PAYMENT_SOURCE_DECLINED_BY_PROCESSOR: soft("card_declined", issue()),
  PAYMENT_SOURCE_CANNOT_BE_USED: hard("card_declined", issue()),
  PAYMENT_SOURCE_INFO_CANNOT_BE_VERIFIED: hard(
    "card_declined",
    issue("an address check, which another gateway may not make"),
  ),
  BILLING_ADDRESS_INVALID: hard("card_declined", issue("an address check; PayPal is sent no address")),
  REDIRECT_PAYER_FOR_ALTERNATE_FUNDING: hard("card_declined", issue("PayPal requests another card")),
  PAYER_CANNOT_PAY: hard("card_declined", issue()),
  PAYER_ACCOUNT_LOCKED_OR_CLOSED: hard("card_declined", issue("the customer's PayPal account")),
  PAYER_ACCOUNT_RESTRICTED: hard("card_declined", issue("the customer's PayPal account")),
  CARD_EXPIRED: wrongCard("card_expired", issue()),
  REFERENCED_CARD_EXPIRED: wrongCard("card_expired", issue()),
  INVALID_EXPIRY_DATE: wrongCard("card_expired", issue()),
  INVALID_SECURITY_CODE_LENGTH: wrongCard("incorrect_cvc", issue()),
  CARD_CLOSED: never("card_declined", "5140 has this name; the specification does not list it as an issue"),
  MAX_NUMBER_OF_PAYMENT_ATTEMPTS_EXCEEDED: never("limit_exceeded", issue("tried too often")),
  COMPLIANCE_VIOLATION: never("card_declined", issue("the law may forbid this payment")),
  PAYER_ACTION_REQUIRED: authentication(issue("the customer would have to act")),
  // An issue that repeats the error's name: the card's data or the account is wrong, and the answer does not say which.
  UNPROCESSABLE_ENTITY: {
    ...soft(
      "unclassified",
      "https://github.com/woocommerce/woocommerce-paypal-payments/issues/4271 (2026): no reason is named",
    ),
    stop: "unclassified",
  },
  PAYEE_BLOCKED_TRANSACTION: fraud(issue("the merchant's fraud settings at PayPal")),
  TRANSACTION_BLOCKED_BY_PAYEE: fraud(issue("the merchant's fraud settings at PayPal")),
  TRANSACTION_REFUSED: fraud(issue("PayPal's own controls, which name no reason; the stricter reading")),
  PAYMENT_DENIED: fraud(
    "https://github.com/paypal/PayPal-PHP-Server-SDK/issues/48 (2025), in no specification: PayPal itself declined; the stricter reading",
  ),
};
