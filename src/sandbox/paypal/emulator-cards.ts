/**
 * PayPal's own test numbers and names at its emulator: https://developer.paypal.com/tools/sandbox/card-testing/ (2026).
 */
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";

/** PayPal's own test numbers; each is approved unless the name on the card says otherwise. */
export const paypalTestNumbers: readonly string[] = [
  "371449635398431",
  "2223000048400011",
  "4005519200000004",
  "4012000033330026",
  "4012000077777777",
  "4012888888881881",
  "4217651111111119",
  "4500600000000061",
];

/**
 * PayPal's own numbers for 3-D Secure: the first passes, the second fails whatever the customer does
 * (https://developer.paypal.com/docs/checkout/advanced/customize/3d-secure/test/, 2026).
 */
export const paypalSecureNumbers = ["4868719196829038", "4868719158130060"] as const;

/** Names on the card that make PayPal's sandbox decline, with the processor's code. */
const triggers: Readonly<Record<string, string>> = {
  "CCREJECT-REFUSED": "0500",
  "CCREJECT-SF": "9500",
  "CCREJECT-EC": "5400",
  "CCREJECT-IRC": "5180",
  "CCREJECT-IF": "5120",
  "CCREJECT-LS": "9520",
  "CCREJECT-IA": "1330",
  "CCREJECT-BANK_ERROR": "5100",
  "CCREJECT-CVV_F": "00N7",
};

/** Returns the behaviour that the name on the card requests of PayPal's sandbox; undefined for any other name. */
export function askedByName(name: string | undefined): CardBehaviour | undefined {
  const code = name !== undefined && Object.hasOwn(triggers, name) ? triggers[name] : undefined;
  return code === undefined ? undefined : { act: "decline", code };
}

/** Returns the behaviour of PayPal's own numbers; undefined for any other. */
export function paypalCardBehaviour(number: string): CardBehaviour | undefined {
  if (paypalTestNumbers.includes(number)) return { act: "approve" };
  const isSecure = paypalSecureNumbers.some((one) => one === number);
  return isSecure
    ? { act: "authenticate", when: "as_needed", code: payerWanted, passed: { act: "approve" } }
    : undefined;
}

const payerWanted = "PAYER_ACTION_REQUIRED";
// A bank's own decline: https://github.com/paypal/paypal-rest-api-specifications (2026), DECLINED_SCA_REQUIRED.
const softDeclined = "5650";

/** The sandbox gateway's codes with PayPal's; an issue of HTTP 422 if there is no authorization. */
const codes: Readonly<Record<string, string>> = {
  authentication_required: payerWanted,
  expired_card: "5400",
  fraudulent: "9500",
  incorrect_number: "1330",
  generic_decline: "5100",
  insufficient_funds: "5120",
  invalid_account: "1330",
  processing_error: "9100",
  revocation_of_authorization: "0500",
  stolen_card: "9520",
  transaction_not_allowed: "5100",
};

export function inPayPalsWords(behaviour: CardBehaviour): CardBehaviour {
  if (behaviour.act === "authenticate") {
    const code = behaviour.when === "as_needed" ? payerWanted : softDeclined;
    return { ...behaviour, code, passed: inPayPalsWords(behaviour.passed) };
  }
  if (behaviour.act !== "decline") return behaviour;
  const { code } = behaviour;
  return { ...behaviour, code: codes[code] ?? code };
}
