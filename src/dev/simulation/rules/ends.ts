/** Rules 7 to 10: the possible ends of a session, and the gateways' answers that decide them. */
import { files, type Rule, withoutConstraint, withoutGuard, withText } from "./rule.ts";

/** Rules 7 to 10, each with its removal. */
export const endRules: readonly Rule[] = [
  {
    id: "success-is-captured",
    number: 7,
    says: "SUCCEEDED means that the winner is captured.",
    code: [
      {
        file: files.flowSteps,
        instead: [
          `renewLease(tx, lease);
      return settleSession(tx, core, loaded.session, { status: "SUCCEEDED", winner: attempt, captureConfirmed: false });`,
        ],
      },
    ],
    database: [withoutConstraint("payment_session_captured")],
    seenAt: 98,
  },
  {
    id: "amount-pinned",
    number: 7,
    says: "An attempt is over exactly its session's amount.",
    code: [
      {
        file: "src/core/record/open-attempt.ts",
        instead: ["const { amountMinor, currency } = { ...session, amountMinor: session.amountMinor + 1 };"],
      },
    ],
    database: [
      withText("claim", "place, why, s.amount_minor,", "place, why, s.amount_minor + 1,"),
      withText("failed", "place, why, s.amount_minor,", "place, why, s.amount_minor + 1,"),
      withoutConstraint("attempt_session_id_amount_minor_currency_fkey"),
    ],
  },
  {
    id: "stop-ends-plan",
    number: 7,
    says: "No attempt follows a fraud decline or another stop.",
    code: [
      {
        file: files.nextStep,
        instead: [
          "const stop = undefined as Stop | undefined;",
          'if (failure.kind !== "FRAUD" && !rule.failoverOn.includes(switchOf[failure.kind])) {',
        ],
      },
    ],
    database: [
      withoutGuard("a fraud-class decline is never retried"),
      withoutGuard("no attempt follows a stop"),
      withText("failed", "a.after_stop OR "),
      withoutGuard("what ends an attempt without a stop is a decline, an error or silence"),
    ],
    seenAt: 13,
  },
  {
    id: "retry-once",
    number: 11,
    says: "A payment is retried at the same gateway once.",
    code: [{ file: files.afterFailure, instead: ["const isRetried = false;"] }],
    database: [withoutGuard("a session has one retry")],
    seenAt: 64,
  },
  {
    id: "retry-as-allowed",
    number: 11,
    says: "Only a decline without a stop, after which the gateway allows it, is retried at the same gateway.",
    code: [{ file: files.afterFailure, instead: ["if (attempt.round > 9) return {};"] }],
    database: [withoutGuard("only a certain decline is retried, where the rule says so")],
    seenAt: 272,
  },
  {
    id: "no-hold-after-fraud",
    number: 7,
    says: "After a fraud decline no earlier hold is adopted.",
    code: [{ file: files.nextStep, instead: ["const [lookedUp] = unknown;"] }],
    database: [withoutGuard("no hold is adopted after a fraud decline")],
    seenAt: 1_666,
  },
  {
    id: "deadline",
    number: 7,
    says: "No attempt is opened after the deadline.",
    code: [
      {
        file: files.nextStep,
        instead: ["return now !== undefined;"],
      },
    ],
    database: [
      withoutGuard("no attempt after the deadline"),
      withText("failed", "at + margin_ms * interval '1 ms' >= s.submit_deadline OR "),
    ],
    seenAt: 52,
  },
  {
    id: "look-up-reads",
    number: 8,
    says: "A look-up never requests money.",
    code: [
      {
        file: files.gatewayCalls,
        instead: [
          `  const again = { ...atGateway(attempt), sessionId: "", orderRef: "", vaultToken: new Secret("") };
  await connector.authorize({ ...call, idempotencyKey: again.attemptReference }, again);
  const answer = await connector.lookUp(call, atGateway(attempt));`,
        ],
      },
    ],
    database: [],
    seenAt: 2,
  },
  {
    id: "capture-one-key",
    number: 8,
    says: "A capture is repeated under one idempotency key.",
    code: [
      {
        file: files.gatewayCalls,
        instead: ['const key = encodeId("att", attempt.id) + "_cap" + attempt.retries;'],
      },
    ],
    database: [],
    seenAt: 98,
  },
  {
    id: "latest-execution-time",
    number: 9,
    says: "An attempt counts as never held only once a hold can no longer come into being.",
    code: [
      {
        file: files.flowSteps,
        instead: ["const late = true;"],
      },
    ],
    database: [withoutGuard("a hold never existed only if none can follow")],
    coveredBy: ["orphans-voided"],
    seenAt: 10,
  },
  {
    id: "own-void-believed",
    number: 9,
    says: "After a restore only a void that this database has sent shows that there was never a hold.",
    code: [
      {
        file: "src/core/execute/unrecorded-attempts.ts",
        instead: ["return new Date(sentAt ?? 0);"],
      },
    ],
    database: [],
    harm: "a hold is left at a gateway",
    unseen: "the report has to come before the restored database's first void; stale-absent.db.test.ts shows it",
  },
  {
    id: "orphans-voided",
    number: 10,
    says: "A hold that is found after its attempt has ended is voided.",
    code: [
      {
        file: "src/oversight/orphaned-authorizations.ts",
        instead: ["    if (owner !== undefined) return false;"],
      },
    ],
    database: [],
    seenAt: 9,
  },
];
