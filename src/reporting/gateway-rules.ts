/** The rules by which a gateway's last hour is compared with its past: failures and approvals. PURE. */

/** Days of the past that the last hour is compared with: whole weeks, so that each day of the week counts alike. */
export const pastDays = 28;

/** Fewest attempts that say something. Failures are rarer than declines, so fewer of them are enough. */
export const attemptsMin = { failures: 5, approvals: 20 } as const;
// Fewer attempts of the past are no history. Failures are then compared with the least share below.
const pastAttemptsMin = 200;
// A gateway without a single failure in weeks would otherwise be unhealthy after two of them.
const failureShareMin = 0.02;
/** Smallest difference of two shares that matters: they also differ by the hour of the day and by the customers. */
export const differenceMin = 0.1;
// An alert is over when half of that difference is left, so that a share at the edge does not open and end it in turns.
const differenceOver = differenceMin / 2;
// The least evidence against chance: chance explains the difference no better than by e^-11.5, which is 1 in 100,000.
const certainty = 11.5;

/** A number of attempts, and how many of them are of the kind that is counted. */
export type Share = { readonly attempts: number; readonly counted: number };

/** A rule's judgement of the last hour. `unclear` neither opens an alert nor ends one. */
export type Verdict = "bad" | "unclear" | "good";

/** Judges technical failures: timeouts and errors, of all attempts. */
export function judgeFailures(recent: Share, past: Share): Verdict {
  // Too short a past decides nothing, and the least share counts as known.
  const history = past.attempts < pastAttemptsMin ? { ...past, attempts: Number.POSITIVE_INFINITY } : past;
  const usual = Math.max(failureShareMin, shareOf(history));
  return judge(recent, { usual, history: history.attempts, worse: 1, attemptsMin: attemptsMin.failures });
}

/** Judges approvals, of all attempts that the gateway answered. Without a history nothing is bad. */
export function judgeApprovals(recent: Share, past: Share): Verdict {
  if (past.attempts < pastAttemptsMin) return recent.attempts === 0 ? "good" : "unclear";
  const usual = shareOf(past);
  return judge(recent, { usual, history: past.attempts, worse: -1, attemptsMin: attemptsMin.approvals });
}

/** Returns the share of the counted attempts; 0 if there is none. */
export function shareOf({ attempts, counted }: Share): number {
  return attempts === 0 ? 0 : counted / attempts;
}

/**
 * `worse` is the direction of a worse share, `history` the number of attempts that showed the usual one. A gateway that
 * was not called has nothing that could continue.
 */
function judge(recent: Share, rule: { usual: number; history: number; worse: 1 | -1; attemptsMin: number }): Verdict {
  if (recent.attempts === 0) return "good";
  const difference = rule.worse * (shareOf(recent) - rule.usual);
  if (difference < differenceOver) return "good";
  const isBad = recent.attempts >= rule.attemptsMin && difference >= differenceMin;
  return isBad && surprise(recent, rule) >= certainty ? "bad" : "unclear";
}

/**
 * Returns how badly one common share explains both the recent share and the usual one, as the logarithm of their
 * likelihood ratio (Wilks 1938). So 200 attempts without a decline do not prove that there never is one. With a long
 * history it is the Chernoff bound: chance causes such a share with a probability of at most e^-surprise (Hoeffding 1963,
 * theorem 1).
 */
function surprise(recent: Share, { usual, history }: { usual: number; history: number }): number {
  const share = shareOf(recent);
  const common = history === Number.POSITIVE_INFINITY ? usual : mixed(share, recent.attempts, usual, history);
  const past = history === Number.POSITIVE_INFINITY ? 0 : history * divergence(usual, common);
  return recent.attempts * divergence(share, common) + past;
}

const mixed = (one: number, ofOne: number, other: number, ofOther: number) =>
  (one * ofOne + other * ofOther) / (ofOne + ofOther);

function divergence(share: number, from: number): number {
  const term = (observed: number, expected: number) => (observed === 0 ? 0 : observed * Math.log(observed / expected));
  return term(share, from) + term(1 - share, 1 - from);
}
