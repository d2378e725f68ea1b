/** The test cards whose holds or captures differ when a hold is captured later. */
import type { CardBehaviour, CardOutcome, TestCard } from "./card-behaviour.ts";
import { approvedByA, captureRefused, degraded } from "./outcomes.ts";

type Approval = Omit<Extract<CardBehaviour, { act: "approve" }>, "act">;

/** A card with one approval at both acquirers; `outcome` is that of a payment that is captured at once. */
const laterCard = (
  [number, name, behaviour]: readonly [string, string, string],
  approval: Approval,
  outcome: CardOutcome = approvedByA(),
): TestCard => ({
  number,
  name,
  group: "later",
  behaviour,
  onA: { act: "approve", ...approval },
  onB: { act: "approve", ...approval },
  outcome,
});

export const laterCards: readonly TestCard[] = [
  laterCard(["4000000000007239", "Hold ends early", "Not captured within five seconds, the hold is void."], {
    hold: "ends_early",
  }),
  laterCard(
    ["4000000000007247", "Late capture refused", "Each gateway holds the money and permanently refuses to capture it."],
    { capture: "refuse" },
    degraded([captureRefused, captureRefused]),
  ),
  laterCard(
    [
      "4000000000007254",
      "Late capture answer lost",
      "The first capture is made, but its answer is lost; it is sent again with the same key, and nothing is captured twice.",
    ],
    { capture: "lose_answer" },
    approvedByA({ settledAfterS: 11 }),
  ),
  laterCard(
    [
      "4000000000007262",
      "Captured by hand",
      "Not captured within five seconds, half of the hold is captured by hand at the gateway.",
    ],
    { hold: "captured_by_hand" },
  ),
];
