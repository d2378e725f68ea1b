/**
 * Interprets the answers of 3dsecure.io's 3DS server (docs.3dsecure.io, 2026): an answer counts only for exactly our
 * transaction. Pure.
 */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { bankMessageIn, type CartesBancaires, pageAddress, resultOf } from "../authentication.ts";
import type { ProviderEnd, Unavailable } from "../authentication-provider.ts";

type Json = Readonly<Record<string, unknown>>;

/** Data that the calls of one authentication hand on. */
export type Kept = {
  readonly threeDSServerTransID: string;
  readonly messageVersion: string;
  /** The wish about a challenge, once the request is on its way. */
  readonly challengeIndicator?: string;
  /** A part of the first answer if Cartes Bancaires asks for a challenge. */
  readonly cartesBancaires?: CartesBancaires;
  /** Set once the bank asks for a challenge. */
  readonly isChallenged?: true;
};

/** The card's entry in the directory. */
export type Enrolled = { readonly type: "enrolled"; readonly kept: Kept; readonly methodUrl: string | undefined };

export function readPreauth(reply: GatewayReply): Enrolled | Unavailable {
  const json = jsonOf(reply);
  if ("reason" in json) return json as Unavailable;
  const { threeDSServerTransID, acsStartProtocolVersion: from, acsEndProtocolVersion: to } = json;
  if (typeof threeDSServerTransID !== "string") return unavailable("the answer names no transaction");
  const messageVersion = versions.find((version) => isWithin(version, from, to));
  if (messageVersion === undefined) return unavailable("the card has no version of 3-D Secure that is supported here");
  return {
    type: "enrolled",
    kept: { threeDSServerTransID, messageVersion },
    methodUrl: pageAddress(json.threeDSMethodURL),
  };
}

// The versions in the order of preference.
const versions = ["2.2.0", "2.1.0"];

function isWithin(version: string, from: unknown, to: unknown): boolean {
  return (typeof from !== "string" || from <= version) && (typeof to !== "string" || version <= to);
}

/** The answer to /auth: an end, or a challenge at the bank. */
export function readAres(
  reply: GatewayReply,
  kept: Kept,
  challengeIndicator: string,
):
  | ProviderEnd
  | {
      readonly type: "challenge";
      readonly acsUrl: string;
      readonly acsTransID: string;
      readonly kept: Kept;
      readonly message: string | undefined;
    }
  | Unavailable {
  const json = jsonOf(reply);
  if ("reason" in json) return json as Unavailable;
  if (!isAbout(json, kept) || json.messageType !== "ARes") return unavailable("the answer is about something else");
  if (json.transStatus !== "C")
    return readEnd(json, kept, { directoryStatus: text(json.transStatus), challengeIndicator });
  const acsUrl = pageAddress(json.acsURL);
  const acsTransID = text(json.acsTransID);
  if (acsUrl === undefined || acsTransID === undefined) return unavailable("the bank names no page");
  return {
    type: "challenge",
    acsUrl,
    acsTransID,
    message: bankMessageIn(json.cardholderInfo),
    kept: { ...kept, challengeIndicator, isChallenged: true, ...cartesBancairesOf(json, kept) },
  };
}

/** Reads the answer to /postauth. Undefined while the server has no result. */
export function readPostauth(reply: GatewayReply, kept: Kept): ProviderEnd | undefined {
  const json = jsonOf(reply);
  if ("reason" in json || !isAbout(json, kept) || json.messageType !== "RReq") return undefined;
  if (!finals.includes(String(json.transStatus))) return undefined;
  const directoryStatus = kept.isChallenged ? "C" : text(json.transStatus);
  return readEnd(json, kept, { directoryStatus, challengeIndicator: kept.challengeIndicator ?? "01" });
}

// EMV 3DS 2.2: the values of transStatus in a results request, and I of a bank without a challenge.
const finals = ["Y", "A", "N", "U", "R", "I"];

function readEnd(
  json: Json,
  kept: Kept,
  asked: { readonly directoryStatus: string | undefined; readonly challengeIndicator: string },
): ProviderEnd {
  const { messageVersion: version } = kept;
  const transStatus = text(json.transStatus);
  const result = resultOf({ ...json, version, dsTransactionId: json.dsTransID });
  const { eci, dsTransactionId } = result ?? {};
  const cryptogram = text(json.authenticationValue);
  const { directoryStatus, challengeIndicator } = asked;
  const isProven = (transStatus === "Y" || transStatus === "A") && eci && dsTransactionId && cryptogram;
  return {
    type: "ended",
    result: { ...result },
    challengeCancel: text(json.challengeCancel),
    message: bankMessageIn(json.cardholderInfo),
    ...(isProven &&
      directoryStatus && {
        proof: {
          version,
          transStatus,
          directoryStatus,
          eci,
          cryptogram,
          dsTransactionId,
          challengeIndicator,
          ...cartesBancairesOf(json, kept),
        },
      }),
  };
}

// Shapes: https://docs.stripe.com/api/payment_intents/confirm (2026), payment_method_options.card.three_d_secure.
const extensions = {
  algorithm: ["CB-AVALGO", /^[0-4A]$/],
  exemption: ["CB-EXEMPTION", /^[\w+/=]{4}$/],
  score: ["CB-SCORE", /^\d{1,2}$/],
} as const;

/**
 * Returns the data of Cartes Bancaires, which are message extensions (EMV 3DS 2.2, A.7): of the ARes, or of the result.
 * The name of an extension's only value is not public, so any is taken.
 */
function cartesBancairesOf({ messageExtension }: Json, { cartesBancaires }: Pick<Kept, "cartesBancaires">) {
  const sent = Array.isArray(messageExtension) ? messageExtension.filter(isObject) : [];
  const read = (name: keyof typeof extensions): string | undefined => {
    const [title, shape] = extensions[name];
    const data = sent.find((extension) => extension.name === title)?.data;
    const [value] = isObject(data) ? Object.values(data) : [data];
    return shape.test(String(value)) ? String(value) : undefined;
  };
  const algorithm = read("algorithm") ?? cartesBancaires?.algorithm;
  if (algorithm === undefined) return {};
  const exemption = read("exemption") ?? cartesBancaires?.exemption;
  const score = read("score") ?? cartesBancaires?.score;
  return { cartesBancaires: { algorithm, ...(exemption && { exemption }), ...(score && { score }) } };
}

/** Returns the answer's object, or why there is none: not sent, not answered, or an error message. */
function jsonOf(reply: GatewayReply): Json | Unavailable {
  if (reply.type === "neverSent") return unavailable(reply.reason, reply.cause === "connection_refused");
  if (reply.type === "noAnswer") return unavailable(reply.reason, !reply.lostAtVault);
  const json = readJsonObject(reply);
  if (reply.status === 401) return unavailable("the key is refused");
  if (reply.status !== 200 || json === undefined)
    return unavailable(`the answer is unusable (HTTP ${reply.status})`, reply.status >= 500);
  // Only the code is copied: a description may quote the request.
  if (json.messageType === "Erro")
    return unavailable(`the server reports the error ${codeOf(json)}`, outages.includes(codeOf(json)));
  return json;
}

// EMV 3DS 2.2, table A.4: a transient failure, a system error and a time-out of the systems behind the server.
const outages = ["403", "404", "405"];

function codeOf({ errorCode }: Json): string {
  return /^\d{3}$/.test(String(errorCode)) ? String(errorCode) : "unknown";
}

function isAbout(json: Json, { threeDSServerTransID }: Kept): boolean {
  return json.threeDSServerTransID === threeDSServerTransID;
}

// Codes and identifiers of the messages have at most 36 characters, a cryptogram 28.
const texts = /^[\x21-\x7e]{1,64}$/;

function text(value: unknown): string | undefined {
  return typeof value === "string" && texts.test(value) ? value : undefined;
}

/** Returns the answer that says why no authentication took place. */
function unavailable(reason: string, isOutage = false): Unavailable {
  return { type: "unavailable", reason, ...(isOutage && { isOutage }) };
}

export function readKept(text: string): Kept {
  const parsed: unknown = JSON.parse(text);
  if (!isObject(parsed)) throw new Error("what a provider keeps is an object");
  return parsed as Kept;
}
