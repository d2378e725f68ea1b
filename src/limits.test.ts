import { expect, it } from "vitest";
import { attemptsMax, customerTimeMs, timingBounds } from "./limits.ts";
import { cardLifetimeMs, usesPerToken } from "./vault/vault-limits.ts";

it("a card outlives a payment with the longest budget and all of its customer's time", () => {
  expect(cardLifetimeMs).toBeGreaterThanOrEqual(timingBounds.submissionBudgetMs.max + customerTimeMs + 60_000);
});

it("a card is filled in for each attempt of a plan, the repeat with authentication, the retry, and a provider's calls", () => {
  // The two calls; the first of them once more for each of two crashes.
  expect(usesPerToken).toBe(attemptsMax + 1 + 1 + 2 + 2);
});
