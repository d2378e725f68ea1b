/** Refunds at SANDBOX_A: made at once, and readable one by one or as the list of a payment. */
import { notFound, refusal, type SandboxAParts, stateRefusal } from "./a-objects.ts";
import type { Account } from "./accounts.ts";
import type { Authorization, Refund } from "./ledger.ts";
import type { SandboxAnswer, SandboxRequest } from "./routes.ts";

export async function refund(
  { ledger, issuer }: SandboxAParts,
  request: SandboxRequest,
  account: Account,
): Promise<SandboxAnswer> {
  const found = ledger.find("A", account.id, request.parameters.id ?? "");
  if (found === undefined) return notFound;
  const form = new URLSearchParams(request.body);
  if (form.get("currency") !== found.currency) return refusal(400, "invalid_request_error", "currency");
  const made = ledger.refund(found, { reference: form.get("reference") ?? "", value: Number(form.get("amount")) });
  if (typeof made === "string") return stateRefusal(made, found);
  if (found.refund === "slow") void issuer.refundDelay(found).then(() => ledger.makeRefund(found, made));
  else ledger.makeRefund(found, made);
  return { status: 200, body: viewOf(found, made), about: found.reference };
}

export async function readRefund(
  { ledger }: SandboxAParts,
  request: SandboxRequest,
  account: Account,
): Promise<SandboxAnswer> {
  const found = ledger.findRefund("A", account.id, request.parameters.id ?? "");
  if (found === undefined) return notFound;
  const { authorization, refund: made } = found;
  return { status: 200, body: viewOf(authorization, made), about: authorization.reference };
}

/** Answers with every refund of a payment, also those made by hand. */
export async function listRefunds(
  { ledger }: SandboxAParts,
  request: SandboxRequest,
  account: Account,
): Promise<SandboxAnswer> {
  const found = ledger.find("A", account.id, request.parameters.id ?? "");
  if (found === undefined) return notFound;
  const data = found.refunds.map((made) => viewOf(found, made));
  return { status: 200, body: { object: "list", authorization: found.id, data }, about: found.reference };
}

function viewOf({ id: authorization, currency }: Authorization, { id, reference, value, status }: Refund): object {
  const named = { object: "refund", id, authorization, ...(reference !== "" && { reference }) };
  const failure = status === "failed" && { failure_code: "refund_failed" };
  return { ...named, amount: value, currency, status, ...failure };
}
