/** The state of a refund, in a word that does not depend on its colour. */
import { type Refund, Refund_Status } from "../../../../gen/dashboard/v1/refunds_pb.ts";
import { Badge } from "./badge.tsx";
import { visible } from "./copied-text.tsx";
import { nameOfGateway } from "./gateway-name.ts";

const faces: Readonly<Record<number, { name: string; tone: "good" | "warn" | "bad" }>> = {
  [Refund_Status.PENDING]: { name: "Pending", tone: "warn" },
  [Refund_Status.SUCCEEDED]: { name: "Succeeded", tone: "good" },
  [Refund_Status.FAILED]: { name: "Failed", tone: "bad" },
};

export function RefundState({ status }: { status: Refund_Status }) {
  const { name, tone } = faces[status] ?? { name: "–" };
  return <Badge tone={tone}>{name}</Badge>;
}

const whys: Readonly<Record<string, string>> = {
  amount_exceeds_refundable: "refunds made at the gateway left less than this one needs; nothing was refunded",
  capture_failed: "the gateway reported that the capture had failed; nothing was refunded",
  capture_unconfirmed: "the gateway has not confirmed the capture for three days; nothing was sent",
  idempotency_key_reused: "after a restore, the gateway has a refund of this key over another amount; nothing was sent",
  payment_disputed: "a dispute holds the money; nothing was refunded",
  never_made: "a person found that the gateway has no such refund",
};

/** Returns the meaning of a failure code of this service, or the gateway’s own code in words. */
export function inWords(failureCode: string): string {
  return whys[failureCode] ?? failureCode.replaceAll("_", " ");
}

/** Returns who made a refund. A member is named by the e-mail address. */
export function makerOf({ madeBy, madeAtGateway, gateway }: Refund): string {
  if (madeAtGateway) return `a person at ${nameOfGateway(gateway)}`;
  return madeBy ? visible(madeBy.replace(/ \(\w+\)$/, "")) : "API";
}
