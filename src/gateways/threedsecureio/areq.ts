/**
 * The authentication request of EMV 3DS 2.1.0 and 2.2.0 (AReq) for a payment in a browser, with placeholders for the
 * card. The field table is in areq-fields.fixture.ts. Pure.
 */
import anyAscii from "any-ascii";
import { withoutPlaceholders } from "../../card-vault/card-vault.ts";
import { countryNumber, currencyNumber } from "../../platform/iso-numbers.ts";
import { isoExponent } from "../../platform/money.ts";
import type { AuthenticationRequest } from "../authentication-provider.ts";
import type { BillingAddress } from "../connector.ts";
import { mandateFields } from "../stored-cards.ts";

/** The part of a request that the 3DS server's first answer decides. */
export type AReqTransaction = { readonly threeDSServerTransID: string; readonly messageVersion: string };

/** Returns the wish about a challenge: none, or a mandate. */
export function challengeIndicatorOf({
  isMandated,
  mandate,
}: Pick<AuthenticationRequest, "isMandated" | "mandate">): string {
  return isMandated || mandate !== undefined ? "04" : "01";
}

/** Returns the request as the vault gets it. Fields without a value are left out. */
export function areqOf(request: AuthenticationRequest, transaction: AReqTransaction): object {
  const { acquirer, browser, returnUrl, currency } = request;
  return {
    messageType: "AReq",
    ...transaction,
    deviceChannel: "02",
    messageCategory: "01",
    transType: "01",
    threeDSRequestorAuthenticationInd: "01",
    threeDSRequestorChallengeInd: challengeIndicatorOf(request),
    ...(request.mandate && mandateFields(request.mandate, request)),
    threeDSRequestorURL: new URL(returnUrl).origin,
    threeDSCompInd: request.methodIndicator,
    notificationURL: returnUrl,
    acctNumber: "{{card.number}}",
    cardExpiryDate: "{{card.expYear2}}{{card.expMonth}}",
    cardholderName: "{{card.emvHolder}}",
    // An address without its other letters would be another person's.
    email: isPlain(request.customerEmail) ? request.customerEmail : undefined,
    ...addressOf(request.billingAddress),
    purchaseAmount: String(request.amountMinor),
    purchaseCurrency: currencyNumber(currency),
    purchaseExponent: String(isoExponent(currency)),
    purchaseDate: request.purchasedAt.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14),
    acquirerBIN: acquirer.acquirerBin,
    acquirerMerchantID: acquirer.acquirerMerchantId,
    mcc: acquirer.mcc,
    merchantName: plain(acquirer.merchantName, 40),
    merchantCountryCode: countryNumber(acquirer.country),
    browserAcceptHeader: plain(browser.acceptHeader ?? "*/*", 2_048),
    browserIP: request.shopperIp?.slice(0, 45),
    browserJavascriptEnabled: true,
    browserJavaEnabled: browser.javaEnabled,
    browserLanguage: /^.{1,8}(?=-|$)/.exec(browser.language)?.[0] ?? "en",
    browserColorDepth: colorDepthOf(browser.colorDepth),
    browserScreenHeight: String(browser.screenHeight),
    browserScreenWidth: String(browser.screenWidth),
    browserTZ: String(browser.timeZoneOffsetMinutes),
    browserUserAgent: plain(request.shopperUserAgent ?? "unknown", 2_048),
  };
}

const colorDepths = [48, 32, 24, 16, 15, 8, 4, 1];

/** Returns the next lower depth that the messages know: some screens have 30 bits. */
function colorDepthOf(depth: number): string {
  return String(colorDepths.find((known) => known <= depth) ?? 1);
}

function addressOf(address: BillingAddress | undefined): object {
  if (address === undefined) return {};
  const { line1, line2, city, postalCode, region, country } = address;
  const fields = { billAddrLine1: plain(line1, 50).trim(), billAddrCity: plain(city, 50).trim() };
  // An address in another script becomes empty, and no field may be empty.
  if (fields.billAddrLine1 === "" || fields.billAddrCity === "") return {};
  return {
    ...fields,
    billAddrLine2: plain(line2 ?? "", 50).trim() || undefined,
    billAddrPostCode: plain(postalCode, 16).trim() || undefined,
    // The code of ISO 3166-2; any other text is none.
    billAddrState: region && /^[A-Z0-9]{1,3}$/.test(region) ? region : undefined,
    billAddrCountry: countryNumber(country),
  };
}

function isPlain(email: string | undefined): boolean {
  return email !== undefined && email.length <= 254 && /^[\x21-\x7e]+$/.test(email) && !email.includes("{{");
}

/** Returns text in the characters that the messages carry, without a placeholder, at most this long. */
function plain(text: string, charactersMax: number): string {
  const ascii = anyAscii(text).replaceAll(/[^\x20-\x7e]/g, "");
  return withoutPlaceholders(ascii).slice(0, charactersMax);
}
