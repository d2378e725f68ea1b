/** Every rule of docs/safety.md that the simulation can remove. */
import { authenticationRules } from "./authentication.ts";
import { captureRules } from "./captures.ts";
import { cardTestingRules } from "./card-testing.ts";
import { disputeRules } from "./disputes.ts";
import { endRules } from "./ends.ts";
import { holdRules } from "./holds.ts";
import { orderRules } from "./orders.ts";
import { providerRules } from "./provider.ts";
import { refundRules } from "./refunds.ts";
import { renewalRules } from "./renewals.ts";
import type { Rule } from "./rule.ts";
import { settlementRules } from "./settlement.ts";
import { turnRules } from "./turns.ts";
import { walletRules } from "./wallets.ts";

/** All rules, in the order of docs/safety.md. */
export const rules: readonly Rule[] = [
  ...captureRules,
  ...turnRules,
  ...endRules,
  ...authenticationRules,
  ...providerRules,
  ...holdRules,
  ...refundRules,
  ...disputeRules,
  ...settlementRules,
  ...orderRules,
  ...cardTestingRules,
  ...renewalRules,
  ...walletRules,
];
