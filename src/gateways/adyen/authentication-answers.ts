/**
 * Interprets Adyen's answers about authentication alone: an answer counts only for exactly our reference, and a proof
 * only if the authentication has finished. Pure.
 */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { Secret } from "../../platform/secrets.ts";
import { type Action, bankMessageIn, resultOf } from "../authentication.ts";
import type { ProviderEnd, ProviderResult, Unavailable } from "../authentication-provider.ts";
import { redirectIn } from "./answers.ts";
import type { Json } from "./judge-decline.ts";

/** Data that the calls of one authentication hand on. */
export type Kept = {
  /** Our name for it at Adyen: the session, which has at most one. */
  readonly reference: string;
  /** The card network, by the vault's name. */
  readonly network?: string | undefined;
  /** The wish about a challenge, once the request is on its way. */
  readonly challengeIndicator?: string;
  /** Set once the customer is sent to Adyen's page. */
  readonly isRedirected?: true;
};

export function readKept(keep: Secret): Kept {
  return JSON.parse(keep.expose()) as Kept;
}

/** Returns why Adyen does not know a card; undefined if it has answered for it. */
export function readCardDetails(reply: GatewayReply): Unavailable | undefined {
  const read = jsonOf(reply);
  return read.type === "unavailable" ? read : undefined;
}

/** Reads the answer to /payments: an end, or a page for the customer. */
export function readAnswer(
  reply: GatewayReply,
  kept: Kept,
): ProviderEnd | { readonly type: "challenge"; readonly action: Action } | Unavailable {
  const read = jsonOf(reply);
  if (read.type === "unavailable") return read;
  const { json } = read;
  if ((referenceIn(json) ?? kept.reference) !== kept.reference)
    return unavailable("the answer is about something else");
  if (json.resultCode !== "RedirectShopper") return readEnd(json, kept);
  const action = redirectIn(json.action);
  return action === undefined ? unavailable("the answer has no page") : { type: "challenge", action };
}

/** Reads the answer to /payments/details. What a customer brought may be of another payment: then it still waits. */
export function readDetails(reply: GatewayReply, kept: Kept): ProviderResult {
  const read = jsonOf(reply);
  if (read.type === "unavailable") return read;
  const { json } = read;
  const isOpen = typeof json.resultCode !== "string" || open.includes(json.resultCode);
  if (isOpen || referenceIn(json) !== kept.reference) return { type: "waiting" };
  return readEnd(json, kept);
}

/**
 * Returns Adyen's reference of a payment of ours that it authorized in spite of `authenticationOnly`; undefined if it
 * authorized nothing. An answer that names no payment is about `unnamed`. A payment with another reference is not ours
 * to cancel.
 */
export function paymentIn(reply: GatewayReply, kept: Kept, unnamed?: string): string | undefined {
  const read = jsonOf(reply);
  if (read.type === "unavailable") return undefined;
  const { resultCode, pspReference } = read.json;
  const isOurs = (referenceIn(read.json) ?? unnamed) === kept.reference;
  return isOurs && resultCode === "Authorised" ? text(pspReference) : undefined;
}

// The result codes that end nothing: https://docs.adyen.com/online-payments/payment-result-codes (2026).
const open = ["RedirectShopper", "IdentifyShopper", "ChallengeShopper", "Pending", "Received"];

/**
 * Reads the end of an authentication: the text of the OpenAPI file, `ThreeDS2Result`. An end that says nothing about the
 * bank has no status.
 */
function readEnd(json: Json, kept: Kept): ProviderEnd {
  const { resultCode, refusalReasonCode, threeDS2Result, threeDS2ResponseData } = json;
  if (!isObject(threeDS2Result)) return endOfRefusal(String(refusalReasonCode));
  const result = resultOf({
    ...threeDS2Result,
    version: threeDS2Result.messageVersion,
    dsTransactionId: threeDS2Result.dsTransID,
  });
  const { version, transStatus, eci, dsTransactionId } = result ?? {};
  const cryptogram = text(threeDS2Result.authenticationValue);
  // The directory's first answer. If the answer lacks it, a customer who was sent to the bank counts as challenged.
  const first = isObject(threeDS2ResponseData) ? text(threeDS2ResponseData.transStatus) : undefined;
  const directoryStatus = first ?? (kept.isRedirected ? "C" : transStatus);
  const challengeIndicator = text(threeDS2Result.threeDSRequestorChallengeInd) ?? kept.challengeIndicator ?? "01";
  const isSuccess = resultCode === "AuthenticationFinished" && (transStatus === "Y" || transStatus === "A");
  const isWhole = version && transStatus && eci && dsTransactionId && cryptogram && directoryStatus;
  return {
    type: "ended",
    result: { ...result },
    challengeCancel: text(threeDS2Result.challengeCancel),
    message: messageIn(json),
    ...(isSuccess &&
      isWhole && {
        proof: {
          version,
          transStatus,
          directoryStatus,
          eci,
          cryptogram,
          dsTransactionId,
          challengeIndicator,
          ...cartesBancairesOf(threeDS2Result),
        },
      }),
  };
}

/** Returns the bank's message: the text of the OpenAPI file, `ResponseAdditionalData3DSecure` and `ThreeDS2ResponseData`. */
function messageIn({ additionalData, threeDS2ResponseData }: Json): string | undefined {
  const [first, second] = [threeDS2ResponseData, additionalData].map((one) =>
    isObject(one) ? bankMessageIn(one.cardHolderInfo) : undefined,
  );
  return first ?? second;
}

/** Returns the data of Cartes Bancaires. Adyen's exemption indicator is a word, and not the network's bitmap. */
function cartesBancairesOf({ cavvAlgorithm, riskScore }: Json): object {
  if (!/^[0-4A]$/.test(String(cavvAlgorithm))) return {};
  const score = /^\d{1,2}$/.test(String(riskScore)) ? { score: String(riskScore) } : {};
  return { cartesBancaires: { algorithm: String(cavvAlgorithm), ...score } };
}

/**
 * Returns the end that a refusal without a result means: "3D Not Authenticated" (11) and "Shopper Cancelled" (16)
 * (https://docs.adyen.com/development-resources/refusal-reasons, 2026). Any other refusal says nothing about the
 * customer.
 */
function endOfRefusal(code: string): ProviderEnd {
  if (code === "16") return { type: "ended", result: { transStatus: "N" }, challengeCancel: "01" };
  return { type: "ended", result: code === "11" ? { transStatus: "N" } : {} };
}

/** Returns our reference, of which Adyen's examples have one in `additionalData`. */
function referenceIn({ merchantReference, additionalData }: Json): unknown {
  return merchantReference ?? (isObject(additionalData) ? additionalData.merchantReference : undefined);
}

function jsonOf(reply: GatewayReply): { readonly type: "json"; readonly json: Json } | Unavailable {
  if (reply.type === "neverSent") return unavailable(reply.reason, reply.cause === "connection_refused");
  if (reply.type === "noAnswer") return unavailable(reply.reason, !reply.lostAtVault);
  const { status } = reply;
  const json = status === 200 ? readJsonObject(reply) : undefined;
  if (json !== undefined) return { type: "json", json };
  if (status === 401) return unavailable("Adyen does not know the key");
  if (status === 403) return unavailable("the key does not open the merchant account, or may not send card numbers");
  return unavailable(`the answer is unusable (HTTP ${status})`, status >= 500);
}

// Codes of the messages have at most 36 characters, a cryptogram 28.
const texts = /^[\x21-\x7e]{1,64}$/;

function text(value: unknown): string | undefined {
  return typeof value === "string" && texts.test(value) ? value : undefined;
}

/** Returns the answer that says why no authentication took place. */
export function unavailable(reason: string, isOutage = false): Unavailable {
  return { type: "unavailable", reason, ...(isOutage && { isOutage }) };
}
