/** Disputes at SANDBOX_A, the newest first, as Stripe lists them. */
import type { SandboxAParts } from "./a-objects.ts";
import type { Account } from "./accounts.ts";
import type { SandboxAnswer, SandboxRequest } from "./routes.ts";

const pageMax = 100;

export async function listDisputes(
  { ledger }: SandboxAParts,
  { query }: SandboxRequest,
  account: Account,
): Promise<SandboxAnswer> {
  const fromMs = Number(query.get("created_from") ?? "0") * 1_000;
  const authorization = query.get("authorization");
  const wanted = ledger
    .disputes("A", account.id)
    .filter(({ payment, openedMs }) => openedMs >= fromMs && payment.id === (authorization ?? payment.id));
  const from = wanted.findIndex(({ id }) => id === query.get("after")) + 1;
  const data = wanted
    .slice(from, from + pageMax)
    .map(({ payment, id, stage, status, isTaken, isReturned, ...times }) => ({
      object: "dispute",
      id,
      authorization: payment.id,
      stage,
      status,
      amount: payment.capturedValue,
      amount_taken: isTaken ? payment.capturedValue : 0,
      amount_returned: isReturned ? payment.capturedValue : 0,
      currency: payment.currency,
      network: payment.network,
      network_reason_code: stage === "fraud_warning" ? null : "13.1",
      created: Math.floor(times.openedMs / 1_000),
      respond_by: status === "needs_response" ? Math.floor(times.respondByMs / 1_000) : null,
    }));
  return { status: 200, body: { object: "list", data, has_more: wanted.length > from + pageMax } };
}
