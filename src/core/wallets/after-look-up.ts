/**
 * Decides what follows the look-up of a silent gateway, before a wallet's cryptogram goes to the next one (W6 in
 * docs/safety.md).
 */
import type { LookUpAnswer } from "../../gateways/connector.ts";
import type { Queryable } from "../../platform/database.ts";
import { because } from "../decide/because.ts";
import type { FailoverDecision } from "../decide/failover.ts";
import { decideAfterFailure } from "../decide/next-step.ts";
import { loadFailoverRule } from "../record/routing-rules.ts";
import type { Attempt } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";

/** Decides again with the gateway's late answer. Undefined if the earlier decision holds. */
export async function decideAfterLookUp(
  queryable: Queryable,
  payment: Payment,
  attempt: Attempt,
  answer: LookUpAnswer,
): Promise<FailoverDecision | undefined> {
  const isNext = attempt.nextAction === "failover" && payment.attempts.at(-1)?.id === attempt.id;
  if (!isNext || answer.type === "absent" || answer.type === "inconclusive") return undefined;
  if (answer.type !== "declined") return { action: "stop", because: because.cryptogramSeen(attempt) }; // rule:look-up-first
  const { merchantId, ruleVersion } = payment.session;
  const rule = await loadFailoverRule(queryable, { merchantId, version: ruleVersion ?? 0 });
  const stop = answer.stop === "none" ? undefined : answer.stop;
  return decideAfterFailure(payment, { gateway: attempt.gateway, kind: answer.kind, stop }, rule);
}
