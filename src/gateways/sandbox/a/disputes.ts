/** Reads SANDBOX_A's disputes, which it lists as Stripe does. */
import { type GatewayReply, isObject, readJsonObject } from "../../../platform/outbound-http.ts";
import { fromGatewayAmount } from "../../amounts.ts";
import { type DisputePage, type DisputeReading, disputeStages, disputeStatuses } from "../../dispute-readings.ts";
import { currencies } from "./currencies.ts";

export function readDisputes(reply: GatewayReply): DisputePage {
  if (reply.type !== "answer") return { type: "unknown", reason: reply.reason };
  if (reply.status === 401 || reply.status === 403) return { type: "refused", reason: "the key is not valid" };
  const { data, has_more: hasMore } = readJsonObject(reply) ?? {};
  if (reply.status !== 200 || !Array.isArray(data)) {
    return { type: "unknown", reason: `the answer is no list (HTTP ${reply.status})` };
  }
  const disputes = data.filter(isObject).map(readingIn);
  const next = hasMore === true ? disputes.at(-1)?.gatewayReference : undefined;
  return { type: "page", disputes, next };
}

export function readingIn(record: Readonly<Record<string, unknown>>): DisputeReading {
  const { amount_taken: taken, amount_returned: returned, respond_by: respondBy } = record;
  const inMinor = (value: unknown) => fromGatewayAmount(currencies, value, record.currency)?.amountMinor ?? 0;
  const amount = fromGatewayAmount(currencies, record.amount, record.currency);
  const [takenMinor, returnedMinor] = [inMinor(taken), inMinor(returned)];
  return {
    gatewayReference: String(record.id),
    paymentReference: String(record.authorization),
    stage: disputeStages.find((name) => name.toLowerCase() === record.stage) ?? "CHARGEBACK",
    status: disputeStatuses.find((name) => name.toLowerCase() === record.status) ?? "UNDER_REVIEW",
    ...(amount && { amount }),
    ...(record.stage === "fraud_warning" && { reason: "fraudulent" as const }),
    networkReasonCode: typeof record.network_reason_code === "string" ? record.network_reason_code : undefined,
    network: typeof record.network === "string" ? record.network : undefined,
    respondBy: typeof respondBy === "number" ? new Date(respondBy * 1_000) : undefined,
    openedAt: new Date(Number(record.created) * 1_000),
    isAnswered: record.answered === true,
    taken: takenMinor > 0 ? [{ currency: String(record.currency), takenMinor, returnedMinor }] : [],
  };
}
