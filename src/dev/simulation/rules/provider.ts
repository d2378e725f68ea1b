/** Rules A1 to A13 where a provider authenticates the customer. */
import { files, type Rule, withoutGuard } from "./rule.ts";

const decisions = "src/core/authentication/after-provider.ts";

export const providerRules: readonly Rule[] = [
  {
    id: "provider-alone",
    number: "A1",
    says: "Nothing happens beside a provider's authentication that is open.",
    code: [{ file: "src/core/authentication/next-authentication-step.ts", instead: [""] }],
    database: [
      withoutGuard("one thing at a time: no attempt beside an authentication"),
      withoutGuard("no end while an authentication is open"),
      withoutGuard("no end while an action is open"),
      withoutGuard("a session waits exactly while an action is open"),
    ],
    harm: "while the customer is asked",
    seenAt: 26,
  },
  {
    id: "provider-refusal-ends-payment",
    number: "A6",
    says: "Nothing follows a customer whom a provider did not authenticate.",
    code: [{ file: decisions, instead: ["  return provided !== undefined && refusals.length < 0;"] }],
    database: [
      withoutGuard("no attempt follows a refusal by the provider"),
      withoutGuard("no hold is adopted after a refusal by the provider"),
    ],
    harm: "after the customer did not authenticate",
    seenAt: 193,
  },
  {
    id: "proof-deleted",
    number: "A9",
    says: "A proof is gone when its session ends.",
    code: [{ file: "src/core/record/settle.ts", instead: [""] }],
    database: [
      withoutGuard("a proof lives no longer than the payment that may use it"),
      withoutGuard("a proof is of an authenticated customer, and lives no longer than the payment"),
    ],
    harm: "data of the customer are kept",
    seenAt: 38,
  },
  {
    id: "provider-asked-once",
    number: "A13",
    says: "A request that another process may have sent is not sent again.",
    code: [{ file: decisions, instead: ['    return { type: "askProvider", authentication };'] }],
    database: [],
    harm: "an authentication was requested twice",
    seenAt: 305,
  },
  {
    id: "provider-asked-in-time",
    number: "A13",
    says: "A process that was stopped for longer than its lease sends no request.",
    code: [{ file: files.lease, instead: [""] }],
    database: [],
    unseen:
      "a process has to stop in the few milliseconds before it sends; provided-authentication.db.test.ts stops one there",
  },
];
