/** The test cards whose holds differ when they are captured later. Captured at once, they are approved. */
import type { HoldBehaviour, TestCard } from "./card-behaviour.ts";
import { approvedByA } from "./outcomes.ts";

const laterCard = (number: string, name: string, hold: HoldBehaviour, behaviour: string): TestCard => ({
  number,
  name,
  group: "later",
  behaviour,
  onA: { act: "approve", hold },
  onB: { act: "approve", hold },
  outcome: approvedByA(),
});

/** Every test card of holds that are captured later. */
export const laterCards: readonly TestCard[] = [
  laterCard("4000000000007239", "Hold ends early", "ends_early", "Not captured within five seconds, the hold is void."),
  laterCard(
    "4000000000007262",
    "Captured by hand",
    "captured_by_hand",
    "Not captured within five seconds, half of the hold is captured by hand at the gateway.",
  ),
];
