/** Refunds at SANDBOX_B: received at first, and reported by notifications. */
import { isObject } from "../platform/outbound-http.ts";
import { type Call, refusal, type SandboxBParts } from "./b-parts.ts";
import type { Authorization, Refund } from "./ledger.ts";
import type { SandboxAnswer } from "./routes.ts";

type OwedRefund = { readonly authorization: Authorization; readonly refundId: string };

/** Returns the operation that takes on a refund of a captured payment. */
export function refunding(parts: SandboxBParts): (call: Call) => Promise<SandboxAnswer> {
  const refundLater = parts.tasks.define<OwedRefund>("b.refund", (owed) => makeRefund(parts, owed));
  return (call) => refund(parts, call, refundLater);
}

async function refund(
  parts: SandboxBParts,
  { request, account, json }: Call,
  refundLater: (owed: OwedRefund) => Promise<void>,
): Promise<SandboxAnswer> {
  const authorization = parts.ledger.find("B", account.id, request.parameters.id ?? "");
  if (authorization === undefined) return refusal(422, "payment_not_found");
  const { amount, reference } = json;
  if (!isObject(amount) || amount.currency !== authorization.currency) return refusal(422, "amount");
  const taken = parts.ledger.refund(authorization, { reference: String(reference ?? ""), value: Number(amount.value) });
  if (typeof taken === "string") return refusal(422, taken);
  void refundLater({ authorization, refundId: taken.id });
  const body = { pspReference: taken.id, paymentPspReference: authorization.id, reference, status: "received", amount };
  return { status: 201, body, about: authorization.reference };
}

async function makeRefund(parts: SandboxBParts, { authorization, refundId }: OwedRefund): Promise<void> {
  const taken = authorization.refunds.find(({ id }) => id === refundId);
  if (taken === undefined) return;
  await parts.issuer.refundDelay(authorization);
  await parts.pauses.gate("b.result", authorization.reference);
  await parts.faults.beforeResult();
  parts.ledger.makeRefund(authorization, taken);
  void reportRefund(parts, authorization, "REFUND", taken);
}

export function reportRefund(
  { accounts, notifications }: SandboxBParts,
  authorization: Authorization,
  eventCode: "REFUND" | "REFUND_FAILED",
  { id, reference, value }: Refund,
): Promise<void> {
  return notifications.send(accounts.find(authorization.account), {
    eventCode,
    success: true,
    pspReference: id,
    // A refund by hand bears the payment's reference.
    merchantReference: reference === "" ? authorization.reference : reference,
    authorization,
    value,
  });
}
