/** The credentials that a merchant enters to connect an Adyen account. */
import type { CredentialField, Credentials } from "../connector.ts";

/** Returns the fields of an environment: only a live account has separate addresses. */
export function credentialFields(environment: "test" | "live"): readonly CredentialField[] {
  return [...common, ...(environment === "test" ? [] : [liveUrlPrefix]), ...reportFields];
}

const common: readonly CredentialField[] = [
  {
    name: "apiKey",
    label: "API key",
    // Base64 and punctuation, of a length that differs by age: https://docs.adyen.com/development-resources/api-credentials (2026).
    shape: /^[\x21-\x7e]{20,512}$/,
    hint: "Adyen Customer Area of this environment, Developers, API credentials: the credential's API key, at least 20 characters without a space.",
  },
  {
    name: "merchantAccount",
    label: "Merchant account",
    shape: /^[A-Za-z0-9][\w.-]{0,79}$/,
    hint: "The merchant account's name, such as YourCompanyECOM.",
  },
  {
    name: "hmacKey",
    label: "Notification HMAC key",
    // https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures (2026).
    shape: /^[0-9A-Fa-f]{64}$/,
    hint: "Adyen Customer Area, Developers, Webhooks: the 64 hexadecimal digits generated for the standard webhook.",
  },
];

// A report user's credentials: https://docs.adyen.com/reporting/automatically-get-reports (2026). Without them no statement is read.
const reportFields: readonly CredentialField[] = [
  {
    name: "reportUser",
    label: "Report user",
    isOptional: true,
    shape: /^[\x21-\x39\x3b-\x7e]{1,100}$/,
    hint: "Optional. Adyen Customer Area, Developers, API credentials: the name of a report user, such as report@Company.YourCompany. It needs its password below.",
  },
  {
    name: "reportPassword",
    label: "Report user's password",
    isOptional: true,
    shape: /^[\x20-\x7e]{1,200}$/,
    hint: "Optional. The password of the report user.",
  },
  {
    name: "reportApiKey",
    label: "Report service user's API key",
    isOptional: true,
    shape: /^[\x21-\x7e]{20,512}$/,
    hint: "Optional, in place of a report user: the API key of a report service user, at least 20 characters without a space.",
  },
];

/** Returns the fields of authentication alone, which needs no notifications. */
export function authenticationCredentialFields(environment: "test" | "live"): readonly CredentialField[] {
  const shared = credentialFields(environment).filter(({ name, isOptional }) => name !== "hmacKey" && !isOptional);
  return [...shared, requestorId, requestorName];
}

// Lengths: EMV 3DS 2.2, table A.1.
const requestorId: CredentialField = {
  name: "threeDSRequestorId",
  label: "Visa requestor ID",
  shape: /^[\x21-\x7e]{1,35}$/,
  hint: "The 3D Secure requestor ID from the acquirer that enrolled you at Visa: 1 to 35 characters without a space.",
};
const requestorName: CredentialField = {
  name: "threeDSRequestorName",
  label: "Visa requestor name",
  shape: /^[\x20-\x7e]{1,40}$/,
  hint: "The 3D Secure requestor name with which you are enrolled at Visa: 1 to 40 letters, digits and signs.",
};

const liveUrlPrefix: CredentialField = {
  name: "liveUrlPrefix",
  label: "Live URL prefix",
  // Random digits and the company: https://docs.adyen.com/development-resources/live-endpoints (2026). With the rest of
  // its label the prefix must fit a host name's limit of 63 characters per label.
  shape: /^[0-9a-fA-F]{16}-[A-Za-z0-9]{1,32}$/,
  hint: "Adyen live Customer Area, Developers, API URLs, Prefix: such as 1797a841fbb37ca7-YourCompany. Test accounts have none.",
};

/** Returns a credential in clear; empty if the connection has none. */
export function clear(credentials: Credentials, name: string): string {
  return credentials[name]?.expose() ?? "";
}
