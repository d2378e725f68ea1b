/**
 * The test cards whose gateways ask for the customer. They are in no list until the checkout can show an action. Types
 * and data only.
 */
import type { CardBehaviour } from "./card-behaviour.ts";

/** A card number, and the reaction of both acquirers to it. */
type AuthenticationCard = { readonly number: string; readonly onA: CardBehaviour; readonly onB: CardBehaviour };

const approve: CardBehaviour = { act: "approve" };
const declineAtA: CardBehaviour = { act: "decline", code: "transaction_not_allowed" };
const challengeAtA = {
  act: "authenticate",
  when: "as_needed",
  code: "authentication_required",
  passed: approve,
} as const;
const challengeAtB: CardBehaviour = { act: "authenticate", when: "as_needed", code: "38", passed: approve };

/** Every test card of customer authentication by the gateway. */
export const authenticationCards: readonly AuthenticationCard[] = [
  // A challenge at the first gateway.
  { number: "4000000000007106", onA: challengeAtA, onB: approve },
  // Declined at the first gateway, a challenge at the second, which may hold by itself.
  { number: "4000000000007114", onA: declineAtA, onB: challengeAtB },
  // The same, for a customer who leaves and finishes at the bank after the payment was given up.
  { number: "4000000000007122", onA: declineAtA, onB: challengeAtB },
  // A challenge at the first gateway, which then declines, and another at the second.
  { number: "4000000000007130", onA: { ...challengeAtA, passed: declineAtA }, onB: challengeAtB },
  // The first answer to the completing request is lost.
  { number: "4000000000007148", onA: { ...challengeAtA, losesCompletion: true }, onB: approve },
  // A challenge whose answer arrives by several ways at once.
  { number: "4000000000007155", onA: challengeAtA, onB: approve },
  // Declined until the customer has authenticated, then repeated at the same gateway.
  { number: "4000000000007163", onA: { ...challengeAtA, when: "if_asked" }, onB: approve },
];
