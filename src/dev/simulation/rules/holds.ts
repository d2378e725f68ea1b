/** Rules C1, C3 and C4 of docs/capture-later.md: when, by which order, and how much of a hold is captured. */
import { files, type Rule, withoutGuard, withText } from "./rule.ts";

/** The rules of payments that are captured later, each with its removal. */
export const holdRules: readonly Rule[] = [
  {
    id: "manual-capture",
    number: "C1",
    says: "A payment that is captured later is captured only on its merchant's order.",
    code: [
      { file: files.heldPayments, instead: ["  if (true) {"] },
      { file: files.nextStep, instead: [""] },
    ],
    database: [
      withoutGuard("a payment that is captured later is captured only on an order"),
      withoutGuard("a winner that is captured later is held"),
      withoutGuard("a capture has its order and the time of it together"),
    ],
    seenAt: 5,
  },
  {
    id: "hold-taken-once",
    number: "C3",
    says: "One of a capture, a cancellation and the end of the time takes the hold.",
    code: [],
    database: [
      withText("take_hold_to_capture", "capture_asked_at IS NULL", "true"),
      withText("take_hold_to_cancel", "capture_asked_at IS NULL", "true"),
      withoutGuard("an order about a hold is final"),
      withoutGuard("the amount of an ordered capture never changes"),
      withoutGuard("an ordered capture stays ordered"),
      withoutGuard("an unanswered capture is never given up"),
      withoutGuard("only a hold without an order is cancelled or lapses"),
    ],
    seenAt: 580,
  },
  {
    id: "capture-amount-once",
    number: "C4",
    says: "The first order fixes the amount, and the gateway captures exactly that.",
    code: [{ file: files.gatewayCalls, instead: ["  const part = null as number | null;"] }],
    database: [],
    seenAt: 96,
  },
];
