/** Customer authentication as PayPal runs it: the page to show, the state of an action, and its result. */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { type AuthenticationResult, type AuthenticationWish, pageAddress, resultOf } from "../authentication.ts";
import type { ActionAnswer, AttemptAtGateway } from "../connector.ts";
import { classifyDecline } from "../declines.ts";
import { untrusted } from "../unanswered.ts";
import { declines } from "./declines.ts";
import { readOrder, stateOfOrder } from "./order.ts";
import type { Json } from "./refusals.ts";

/**
 * Returns the fields of a card that permit PayPal to challenge the customer. Without them it does so as well if the law
 * requires it, and the payment is declined:
 * https://developer.paypal.com/docs/checkout/advanced/customize/3d-secure/api/ (2026).
 */
export function askingFields(authentication: AuthenticationWish | undefined): object {
  if (authentication === undefined) return {};
  const { wish, returnUrl } = authentication;
  return {
    attributes: { verification: { method: wish === "always" ? "SCA_ALWAYS" : "SCA_WHEN_REQUIRED" } },
    experience_context: { return_url: returnUrl, cancel_url: `${returnUrl}?${cancelled}` },
  };
}

const cancelled = "cancelled=1";

/** Reports whether a customer returned by `cancel_url`; PayPal documents no trace of it in the order. */
export function isCancelled(fields: URLSearchParams): boolean {
  return fields.get("cancelled") === "1";
}

/** Returns the page that the customer has to see, in an order or in an error; undefined for any other action. */
export function pageOf(json: Json | undefined): string | undefined {
  const links: readonly unknown[] = Array.isArray(json?.links) ? json.links : [];
  const link = links.find((one) => isObject(one) && one.rel === "payer-action");
  return pageAddress(isObject(link) ? link.href : undefined);
}

/**
 * Returns the state of an action. The request reads only the order's source, because PayPal documents the result of an
 * authentication there; a hold counts as well if it is shown. A card that takes no part in 3-D Secure may be
 * authorized. PayPal advises against going on where authentication was unavailable, and nothing is held without a
 * further request: https://developer.paypal.com/docs/checkout/advanced/customize/3d-secure/response-parameters/ (2026).
 */
export function readAction(reply: GatewayReply, attempt: AttemptAtGateway, orderId: string): ActionAnswer {
  if (reply.type !== "answer") return { type: "inconclusive", reason: reply.reason };
  const json = reply.status === 200 ? readJsonObject(reply) : undefined;
  if (json?.id !== orderId) return { type: "inconclusive", reason: untrusted(reply.status).reason };
  const order = readOrder(json, attempt);
  if (order !== undefined && order.authorizations.length > 0) return stateOfOrder(order, attempt);
  const { transStatus, enrolled } = resultIn(json) ?? {};
  if (enrolled === "N" || enrolled === "B") return { type: "answered" };
  switch (enrolled === "U" ? enrolled : transStatus) {
    case "Y":
    case "A":
    case "I":
      return { type: "answered" };
    case "N":
    case "R":
      return { type: "failed" };
    case "U":
      return classifyDecline(declines, "PAYER_ACTION_REQUIRED");
    default:
      return { type: "waiting" };
  }
}

/** Returns what an order says about the authentication. */
export function readAuthenticated(reply: GatewayReply): AuthenticationResult | undefined {
  const json = reply.type === "answer" ? readJsonObject(reply) : undefined;
  const { transStatus, liability } = resultIn(json) ?? {};
  return resultOf({ transStatus }, liability);
}

// POSSIBLE means "liability might shift", and so does not say who bears it: response parameters, as above.
const liabilities: ReadonlyMap<unknown, AuthenticationResult["liability"]> = new Map([
  ["POSSIBLE", "UNKNOWN"],
  ["YES", "ISSUER"],
  ["NO", "MERCHANT"],
  ["UNKNOWN", "UNKNOWN"],
]);

function resultIn(json: Json | undefined) {
  const source = json?.payment_source;
  const card = isObject(source) ? source.card : undefined;
  const result = isObject(card) ? card.authentication_result : undefined;
  if (!isObject(result)) return undefined;
  const details = isObject(result.three_d_secure) ? result.three_d_secure : {};
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return {
    transStatus: text(details.authentication_status),
    enrolled: text(details.enrollment_status),
    liability: liabilities.get(result.liability_shift),
  };
}
