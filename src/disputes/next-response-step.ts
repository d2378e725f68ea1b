/** Decides from rows alone what an answer to a dispute needs next. PURE. */
import type { Dispute, DisputeResponse } from "../core/rows/disputes.ts";

/** `look`: the gateway's record says whether the answer arrived. `end`: no further request is of use. */
export type ResponseStep =
  | { readonly type: "send" | "look" | "rest" }
  | { readonly type: "end"; readonly status: "TAKEN" | "REFUSED" };

/** Time without an answer after which a person is notified. */
const unansweredMs = 60 * 60_000;

export function nextResponseStep(
  dispute: Dispute,
  response: DisputeResponse,
  { canRead }: { canRead: boolean },
): ResponseStep {
  const { status, sends, stage } = response;
  if (status !== "REQUESTED") return { type: "rest" };
  // Another stage, or another status, is the gateway's decision about the answer.
  if (dispute.status !== "NEEDS_RESPONSE" || dispute.stage !== stage)
    return { type: "end", status: sends > 0 ? "TAKEN" : "REFUSED" };
  // rule:dispute-look-first
  return { type: sends > 0 && canRead ? "look" : "send" };
}

export function isUnanswered({ firstSentAt }: DisputeResponse, now: Date): boolean {
  return firstSentAt !== null && now.getTime() - firstSentAt.getTime() >= unansweredMs;
}

/** Returns the pause before an answer is repeated: at first a minute, an hour once a person has been notified. */
export function pauseMs(response: DisputeResponse, now: Date): number {
  return isUnanswered(response, now) ? unansweredMs : 60_000;
}
