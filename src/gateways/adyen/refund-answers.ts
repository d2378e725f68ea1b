/** Interprets Adyen's answers to refunds. An answer counts only when it is documented and about this exact refund. */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { isSameAmount } from "../amounts.ts";
import type { CapturedPayment, RefundAnswer, RefundAtGateway } from "../connector.ts";
import { unansweredChange, untrusted } from "../unanswered.ts";
import { errorIn, inProgress, noSuchPayment } from "./answers.ts";
import { currencies } from "./currencies.ts";
import type { Json } from "./judge-decline.ts";

/** Reports whether exactly this refund was accepted; a notification reports its result. */
export function readRefund(reply: GatewayReply, captured: CapturedPayment, refund: RefundAtGateway): RefundAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const { status } = reply;
  const json = readJsonObject(reply);
  if (status === 201 && isReceived(json, captured, refund)) {
    return { type: "accepted", gatewayReference: json.pspReference };
  }
  const error = errorIn(reply, json);
  if (error === undefined || status >= 500) return untrusted(status);
  // Adyen has captured the payment, so that it does not know it proves nothing: the key may open another account.
  if (error.code === noSuchPayment) return untrusted(status);
  // Validation comes before any processing, and its error is kept for the key:
  // https://docs.adyen.com/development-resources/response-handling (2026).
  const definitive = status === 422 && error.code !== inProgress && !error.isTransient;
  return { type: "refused", definitive, gatewayCode: error.code };
}

function isReceived(
  json: Json | undefined,
  { gatewayReference }: CapturedPayment,
  refund: RefundAtGateway,
): json is Json & { readonly pspReference: string } {
  return (
    json?.status === "received" &&
    json.paymentPspReference === gatewayReference &&
    json.reference === refund.refundReference &&
    typeof json.pspReference === "string" &&
    isObject(json.amount) &&
    isSameAmount(currencies, refund, json.amount.value, json.amount.currency)
  );
}
