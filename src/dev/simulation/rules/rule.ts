/** A rule of docs/safety.md with the texts that implement it, so that the simulation can remove it. */
import type { SchemaRemoval } from "../schema-removals.ts";

/**
 * The lines of a file that carry a rule: each ends with the comment `rule:` and the rule's id, or follows a line that is
 * this comment alone. `instead`: the text in place of each of them once the rule is removed, in their order.
 */
export type Removal = { readonly file: string; readonly instead: readonly string[] };

export type Rule = {
  readonly id: string;
  /** Its number in docs/safety.md (A, O), docs/capture-refund-safety.md (C, R), docs/disputes.md (D), docs/subscriptions.md and docs/settlement.md (S); T those against card testing. */
  readonly number: number | `${"A" | "C" | "D" | "O" | "R" | "S" | "T" | "W"}${number}`;
  readonly says: string;
  /** The lines by which the flow keeps it. */
  readonly code: readonly Removal[];
  /** The objects of PostgreSQL that enforce it, if there are any. */
  readonly database: readonly SchemaRemoval[];
  /** Rules that cover this one: they must be removed with it before money is in danger. */
  readonly coveredBy?: readonly string[];
  /** The text of its violation, if the rules that cover it have others. */
  readonly harm?: string;
  /** The reason that no seed has to show its violation: money is not in danger even then, or a test shows what no seed plays. */
  readonly unseen?: string;
  /** A seed that showed its violation: `--least` begins there and stops at the first violation. */
  readonly seenAt?: number;
};

export const files = {
  afterFailure: "src/core/execute/after-failure.ts",
  attempts: "src/core/record/attempts.ts",
  flowSteps: "src/core/execute/flow-steps.ts",
  captureLater: "src/core/capture-later.ts",
  heldPayments: "src/core/execute/held-payments.ts",
  gatewayCalls: "src/core/execute/gateway-calls.ts",
  lease: "src/core/record/lease.ts",
  nextStep: "src/core/decide/next-step.ts",
  submitPayment: "src/core/submit-payment.ts",
} as const;

/** A guard of the schema that no longer refuses for this reason. */
export const withoutGuard = (reason: string): SchemaRemoval => ({ type: "refusal", reason });

/** A function of payments (payment-functions.sql), or one that has a copy for each month or none, with another text in place of this one. */
export const withText = (of: string, text: string, instead = ""): SchemaRemoval => ({
  type: "text",
  of,
  text,
  instead,
});

export const withoutConstraint = (name: string): SchemaRemoval => ({ type: "constraint", name });

export const withoutUnique = (name: string): SchemaRemoval => ({ type: "uniqueIndex", name });
