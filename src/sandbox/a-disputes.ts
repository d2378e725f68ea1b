/** Disputes at SANDBOX_A, the newest first, as Stripe lists them. */
import { notFound, refusal, type SandboxAParts } from "./a-objects.ts";
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
  const data = wanted.slice(from, from + pageMax).map(viewOf);
  return { status: 200, body: { object: "list", data, has_more: wanted.length > from + pageMax } };
}

export async function readDispute(
  parts: SandboxAParts,
  request: SandboxRequest,
  account: Account,
): Promise<SandboxAnswer> {
  const found = find(parts, request, account);
  return found ? { status: 200, body: viewOf(found) } : notFound;
}

/** Takes an acceptance, or evidence, as Stripe does: once, and while the dispute needs it. */
export function answering(parts: SandboxAParts, type: "accept" | "evidence") {
  return async (request: SandboxRequest, account: Account): Promise<SandboxAnswer> => {
    const found = find(parts, request, account);
    if (found === undefined) return notFound;
    const { payment, stage } = found;
    const isTaken =
      (type === "evidence" || stage === "chargeback") && parts.ledger.answerDispute(payment, type, wordsIn(request));
    if (!isTaken) return refusal(400, "invalid_request_error", "dispute_not_open");
    return { status: 200, body: viewOf(find(parts, request, account)!) };
  };
}

function wordsIn({ body }: SandboxRequest): string {
  const form = new URLSearchParams(body);
  return form.get("explanation") ?? "";
}

type Listed = ReturnType<SandboxAParts["ledger"]["disputes"]>[number];

function find({ ledger }: SandboxAParts, { parameters }: SandboxRequest, account: Account): Listed | undefined {
  return ledger.disputes("A", account.id).find(({ id }) => id === parameters.id);
}

function viewOf({ payment, id, stage, status, isTaken, isReturned, ...times }: Listed) {
  return {
    object: "dispute",
    id,
    authorization: payment.id,
    stage,
    status,
    answered: payment.disputed?.answer !== undefined,
    amount: payment.capturedValue,
    amount_taken: isTaken ? payment.capturedValue : 0,
    amount_returned: isReturned ? payment.capturedValue : 0,
    currency: payment.currency,
    network: payment.network,
    network_reason_code: stage === "fraud_warning" ? null : "13.1",
    created: Math.floor(times.openedMs / 1_000),
    respond_by: status === "needs_response" ? Math.floor(times.respondByMs / 1_000) : null,
  };
}
