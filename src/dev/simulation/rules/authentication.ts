/**
 * Rules A2 to A14: what a payment may do during and after its customer's authentication, and that the challenge is
 * made.
 */
import { files, type Rule, withoutGuard, withText } from "./rule.ts";

const decisions = "src/core/authentication/after-authentication.ts";
const rows = "src/core/authentication/authentications.ts";
const steps = "src/core/authentication/authentication-steps.ts";

export const authenticationRules: readonly Rule[] = [
  {
    id: "no-completion-after-give-up",
    number: "A2",
    says: "A payment is not completed once its customer has given up.",
    code: [{ file: rows, instead: ['const notGivenUp = "true";'] }],
    database: [
      withText("begin_completion", " AND cancel_asked_at IS NULL"),
      withoutGuard("nothing is completed after a customer gave up"),
      withoutGuard("nothing is authenticated after a customer gave up"),
    ],
    harm: "after the customer gave up",
    seenAt: 1_569,
  },
  {
    id: "completed-as-committed",
    number: "A2",
    says: "The completing request is sent at most twice.",
    code: [{ file: decisions, instead: ["  return completionsSent >= 0;"] }],
    database: [withoutGuard("a completion is sent at most twice")],
    seenAt: 156,
  },
  {
    id: "give-up-committed",
    number: "A3",
    says: "An action is cancelled at its gateway only once giving up is committed.",
    code: [
      {
        file: "src/core/authentication/authentication-steps.ts",
        instead: [
          `if (asked.authentication.holdsOnlyWhenAsked && !isInDoubt) await gateway.voidHold(core, loaded, asked.attempt);
  const reloaded = await commitAndReload(core, lease, async (tx) => {`,
        ],
      },
    ],
    database: [],
    harm: "before its customer had given up",
    seenAt: 3,
  },
  {
    id: "wait-ends-whole",
    number: "A3",
    says: "Giving up ends the attempt's wait and its authentication together.",
    code: [{ file: steps, instead: [""] }],
    database: [
      withoutGuard("an attempt and its authentication change together"),
      withoutGuard("a session waits exactly while an action is open"),
      withoutGuard("no end while an authentication is open"),
    ],
    seenAt: 3,
  },
  {
    id: "late-hold-voided",
    number: "A4",
    says: "An attempt whose hold may appear by itself is not declined by giving up.",
    code: [{ file: steps, instead: ["  recordRefused(tx, attempt, undefined);"] }],
    database: [
      withoutGuard("a hold that may appear without a request is not ruled out by giving up"),
      withoutGuard("an attempt in doubt is not declined by giving up"),
    ],
    seenAt: 94,
  },
  {
    id: "refusal-ends-payment",
    number: "A6",
    says: "Nothing follows a customer who did not authenticate, not even an earlier hold.",
    code: [{ file: files.nextStep, instead: ["  const isRefused = attempts.length < 0;"] }],
    database: [withoutGuard("no hold is adopted after a failed authentication")],
    seenAt: 2_431,
  },
  {
    id: "doubt-ends-wait",
    number: "A12",
    says: "After a restore nothing is completed, and what was open is not ruled out.",
    code: [
      { file: decisions, instead: ["", "  if (authentication === undefined) return undefined;"] },
      { file: steps, instead: ["  const isInDoubt = false;"] },
    ],
    database: [
      withoutGuard("nothing is completed while the session is in doubt"),
      withoutGuard("an attempt in doubt is not declined by giving up"),
    ],
    seenAt: 3_135,
  },
  {
    id: "doubt-asks-all-rounds",
    number: "A12",
    says: "After a restore the service asks a gateway about all rounds of its attempt.",
    code: [
      {
        file: "src/core/execute/unrecorded-attempts.ts",
        instead: ["  const rounds = mayRepeat && known.length > 0 ? [] : known.length === 0 ? [0] : [];"],
      },
    ],
    database: [],
    seenAt: 132,
  },
  {
    id: "always-authenticated",
    number: "A14",
    says: "A page that leaves out its browser leaves out no authentication that the rule demands.",
    code: [{ file: "src/core/decide/plan-route.ts", instead: ["  return planAuthenticated(route);"] }],
    database: [],
    harm: "was captured without an authentication",
    seenAt: 1_732,
  },
  {
    id: "browser-kept",
    number: "A14",
    says: "A process that takes over a payment that has to be authenticated can ask its customer.",
    code: [{ file: files.submitPayment, instead: ["  const claim = asking;"] }],
    database: [],
    harm: "was captured without an authentication",
    seenAt: 2_050,
  },
];
