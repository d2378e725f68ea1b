/**
 * Interprets the answer of the external vault's proxy: the gateway's own answer, masked, or how far the request may
 * have got.
 */
import { unreachable } from "../../platform/errors.ts";
import { passesLuhn } from "../../platform/luhn.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { earlyRefusalOf, errorCodeOf } from "./vault-api.ts";

type Answer = Extract<GatewayReply, { type: "answer" }>;

// They describe the bytes that the vault has read, not the body made from its answer here.
const framing = /^(content-(encoding|length)|transfer-encoding|connection|keep-alive)$/;

/**
 * Interprets the proxy's answer. It answers 200 with the gateway's status, headers and body in its own frame. Its
 * documented refusals come before it sends anything. Most of its 500s are about a call to the gateway, and they do not
 * say if the gateway was reached: such an attempt is unknown, and not an outage of the vault. Everything else is lost
 * between the vault and us. https://api-reference.hyperswitch.io/v2/proxy/proxy-v1, …/essentials/error_codes;
 * proxy_core in crates/router/src/core/proxy.rs of https://github.com/juspay/hyperswitch, which turns every failed call
 * and every body that is not JSON into a 500 (2026).
 */
export function readProxied(reply: GatewayReply, last4: string | undefined): GatewayReply {
  switch (reply.type) {
    case "answer":
      return reply.status === 200 ? unwrap(reply, last4) : readRefusal(reply);
    case "neverSent":
      return reply.cause === "stopped" ? reply : { ...reply, cause: "vault_unavailable" };
    case "noAnswer":
      // The silence may be the gateway's as well as the vault's: the flow fails over from a slow gateway and voids the
      // attempt.
      return reply.timedOut ? reply : { ...reply, lostAtVault: true };
    default:
      return unreachable(reply);
  }
}

function unwrap(reply: Answer, last4: string | undefined): GatewayReply {
  const json = readJsonObject(reply);
  const { status_code: status, response, response_headers: headers = {} } = json ?? {};
  if (!Number.isInteger(status) || response === undefined || !isObject(headers)) return lost(reply.status);
  const named = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" && !framing.test(name.toLowerCase())
      ? [[name.toLowerCase(), String(maskAnswer(value, last4, name))]]
      : [],
  );
  const body = new TextEncoder().encode(JSON.stringify(maskAnswer(response, last4)));
  return { type: "answer", status: Number(status), headers: Object.fromEntries(named), body };
}

function readRefusal(reply: Answer): GatewayReply {
  const said = `(HTTP ${reply.status}, ${errorCodeOf(reply) ?? "no code"})`;
  const refusal = earlyRefusalOf(reply);
  switch (refusal) {
    case "the_request":
      return { type: "neverSent", cause: "request_refused", reason: `the vault refused the request ${said}` };
    case "our_access":
      return { type: "neverSent", cause: "vault_unavailable", reason: `the vault refused us ${said}` };
    case "the_card":
      return { type: "neverSent", cause: "token_unusable", reason: `the vault no longer keeps the card ${said}` };
    case undefined:
      if (reply.status !== 500 || errorCodeOf(reply) === undefined) return lost(reply.status);
      return { type: "noAnswer", timedOut: false, reason: `the vault returned no answer of the gateway ${said}` };
    default:
      return unreachable(refusal);
  }
}

function lost(status: number): GatewayReply {
  const reason = `the vault's answer is unknown (HTTP ${status})`;
  return { type: "noAnswer", timedOut: false, lostAtVault: true, reason };
}

// 12 to 19 digits, split by single spaces or dashes.
const anyNumber = /[0-9](?:[ -]?[0-9]){11,18}/g;
// The same, if not part of a longer name such as `auth_4000…`; or a UUID, whose groups may read as a number.
const uuidOrNumber =
  /[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|(?<number>(?<![0-9A-Za-z_])[0-9](?:[ -]?[0-9]){11,18}(?![0-9A-Za-z_]))/g;
const numberName = /^(?:[a-z_-]*(?:card|account|cc)[_-]?(?:number|num|no)|number|[df]?pan)$/i;
const cvcName = /^[a-z_-]*(?:cvc|cvv|cvn|csc|cid|security[_-]?code|verification[_-]?(?:value|code))2?$/i;

/**
 * Returns the answer with card numbers and security codes masked, as our own vault does (src/vault/mask.ts), but
 * without having the card. A number counts as the card's if it ends like it and its check digit is right. Other numbers
 * that a card could have are masked within text. A whole value of digits, as gateways write references, is masked only
 * under a card's name.
 */
function maskAnswer(value: unknown, last4: string | undefined, name = ""): unknown {
  if (typeof value === "number") {
    const masked = maskValue(String(value), last4, name);
    return masked === String(value) ? value : masked;
  }
  if (typeof value === "string") return maskValue(value, last4, name);
  if (Array.isArray(value)) return value.map((item) => maskAnswer(item, last4, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [maskValue(member, last4, ""), maskAnswer(inner, last4, member)]),
  );
}

function maskValue(value: string, last4: string | undefined, name: string): string {
  if (cvcName.test(name) && /^[0-9]{3,4}$/.test(value)) return "*".repeat(value.length);
  const isOwn = (digits: string) => last4 !== undefined && digits.endsWith(last4) && passesLuhn(digits);
  const masked = value.replace(anyNumber, (number) => (isOwn(digitsOf(number)) ? maskDigits(number) : number));
  if (/^[0-9]+$/.test(masked) && !numberName.test(name)) return masked;
  return masked.replace(uuidOrNumber, (match, number?: string) =>
    number !== undefined && passesLuhn(digitsOf(number)) ? maskDigits(number) : match,
  );
}

function digitsOf(number: string): string {
  return number.replace(/[ -]/g, "");
}

/** Masks all but the last four digits, which may be shown. */
function maskDigits(number: string): string {
  return number.slice(0, -4).replace(/[0-9]/g, "*") + number.slice(-4);
}
