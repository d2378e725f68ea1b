/** Takes a renewal: one transaction that creates and claims its session and opens its first attempt (app.take_renewal). */
import { doubtfulRenewalBudgetMs, leaseMs, renewalTriesMax } from "../../../limits.ts";
import type { CardFingerprint } from "../../../platform/card-token.ts";
import type { Queryable, Statement } from "../../../platform/database.ts";
import type { AgreementId, AttemptId, MerchantId, MethodId, RequestId, SessionId } from "../../../platform/ids.ts";
import { type Secret, sha256 } from "../../../platform/secrets.ts";
import type { Block } from "../../card-testing/blocked.ts";
import type { Plan } from "../../decide/plan-route.ts";
import type { Opening } from "../../record/payment-functions.ts";
import type { RoutedBy } from "../../rows/entities.ts";
import type { Refusal } from "./refusals.ts";

/** A charge with its Idempotency-Key. */
export type KeyedCharge = {
  readonly merchantId: MerchantId;
  readonly agreementId: AgreementId;
  readonly renewalRef: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly orderRef: string;
  readonly details: object | undefined;
  readonly requestId: RequestId | undefined;
  readonly keyHash: Buffer;
  readonly requestHash: Buffer;
};

/** A charge that is planned, with its card as a token of the new session. */
export type PlannedCharge = KeyedCharge & {
  readonly sessionId: SessionId;
  readonly methodId: MethodId;
  readonly token: Secret;
  readonly secretVersion: number;
  readonly sessionLifetimeMs: number;
  readonly submissionBudgetMs: number;
  readonly ruleVersion: number;
  readonly plan: Plan;
  readonly routedBy: RoutedBy | undefined;
  readonly first: Opening | undefined;
  readonly fingerprint: CardFingerprint | undefined;
};

/**
 * A taken renewal: its first attempt, if one was opened, and whether gateways are searched first. Otherwise the reason
 * why nothing was taken.
 */
export type Taken =
  | { readonly type: "taken"; readonly attemptId: AttemptId | undefined; readonly isInDoubt: boolean }
  /** The key was used before: with the same fields, `session` is its answer. */
  | { readonly type: "known" | "reused"; readonly sessionId: SessionId }
  /** `not_found`: there is no such agreement. `changed`: its card is another one than the card that was opened. */
  | { readonly type: "not_found" | "changed" }
  | { readonly type: "refused"; readonly refusal: Refusal }
  /** The merchant's block list stops it. */
  | { readonly type: "blocked"; readonly by: Block };

type Row = {
  readonly refused: Refusal["reason"] | "blocked" | "known" | "idempotency_key_reused" | "not_found" | "changed" | null;
  readonly other: SessionId | null;
  readonly until: string | null;
  readonly attemptId: AttemptId | null;
  readonly isInDoubt: boolean | null;
  readonly entry: Block | null;
};

// Each alone: a statement of several would hold the rows of one agreement and its card while it waits for those of another.
const takeStatement: Statement = {
  name: "take_renewal",
  partitionKey: 1,
  text: `
    SELECT r.refused, r.other, to_json(r.until) #>> '{}' AS until, r.attempt AS "attemptId", r.in_doubt AS "isInDoubt", r.entry
    FROM app.take_renewal(${Array.from({ length: 32 }, (_, index) => `$${index + 1}`).join(", ")}) r`,
};

// 23505 (unique_violation): two requests with one key, for two renewals; the other one has it now. 55P03 (lock_not_available): the merchant moves
// to another cell.
const repeatable = new Set(["23505", "55P03"]);

/** Takes a renewal for a new session. Reads no block list where it is not guarded. */
export async function takeRenewal(
  queryable: Queryable,
  charge: PlannedCharge,
  { isGuarded = true }: { readonly isGuarded?: boolean } = {},
): Promise<Taken> {
  const token = charge.token.expose();
  const { plan, first } = charge;
  const values = [
    ...[charge.sessionId, charge.merchantId, charge.agreementId, charge.renewalRef, charge.keyHash, charge.requestHash],
    ...[charge.amountMinor, charge.currency, charge.orderRef, charge.details ? JSON.stringify(charge.details) : null],
    ...[charge.secretVersion, charge.sessionLifetimeMs, charge.requestId ?? null, leaseMs, charge.submissionBudgetMs],
    ...[doubtfulRenewalBudgetMs, renewalTriesMax, charge.methodId, token, sha256(token), charge.ruleVersion],
    ...[JSON.stringify(plan.plan), JSON.stringify(plan.skipped)],
    charge.routedBy ? JSON.stringify(charge.routedBy) : null,
    ...[first?.gateway ?? null, first?.connectionId ?? null, first?.credentialVersion ?? null],
    ...[first?.priority ?? null, first?.because ?? null, first?.latestExecutionMs ?? null],
    ...[charge.fingerprint?.versions.join(" ") ?? null, isGuarded],
  ];
  const [row] = await queryable.query<Row>(takeStatement, values).catch((error: unknown) => {
    if (!repeatable.has(String((error as { code?: unknown }).code))) throw error;
    const nothing = { other: null, until: null, attemptId: null, isInDoubt: null, entry: null };
    return [{ refused: "changed", ...nothing }] satisfies Row[];
  });
  const { refused, other, until, attemptId, isInDoubt, entry } = row!;
  if (refused === null) return { type: "taken", attemptId: attemptId ?? undefined, isInDoubt: isInDoubt === true };
  if (refused === "blocked") return { type: "blocked", by: entry! };
  if (refused === "known") return { type: "known", sessionId: other! };
  if (refused === "idempotency_key_reused") return { type: "reused", sessionId: other! };
  if (refused === "not_found" || refused === "changed") return { type: refused };
  return { type: "refused", refusal: { reason: refused, other, until } };
}
