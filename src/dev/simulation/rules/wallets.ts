/** Rules W5 to W7 of docs/safety.md, of payments by a wallet with a device's number and a cryptogram. */
import { type Rule, withoutGuard } from "./rule.ts";

const secondUse = "src/core/wallets/second-use.ts";
const planWallet = "src/core/wallets/plan-wallet.ts";

/** These rules, each with its removal. */
export const walletRules: readonly Rule[] = [
  {
    id: "token-takers",
    number: "W5",
    says: "A device's number goes only to a gateway that takes it.",
    code: [{ file: planWallet, instead: ["    return whyNot === undefined ? one : one;"] }],
    database: [],
    harm: "which takes none",
    seenAt: 63,
  },
  {
    id: "unanswered-cryptogram",
    number: "W6",
    says: "After silence a cryptogram goes to another gateway only where the rule says so.",
    code: [{ file: secondUse, instead: ["", '    if (status === "UNKNOWN") return false;'] }],
    database: [withoutGuard("a cryptogram without an answer is sent again only where the rule says so")],
    harm: "a cryptogram is sent again",
    seenAt: 42,
  },
  {
    id: "declined-cryptogram",
    number: "W6",
    says: "After a decline a cryptogram goes to another gateway only where the rule says so.",
    code: [{ file: secondUse, instead: ["    return decided;", '    if (status === "DECLINED") return false;'] }],
    database: [withoutGuard("a declined cryptogram is sent again only where the rule says so")],
    harm: "a cryptogram is sent again",
    seenAt: 7,
  },
  {
    id: "look-up-first",
    number: "W6",
    says: "A gateway that is silent is looked up before its cryptogram goes to another one.",
    code: [{ file: secondUse, instead: ["  const unread = undefined as Attempt | undefined;"] }],
    database: [withoutGuard("a gateway that is silent is looked up before a cryptogram is sent again")],
    harm: "a cryptogram is sent again",
    seenAt: 10,
  },
  {
    id: "cryptogram-held",
    number: "W6",
    says: "No cryptogram is sent again after a hold.",
    code: [{ file: secondUse, instead: ["", "    return false;"] }],
    database: [withoutGuard("no cryptogram is sent again after a hold")],
    harm: "a cryptogram is sent again",
    seenAt: 175,
  },
  {
    id: "device-authenticates",
    number: "W7",
    says: "The customer of a device's number is not authenticated again.",
    code: [{ file: planWallet, instead: ["  return planRoute({ ...route, candidates });"] }],
    database: [
      withoutGuard("a device has authenticated its customer, whom nothing else asks"),
      withoutGuard("a device's number is sent without an authentication"),
    ],
    harm: "the customer of a device's number was authenticated",
    seenAt: 36,
  },
];
