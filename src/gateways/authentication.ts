/**
 * Customer authentication (3-D Secure) as a gateway runs it: what it gets with an authorize, the action that it may
 * answer, and what it reports about the result. PURE.
 */
import type { Secret } from "../platform/secrets.ts";
import type { ChallengeMandate } from "./stored-cards.ts";

/** The customer's browser as 3-D Secure describes it (EMV 3DS 2.2, table A.1). Its page can show actions. */
export type BrowserData = {
  readonly javaEnabled: boolean;
  readonly colorDepth: number;
  readonly screenWidth: number;
  readonly screenHeight: number;
  readonly timeZoneOffsetMinutes: number;
  readonly language: string;
  readonly acceptHeader?: string | undefined;
  /** Width of the place in which the bank's page would be shown, in CSS pixels; 0 or absent if it is unknown. */
  readonly placeWidth?: number | undefined;
};

/**
 * Reasons for which an acquirer may ask the bank to do without an authentication, in the order of asking: the amount is
 * low, or the acquirer has assessed the risk itself. The merchant is liable then.
 */
export const exemptions = ["LOW_VALUE", "RISK_ANALYSIS"] as const;
export type Exemption = (typeof exemptions)[number];

/** Permission for a gateway to challenge the customer. Without one it has to decide without. */
export type AuthenticationWish = {
  /** `always`: the gateway must authenticate; `as_needed`: it decides. */
  readonly wish: "as_needed" | "always";
  readonly browser: BrowserData;
  /** Address to which the bank or the gateway returns the customer. */
  readonly returnUrl: string;
  /** The card is stored with the payment, so the bank must challenge the customer. Only with `always`. */
  readonly mandate?: ChallengeMandate | undefined;
};

/** A page that the customer has to see next. Its address and fields are the gateway's. */
export type Action = {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly fields: Readonly<Record<string, string>>;
};

/** Returns the address of a page that a browser can be sent to; undefined for anything else. */
export function pageAddress(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  return /^https?:$/.test(new URL(value).protocol) ? value : undefined;
}

/** The gateway needs the customer: nothing is held yet, and `action` has to be shown. */
export type ActionNeeded = {
  readonly type: "actionNeeded";
  /** Absent if the gateway names the payment only when it is completed. */
  readonly gatewayReference?: string | undefined;
  readonly action: Action;
  /** Data that the completing request needs. */
  readonly keep?: Secret | undefined;
};

/**
 * The proof of an authentication that a provider ran: gateways import it. Its cryptogram is in no log, event or answer.
 */
export type AuthenticationProof = {
  readonly version: string;
  /** Y or A. */
  readonly transStatus: string;
  /** The status in the directory's first answer: C where the customer was challenged. */
  readonly directoryStatus: string;
  readonly eci: string;
  /** The authentication value, 28 characters of Base64. */
  readonly cryptogram: string;
  readonly dsTransactionId: string;
  /** The wish about a challenge that the bank was sent. */
  readonly challengeIndicator: string;
  /** Present where Cartes Bancaires authenticated; a payment with its proof goes through that network. */
  readonly cartesBancaires?: CartesBancaires | undefined;
};

export type CartesBancaires = {
  /** The algorithm of the cryptogram. */
  readonly algorithm: string;
  /** A bitmap of three bytes in Base64. */
  readonly exemption?: string | undefined;
  /** A number from 0 to 99. */
  readonly score?: string | undefined;
};

export type AuthenticationResult = {
  readonly version?: string | undefined;
  readonly transStatus?: string | undefined;
  readonly transStatusReason?: string | undefined;
  readonly eci?: string | undefined;
  readonly dsTransactionId?: string | undefined;
  readonly liability?: "ISSUER" | "MERCHANT" | "UNKNOWN" | undefined;
};

// Shapes of EMV 3DS 2.2, and of 1.0.2 for the transaction id. Gateways write "N/A" and the like where they have nothing.
const shapes = {
  version: /^[12]\.\d{1,2}(\.\d{1,2})?$/,
  transStatus: /^[A-Z]$/,
  transStatusReason: /^\d\d$/,
  eci: /^0\d$/,
  dsTransactionId: /^[\w+/=-]{1,64}$/,
} as const;

/** Returns a result with the texts that are well formed; undefined if none is left. It has no cryptogram. */
export function resultOf(
  said: { readonly [Name in keyof typeof shapes]?: unknown },
  liability?: AuthenticationResult["liability"],
): AuthenticationResult | undefined {
  const texts = Object.entries(shapes).flatMap(([name, shape]) => {
    const text = said[name as keyof typeof shapes];
    return typeof text === "string" && shape.test(text) ? [[name, text] as const] : [];
  });
  const isEmpty = texts.length === 0 && liability === undefined;
  return isEmpty ? undefined : { ...Object.fromEntries(texts), ...(liability && { liability }) };
}

// EMV 3DS 2.2, table A.1, cardholderInfo: a merchant has to show it.
const messageCharactersMax = 128;
// Controls, breaks of lines, and the characters that turn the direction of the text after them.
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;

/** Returns the bank's message to the customer as one line of plain text; undefined if there is none. */
export function bankMessageIn(cardholderInfo: unknown): string | undefined {
  if (typeof cardholderInfo !== "string") return undefined;
  const line = cardholderInfo.toWellFormed().replace(unprintable, " ").trim();
  return [...line].slice(0, messageCharactersMax).join("") || undefined;
}

// Base64 in either alphabet, percent signs, and the marks that separate parts. Markup or a quote would be stopped before
// the gateway, whose answer to it would then be unreadable.
const redirectResults = /^[\w!%*+,./:=@~-]+$/;

/** Returns `redirectResult` of a customer's return; undefined for none, and for a text that no gateway has made. */
export function redirectResultIn(fields: URLSearchParams): string | undefined {
  const result = fields.get("redirectResult");
  return result !== null && redirectResults.test(result) ? result : undefined;
}

/** The data with which a payment is completed: what the connector kept, and what the customer's return brought. */
export type Completion = { readonly keep?: Secret | undefined; readonly returned?: Secret | undefined };
