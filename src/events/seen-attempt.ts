/** The facts of a recorded delivery attempt for metrics. Labels come from closed lists, never from a merchant. */
import type { NoAnswer } from "./egress.ts";
import type { Attempt } from "./record-delivery.ts";

const noAnswers: Readonly<Record<NoAnswer, true>> = {
  timeout: true,
  dns_failed: true,
  address_not_allowed: true,
  connection_refused: true,
  tls_failed: true,
  connection_lost: true,
  answer_unreadable: true,
};
const answers = ["2xx", "3xx", "4xx", "410", "429", "5xx", "other"] as const;

/** The class of an attempt's result. 410 and 429 have separate consequences and are not among 4xx. */
export type AttemptOutcome = (typeof answers)[number] | NoAnswer;

export const attemptOutcomes: readonly AttemptOutcome[] = [...answers, ...(Object.keys(noAnswers) as NoAnswer[])];

/**
 * The state of the breaker when the attempt began: closed, or open (`failing`). Nothing is posted to other endpoints.
 */
type TriedEndpointClass = "healthy" | "failing";

export type SeenAttempt = {
  readonly outcome: AttemptOutcome;
  readonly endpointClass: TriedEndpointClass;
  readonly durationMs: number;
  /** Time from the event's row to its first 2xx answer, by the database's clock; undefined for any other attempt. */
  readonly acceptedAfterMs: number | undefined;
  /** True when it was the last attempt of the schedule and failed. */
  readonly exhausted: boolean;
  readonly disabledReason: "GONE" | "FAILING" | null;
};

export function outcomeOf(attempt: Attempt): AttemptOutcome {
  if (attempt.type === "noAnswer") return attempt.reason;
  const { statusCode } = attempt;
  if (statusCode === 410) return "410";
  if (statusCode === 429) return "429";
  return ([undefined, undefined, "2xx", "3xx", "4xx", "5xx"] as const)[Math.floor(statusCode / 100)] ?? "other";
}
