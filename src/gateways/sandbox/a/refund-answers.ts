/** Interprets SANDBOX_A's answers about refunds. An answer counts only when it is documented and about this exact refund. */

import { type GatewayReply, isObject, readJsonObject } from "../../../platform/outbound-http.ts";
import { fromGatewayAmount, isSameAmount } from "../../amounts.ts";
import type { CapturedPayment, ListedRefund, RefundAnswer, RefundAtGateway, RefundRecord } from "../../connector.ts";
import { unansweredChange, untrusted } from "../../unanswered.ts";
import { errorOf } from "./answers.ts";
import { currencies } from "./currencies.ts";

type Json = Readonly<Record<string, unknown>>;
type OurRefund = Json & { readonly id: string };

/** Refusals after which repeating a refund is pointless: a key keeps its refusal. */
const definitive = new Set([
  "not_captured",
  "already_voided",
  "already_declined",
  "amount",
  "amount_exceeds_captured",
  "refund_not_allowed",
]);

/** Returns the result of a refund; unknown unless the answer is about this refund. */
export function readRefund(reply: GatewayReply, captured: CapturedPayment, refund: RefundAtGateway): RefundAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && isAbout(json, captured, refund)) {
    const { id: gatewayReference, status } = json;
    if (status === "succeeded") return { type: "done", gatewayReference };
    if (status === "pending") return { type: "accepted", gatewayReference };
    if (status === "failed") return { type: "refused", definitive: true, gatewayCode: failureOf(json) };
  }
  // The account knows every payment that it has captured. An account that does not know one of them is another account.
  if (reply.status === 404) return untrusted(reply.status);
  const code = errorOf(json)?.code;
  if (reply.status < 400 || reply.status >= 500 || typeof code !== "string") return untrusted(reply.status);
  return { type: "refused", definitive: definitive.has(code), gatewayCode: code };
}

export function readRefundRecord(
  reply: GatewayReply,
  captured: CapturedPayment,
  refund: RefundAtGateway,
): RefundRecord {
  if (reply.type !== "answer") return { type: "cannotTell", reason: reply.reason };
  const json = readJsonObject(reply);
  // If SANDBOX_A does not find an id that it gave, it contradicts itself, which proves nothing.
  if (reply.status !== 200 || !isAbout(json, captured, refund)) {
    return { type: "cannotTell", reason: untrusted(reply.status).reason };
  }
  return recordOf(json);
}

/** Finds a refund by our reference in the list of its payment's; absent if the whole list has none. */
export function readRefundRecords(
  reply: GatewayReply,
  captured: CapturedPayment,
  refund: RefundAtGateway,
): RefundRecord {
  if (reply.type !== "answer") return { type: "cannotTell", reason: reply.reason };
  const records = listIn(reply, captured);
  if (records === undefined) return { type: "cannotTell", reason: untrusted(reply.status).reason };
  const ours = records.filter((record) => isObject(record) && record.reference === refund.refundReference);
  if (ours.length === 0) return { type: "absent" };
  const same = ours.filter((record) => isAbout(record, captured, refund));
  const found = same.find(({ status }) => status !== "failed") ?? same[0];
  if (found === undefined || same.length < ours.length) {
    return { type: "cannotTell", reason: "the gateway has another amount or currency on record" };
  }
  return recordOf(found);
}

/** Returns every refund of a payment; undefined unless the whole list can be read. */
export function readListedRefunds(reply: GatewayReply, captured: CapturedPayment): readonly ListedRefund[] | undefined {
  if (reply.type !== "answer") return undefined;
  const listed = listIn(reply, captured)?.map((record) => listedOf(record, captured));
  return listed?.every((one) => one !== undefined) ? listed : undefined;
}

function listIn(reply: Extract<GatewayReply, { type: "answer" }>, captured: CapturedPayment) {
  const json = readJsonObject(reply);
  const isOurs = reply.status === 200 && json?.object === "list" && json.authorization === captured.gatewayReference;
  return isOurs && Array.isArray(json.data) ? (json.data as readonly unknown[]) : undefined;
}

function listedOf(record: unknown, captured: CapturedPayment): ListedRefund | undefined {
  if (!isObject(record) || typeof record.id !== "string") return undefined;
  const { id: gatewayReference, reference, status, currency } = record;
  const amount = fromGatewayAmount(currencies, record.amount, currency);
  if (amount === undefined || record.authorization !== captured.gatewayReference) return undefined;
  if (status !== "succeeded" && status !== "pending" && status !== "failed") return undefined;
  return { ...amount, gatewayReference, status, ...(typeof reference === "string" && { refundReference: reference }) };
}

function recordOf(record: OurRefund): RefundRecord {
  const { id: gatewayReference, status } = record;
  if (status === "succeeded" || status === "pending") return { type: status, gatewayReference };
  if (status === "failed") return { type: "failed", gatewayReference, gatewayCode: failureOf(record) };
  return { type: "cannotTell", reason: "the gateway's record is in an undocumented state" };
}

function failureOf({ failure_code: code }: Json): string {
  return typeof code === "string" ? code : "failed";
}

/** Reports whether this is exactly our refund: its payment, its reference, its amount, its currency. */
function isAbout(record: unknown, captured: CapturedPayment, refund: RefundAtGateway): record is OurRefund {
  return (
    isObject(record) &&
    record.object === "refund" &&
    typeof record.id === "string" &&
    (refund.gatewayReference === undefined || record.id === refund.gatewayReference) &&
    record.authorization === captured.gatewayReference &&
    record.reference === refund.refundReference &&
    isSameAmount(currencies, refund, record.amount, record.currency)
  );
}
