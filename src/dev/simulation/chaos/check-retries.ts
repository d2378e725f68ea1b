/** Checks payments that were sent to the same gateway once more at its request. PURE. */
import type { HoldCase } from "./check-holds.ts";
import type { AttemptRecord } from "./records.ts";

export const retryViolationKinds = {
  retried_twice: "a payment was retried more than once",
  retried_uncertain: "a payment was retried at a gateway that had not certainly declined it",
  charged_again: "a payment was retried at a gateway that has money of its first attempt",
} as const;

type RetryViolationKind = keyof typeof retryViolationKinds;
type Found = { readonly kind: RetryViolationKind; readonly detail: string };

export const retryRound = 2;

export function findRetryViolations({ attempts, money }: Pick<HoldCase, "attempts" | "money">): Found[] {
  const retries = attempts.filter(({ round }) => round === retryRound);
  const firstOf = (retry: AttemptRecord) =>
    attempts.find(({ connectionId, round }) => connectionId === retry.connectionId && round === 0);
  const pairs = retries.map((retry) => ({ retry, first: firstOf(retry) }));
  const uncertain = pairs.filter(
    ({ first, retry }) => first?.status !== "DECLINED" || first.stop || first.sequence !== retry.sequence - 1,
  );
  const charged = pairs.flatMap(({ first }) =>
    money.filter(({ attempt, authorization }) => attempt === first && authorization.status !== "declined"),
  );
  return [
    ...found("retried_twice", retries.length > 1, retries.map(({ attemptId }) => attemptId).join(", ")),
    ...uncertain.flatMap(({ retry, first }) =>
      found("retried_uncertain", true, `${retry.attemptId} after ${first?.attemptId}, ${first?.status} ${first?.stop}`),
    ),
    ...charged.flatMap(({ attempt, authorization: { id, status } }) =>
      found("charged_again", true, `${id} of ${attempt.attemptId} is ${status} at ${attempt.gateway}`),
    ),
  ];
}

function found(kind: RetryViolationKind, isWrong: boolean, detail: string): Found[] {
  return isWrong ? [{ kind, detail }] : [];
}
