/** The fields of a card payment at Adyen: those that every payment shares, and those that permit 3-D Secure. */

import { withoutPlaceholders } from "../../card-vault/card-vault.ts";
import type { BrowserData, Exemption } from "../authentication.ts";
import type { AuthorizeRequest } from "../connector.ts";

/** Holds first and captures later, without 3-D Secure; the vault fills in the card. */
export const cardFields = {
  paymentMethod: {
    type: "scheme",
    number: "{{card.number}}",
    expiryMonth: "{{card.expMonth}}",
    expiryYear: "{{card.expYear}}",
    cvc: "{{card.cvc}}",
    holderName: "{{card.holder}}",
    // The brand that the customer chose for a co-badged card, and otherwise left out:
    // https://docs.adyen.com/payment-methods/cards/raw-card-data#co-badged (2026).
    brand: "{{card.adyenBrand}}",
  },
  additionalData: { manualCapture: "true" },
  // A customer who would have to act is declined instead: https://docs.adyen.com/online-payments/3d-secure (2026).
  authenticationData: { attemptAuthentication: "never" },
  shopperInteraction: "Ecommerce",
  // Required but never used, since no customer is redirected. A name under .invalid never resolves (RFC 2606).
  returnUrl: "https://return.invalid/",
} as const;

/**
 * A decrypted token of a wallet, without 3-D Secure: the device has authenticated the customer. The text of the OpenAPI file, `networkToken`
 * in `CardDetails`, and `ThreeDSecureData`;
 * https://docs.adyen.com/payment-methods/apple-pay/api-only/apple-pay-token-decryption (2026).
 */
export const tokenFields = {
  paymentMethod: {
    type: "networkToken",
    number: "{{token.number}}",
    expiryMonth: "{{token.expMonth}}",
    expiryYear: "{{token.expYear}}",
  },
  mpiData: {
    tokenAuthenticationVerificationValue: "{{token.cryptogram}}",
    eci: "{{token.eci}}",
    directoryResponse: "Y",
    authenticationResponse: "Y",
  },
  additionalData: cardFields.additionalData,
  shopperInteraction: cardFields.shopperInteraction,
  returnUrl: cardFields.returnUrl,
} as const;

const scaExemptions: Record<Exemption, string> = {
  LOW_VALUE: "lowValue",
  RISK_ANALYSIS: "transactionRiskAnalysis",
};

/** Returns the fields that ask for an exemption: the text of the OpenAPI file, `AdditionalData3DSecure.scaExemption`. */
export function exemptionFields({ exemption }: AuthorizeRequest): object {
  if (exemption === undefined) return {};
  return { additionalData: { ...cardFields.additionalData, scaExemption: scaExemptions[exemption] } };
}

/**
 * Returns the fields that import another server's authentication: the text of the OpenAPI file, `ThreeDSecureData`;
 * https://docs.adyen.com/online-payments/3d-secure/authorize-mpidata (2026). The challenge's result is left out where
 * there was none.
 */
export function importFields({ proof }: AuthorizeRequest): object {
  if (proof === undefined) return {};
  const { cryptogram, eci, dsTransactionId, version, directoryStatus, transStatus, cartesBancaires } = proof;
  return {
    mpiData: {
      cavv: cryptogram,
      eci,
      dsTransID: dsTransactionId,
      threeDSVersion: version,
      directoryResponse: directoryStatus,
      ...(directoryStatus === "C" && { authenticationResponse: transStatus }),
      ...(cartesBancaires?.score && { riskScore: cartesBancaires.score }),
    },
  };
}

/** Returns what risk checks and banks need to know of the customer. */
export function customerFields({
  customerEmail,
  shopperIp,
}: Pick<AuthorizeRequest, "customerEmail" | "shopperIp">): object {
  const email = customerEmail === undefined ? undefined : plainAddress(customerEmail);
  return {
    ...(email === undefined ? {} : { shopperEmail: email }),
    ...(shopperIp === undefined ? {} : { shopperIP: shopperIp }),
  };
}

/** Returns only a plain address, because an address that a gateway finds malformed may cost the payment. */
function plainAddress(email: string): string | undefined {
  return /^[\w.+-]+@([a-z0-9-]+\.)+[a-z]{2,}$/i.test(email) ? email : undefined;
}

// The depths that Adyen accepts: the text of the OpenAPI file, `BrowserInfo.colorDepth`.
const colorDepths = [1, 4, 8, 15, 16, 24, 30, 32, 48];

/**
 * Returns the fields that permit Adyen to redirect the customer, in place of those that forbid it; undefined if the
 * customer cannot be challenged. Adyen takes the description of a browser whole or not at all. A browser that sends no
 * Accept header accepts everything (RFC 9110, section 12.5.1).
 */
export function askingFields({
  authentication,
  shopperUserAgent,
}: Pick<AuthorizeRequest, "authentication" | "shopperUserAgent">) {
  if (authentication === undefined || shopperUserAgent === undefined) return undefined;
  const { wish, browser, returnUrl } = authentication;
  return {
    browserInfo: {
      acceptHeader: withoutPlaceholders(browser.acceptHeader ?? "*/*"),
      userAgent: withoutPlaceholders(shopperUserAgent),
      language: withoutPlaceholders(browser.language),
      colorDepth: colorDepths.findLast((depth) => depth <= browser.colorDepth) ?? 1,
      screenHeight: browser.screenHeight,
      screenWidth: browser.screenWidth,
      timeZoneOffset: browser.timeZoneOffsetMinutes,
      javaEnabled: browser.javaEnabled,
    },
    channel: "Web",
    origin: new URL(returnUrl).origin,
    returnUrl,
    redirectFromIssuerMethod: "GET",
    authenticationData: {
      ...(wish === "always" && { attemptAuthentication: "always" }),
      threeDSRequestData: { nativeThreeDS: "disabled", challengeWindowSize: windowSizeOf(browser) },
    },
  };
}

// The widget's frame and its border; from this width of its place on, the frame is as large (widget/action.ts).
const wideFrom = 502;

/**
 * Returns the size in which the bank draws its page, by its number in EMV 3DS 2.2: 03 is 500 by 600 pixels, 05 fills
 * whatever frame or window the page is in.
 */
function windowSizeOf({ placeWidth = 0 }: BrowserData): "03" | "05" {
  return placeWidth >= wideFrom ? "03" : "05";
}
