/**
 * The fields of an authentication request of EMV 3DS 2.2.0 for a payment in a browser (messageCategory 01, deviceChannel
 * 02), as 3dsecure.io documents them: https://github.com/clearhaus/3DSv2-api-documentation, source/_static/areq_220.html
 * at 02faf2cca67a129c53ed04e23d378a261c349a1f (2026). Fields that this service never sends are left out.
 */

type Field = {
  readonly isRequired?: true;
  readonly type?: "boolean";
  readonly shape?: RegExp;
  readonly oneOf?: readonly string[];
  readonly min?: number;
  readonly max?: number;
};

const required = { isRequired: true } as const;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const number3 = /^\d{3}$/;
// The rules of Visa and Mastercard require what the specification leaves optional: the expiry, the holder and the email.

const areqFields: Readonly<Record<string, Field>> = {
  acctNumber: { ...required, shape: /^[0-9]{13,19}$/ },
  acquirerBIN: { ...required, max: 11 },
  acquirerMerchantID: { ...required, max: 35 },
  billAddrCity: { max: 50 },
  billAddrCountry: { shape: number3 },
  billAddrLine1: { max: 50 },
  billAddrLine2: { max: 50 },
  billAddrPostCode: { max: 16 },
  billAddrState: { max: 3 },
  browserAcceptHeader: { ...required, max: 2_048 },
  browserColorDepth: { ...required, oneOf: ["1", "4", "8", "15", "16", "24", "32", "48"] },
  browserIP: { max: 45 },
  browserJavaEnabled: { ...required, type: "boolean" },
  browserJavascriptEnabled: { ...required, type: "boolean" },
  browserLanguage: { ...required, min: 1, max: 8 },
  browserScreenHeight: { ...required, shape: /^[0-9]{1,6}$/ },
  browserScreenWidth: { ...required, shape: /^[0-9]{1,6}$/ },
  browserTZ: { ...required, shape: /^[+-]?[0-9]{1,4}$/ },
  browserUserAgent: { ...required, max: 2_048 },
  cardExpiryDate: { ...required, shape: /^\d{4}$/ },
  cardholderName: { ...required, min: 2, max: 45 },
  deviceChannel: { ...required, oneOf: ["02"] },
  email: { max: 254 },
  mcc: { ...required, shape: /^.{4}$/ },
  merchantCountryCode: { ...required, shape: number3 },
  merchantName: { ...required, max: 40 },
  messageCategory: { ...required, oneOf: ["01"] },
  messageType: { ...required, oneOf: ["AReq"] },
  messageVersion: { ...required, oneOf: ["2.2.0"] },
  notificationURL: { ...required, shape: /^https?:\/\//, max: 256 },
  purchaseAmount: { ...required, shape: /^\d{0,48}$/ },
  purchaseCurrency: { ...required, shape: number3 },
  purchaseDate: { ...required, shape: /^\d{14}$/ },
  purchaseExponent: { ...required, shape: /^\d$/ },
  purchaseInstalData: { shape: /^\d{1,3}$/ },
  recurringExpiry: { shape: /^\d{8}$/ },
  recurringFrequency: { shape: /^\d{1,4}$/ },
  threeDSCompInd: { ...required, oneOf: ["Y", "N", "U"] },
  threeDSRequestorAuthenticationInd: { ...required, shape: /^(0[1-7]|[89][0-9])$/ },
  threeDSRequestorChallengeInd: { shape: /^(0[1-9]|[89][0-9])$/ },
  threeDSRequestorURL: { ...required, shape: /^https?:\/\//, max: 2_048 },
  threeDSServerTransID: { ...required, shape: uuid },
  transType: { ...required, oneOf: ["01", "03", "10", "11", "28"] },
};

/** Returns every rule of the table that a request breaks. */
export function problemsOf(request: Readonly<Record<string, unknown>>): string[] {
  const missing = Object.entries(areqFields).filter(
    ([name, { isRequired }]) => isRequired && request[name] === undefined,
  );
  const wrong = Object.entries(request).filter(([name, value]) => !fits(areqFields[name], value));
  return [...missing.map(([name]) => `${name} is missing`), ...wrong.map(([name]) => `${name} is wrong`)];
}

function fits(field: Field | undefined, value: unknown): boolean {
  if (field === undefined) return false;
  if (field.type === "boolean") return typeof value === "boolean";
  if (typeof value !== "string" || /[^\x20-\x7e]/.test(value)) return false;
  const { shape, oneOf, min = 1, max = Number.POSITIVE_INFINITY } = field;
  return (shape?.test(value) ?? true) && (oneOf?.includes(value) ?? true) && value.length >= min && value.length <= max;
}
