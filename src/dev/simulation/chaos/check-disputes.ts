/** Checks that the money that banks took and returned for disputes is recorded, to the last unit. PURE. */
import type { Records } from "./records.ts";

export const disputeViolationKinds = {
  dispute_differs: "what a bank has taken for disputes of a payment is not what is recorded",
} as const;

type Found = {
  readonly kind: keyof typeof disputeViolationKinds;
  readonly sessionId: string;
  readonly detail: string;
};

export function findDisputeViolations(records: Pick<Records, "attempts" | "authorizations" | "disputed">): Found[] {
  const recorded = new Map(records.disputed.map(({ attemptId, value }) => [attemptId, value]));
  const taken = new Map<string, number>();
  for (const { reference, capturedValue, disputed } of records.authorizations) {
    const moved = disputed?.moved ?? [];
    const net = moved.reduce((sum, { report }) => sum + (report === "CHARGEBACK_REVERSED" ? -1 : 1), 0);
    taken.set(reference, (taken.get(reference) ?? 0) + net * capturedValue);
  }
  return records.attempts.flatMap(({ sessionId, attemptId }) => {
    const [there, here] = [taken.get(attemptId) ?? 0, recorded.get(attemptId) ?? 0];
    if (there === here) return [];
    return [{ kind: "dispute_differs" as const, sessionId, detail: `${attemptId}: ${there} taken, ${here} recorded` }];
  });
}
