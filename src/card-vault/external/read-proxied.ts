/**
 * Interprets the answer of the external vault's proxy: the gateway's own answer, masked, or how far the request may
 * have got.
 */
import { unreachable } from "../../platform/errors.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { maskAnswer } from "./mask-answer.ts";
import { earlyRefusalOf, errorCodeOf } from "./vault-api.ts";

type Answer = Extract<GatewayReply, { type: "answer" }>;

// They describe the bytes that the vault has read, not the body made from its answer here.
const framing = /^(content-(encoding|length)|transfer-encoding|connection|keep-alive)$/;

/**
 * Interprets the proxy's answer. It answers 200 with the gateway's status, headers and body in a frame of its own. Its
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
