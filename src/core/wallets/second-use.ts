/**
 * The second use of a wallet's cryptogram: a network accepts it once, so what failed decides what may follow (W6 in docs/safety.md).
 * PURE.
 */
import { because } from "../decide/because.ts";
import type { FailoverDecision, FailoverRule, Failure } from "../decide/failover.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";

type Ruled = Pick<PaymentSession, "cryptogramResend">;

/** Decides what follows a failed attempt with a cryptogram, if the rule would continue. */
export function decideForCryptogram(
  { cryptogramResend: resend }: Ruled,
  failure: Failure,
  rule: FailoverRule,
  decided: FailoverDecision,
): FailoverDecision {
  if (decided.action === "stop") return decided;
  if (failure.captureRefused) return { action: "stop", because: because.cryptogramHeld(failure) }; // rule:cryptogram-held
  if (failure.kind === "HARD_DECLINE" || failure.kind === "SOFT_DECLINE") {
    const sent = { ...decided, because: decided.because + because.andUsesCryptogramAgain };
    if (resend === "DECLINED") return sent.action === "failover" ? { ...sent, opensLater: true } : sent;
    return { action: "stop", because: because.cryptogramDeclined(rule, failure) }; // rule:declined-cryptogram
  }
  if (decided.action !== "failover") return decided;
  if (!failure.mayHaveActed) return { ...decided, opensLater: true };
  if (resend === "NOT_SENT") return { action: "stop", because: because.cryptogramUnanswered(rule, failure) }; // rule:unanswered-cryptogram
  return { ...decided, because: decided.because + because.andLooksUpFirst(failure), opensLater: true };
}

/**
 * Decides, from the known facts of each earlier attempt, whether the cryptogram may be sent once more, whether an
 * attempt has to be looked up first, or whether no second use is allowed.
 */
export function beforeSecondUse(
  { cryptogramResend: resend }: Ruled,
  attempts: readonly Attempt[],
): { readonly lookUp?: Attempt | undefined; readonly isRefused?: boolean } {
  const isUsed = attempts.some(({ status, stop, failureKind }) => {
    if (stop || failureKind === "FRAUD") return true;
    if (status === "FAILED") return false;
    if (status === "UNKNOWN") return resend === "NOT_SENT"; // rule:unanswered-cryptogram
    if (status === "DECLINED") return resend !== "DECLINED"; // rule:declined-cryptogram
    return true; // rule:cryptogram-held
  });
  if (isUsed) return { isRefused: true };
  const isNext = attempts.at(-1)?.nextAction === "failover";
  const unread = attempts.find(({ status, lookedUpAt }) => status === "UNKNOWN" && !lookedUpAt); // rule:look-up-first
  return { lookUp: isNext ? unread : undefined };
}
