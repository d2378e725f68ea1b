/** What figures want to know of a recorded try. Labels come from closed lists, never from a merchant. */
import type { NoAnswer } from "./egress.ts";
import type { Try } from "./record-delivery.ts";

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

/** How a try ended, coarsely: 410 and 429 have consequences of their own and are not among 4xx. */
export type TryOutcome = (typeof answers)[number] | NoAnswer;

/** Every outcome that there is. */
export const tryOutcomes: readonly TryOutcome[] = [...answers, ...(Object.keys(noAnswers) as NoAnswer[])];

/** Whether the breaker was closed or open when the try began. Nothing is posted to any other endpoint. */
export type TriedEndpointClass = "healthy" | "failing";

/** One try that was recorded. */
export type SeenTry = {
  readonly outcome: TryOutcome;
  readonly endpointClass: TriedEndpointClass;
  readonly durationMs: number;
  /** From the event's row to its first 2xx answer, by the database's clock; undefined for any other try. */
  readonly takenAfterMs: number | undefined;
  /** It was the last one of the schedule, and failed. */
  readonly exhausted: boolean;
  readonly disabledBecause: "GONE" | "FAILING" | null;
};

/** The outcome of a try. */
export function outcomeOf(tried: Try): TryOutcome {
  if (tried.kind === "no_answer") return tried.because;
  const { statusCode } = tried;
  if (statusCode === 410) return "410";
  if (statusCode === 429) return "429";
  return ([undefined, undefined, "2xx", "3xx", "4xx", "5xx"] as const)[Math.floor(statusCode / 100)] ?? "other";
}
