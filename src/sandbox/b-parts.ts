/** Names the parts that SANDBOX_B's routes share, and the form of its refusals. */

import type { Account, Accounts } from "./accounts.ts";
import type { NotificationSender } from "./b-notifications.ts";
import type { Challenges } from "./challenges.ts";
import type { Faults } from "./faults.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { Issuer } from "./issuer.ts";
import type { Ledger } from "./ledger.ts";
import type { Pauses } from "./pauses.ts";
import type { SandboxAnswer, SandboxRequest } from "./routes.ts";
import type { SavedCards } from "./saved-cards.ts";
import type { Statements } from "./statements.ts";
import type { Tasks } from "./tasks.ts";

/** The parts that SANDBOX_B shares with the other acquirer, and the sender of its notifications. */
export type SandboxBParts = {
  readonly accounts: Accounts;
  readonly ledger: Ledger;
  readonly issuer: Issuer;
  readonly idempotency: IdempotencyStore<SandboxAnswer>;
  readonly notifications: NotificationSender;
  readonly pauses: Pauses;
  readonly faults: Faults;
  readonly challenges: Challenges;
  readonly savedCards: SavedCards;
  readonly tasks: Tasks;
  readonly statements: Statements;
};

export type Json = Readonly<Record<string, unknown>>;

export type Call = { readonly request: SandboxRequest; readonly account: Account; readonly json: Json };

export function refusal(status: number, errorCode: string): SandboxAnswer {
  return {
    status,
    body: { status, errorCode, errorType: status === 401 || status === 403 ? "security" : "validation" },
  };
}
