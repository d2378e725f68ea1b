/** Describes SANDBOX_A's objects and refusals in its own form. */
import type { Accounts } from "./accounts.ts";
import type { Challenges } from "./challenges.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { Issuer } from "./issuer.ts";
import type { Authorization, Ledger } from "./ledger.ts";
import type { SandboxAnswer } from "./routes.ts";

/** The parts that SANDBOX_A shares with the other acquirer. */
export type SandboxAParts = {
  readonly accounts: Accounts;
  readonly ledger: Ledger;
  readonly issuer: Issuer;
  readonly idempotency: IdempotencyStore<SandboxAnswer>;
  readonly challenges: Challenges;
};

export function authorizationAnswer(status: number, authorization: Authorization): SandboxAnswer {
  return { status, body: publicView(authorization), about: authorization.reference };
}

export function publicView(authorization: Authorization): object {
  const { id, reference, value, currency, status, capturedValue, declineCode, captureId, holdEndsAt } = authorization;
  return {
    object: "authorization",
    id,
    reference,
    amount: value,
    amount_captured: capturedValue,
    currency,
    status,
    ...(status === "held" && { capture_before: holdEndsAt }),
    ...(captureId !== undefined && { capture: captureId }),
    ...(declineCode === undefined
      ? { network_transaction_id: id.replace("auth_", "nti_") }
      : { decline_code: declineCode }),
  };
}

/** Refuses because of an authorization's state, and shows it. */
export function stateRefusal(code: string, authorization: Authorization): SandboxAnswer {
  const error = { type: "state_error", code, authorization: publicView(authorization) };
  return { status: 409, body: { error }, about: authorization.reference };
}

export function refusal(status: number, type: string, code: string): SandboxAnswer {
  return { status, body: { error: { type, code } } };
}

/** Refuses what does not exist. */
export const notFound = refusal(404, "invalid_request_error", "not_found");
