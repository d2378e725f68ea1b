/** Describes SANDBOX_A's objects and refusals in its own form. */
import type { Accounts } from "./accounts.ts";
import type { Challenges } from "./challenges.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { Issuer } from "./issuer.ts";
import { type Authorization, type Ledger, networkIdOf } from "./ledger.ts";
import type { SandboxAnswer } from "./routes.ts";
import type { SavedCards } from "./saved-cards.ts";
import type { Statements } from "./statements.ts";

export type SandboxAParts = {
  readonly accounts: Accounts;
  readonly ledger: Ledger;
  readonly issuer: Issuer;
  readonly idempotency: IdempotencyStore<SandboxAnswer>;
  readonly challenges: Challenges;
  readonly savedCards: SavedCards;
  readonly statements: Statements;
};

export function authorizationAnswer(status: number, authorization: Authorization): SandboxAnswer {
  return { status, body: publicView(authorization), about: authorization.reference };
}

export function publicView(authorization: Authorization): object {
  const { id, reference, value, currency, status, capturedValue, captureId, holdEndsAt, saved } = authorization;
  const networkId = networkIdOf(authorization);
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
    ...(networkId !== undefined && { network_transaction_id: `nti_${networkId}` }),
    ...(saved !== undefined && { customer: saved.customer, payment_method: saved.method }),
    ...declineView(authorization),
  };
}

/** Returns a decline and the network's codes, by Stripe's names: https://docs.stripe.com/declines/network-codes (2026). */
export function declineView({ declineCode, networkCode, adviceCode, network }: Authorization): object {
  if (declineCode === undefined) return {};
  return {
    decline_code: declineCode,
    ...((networkCode ?? adviceCode) !== undefined && { network }),
    ...(networkCode !== undefined && { network_decline_code: networkCode }),
    ...(adviceCode !== undefined && { network_advice_code: adviceCode }),
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

/** Refuses a request for an object that does not exist. */
export const notFound = refusal(404, "invalid_request_error", "not_found");
