/** The rules of docs/safety.md as texts of the code and the schema that keep them, so that each can be taken out and missed. */

/** A text that must stand exactly once in a file, and what stands there once the rule is gone. */
export type Removal = { readonly file: string; readonly find: string; readonly replace: string };

export type Rule = {
  readonly id: string;
  /** The number of the rule in docs/safety.md. */
  readonly number: number;
  readonly says: string;
  /** How the flow keeps it. */
  readonly code: readonly Removal[];
  /** How PostgreSQL keeps it, where it can. */
  readonly database: readonly Removal[];
  /** What has to be removed with it before money is in danger: rules that cover this one. */
  readonly coveredBy?: readonly string[];
};

const attempts = "src/core/attempts.ts";
const flowSteps = "src/core/flow-steps.ts";
const lease = "src/core/lease.ts";
const nextStep = "src/core/next-step.ts";
const schema = "src/migrations/environment/migration-001-payment.ts";
const recovery = "src/migrations/environment/migration-004-recovery.ts";

/** A guard of the schema that no longer refuses. */
const withoutGuard = (reason: string): Removal => ({
  file: schema,
  find: `PERFORM app.refuse('${reason}')`,
  replace: "NULL",
});

/** A CHECK that lets everything pass; the generated names of the others stay as they are. */
const withoutCheck = (condition: string): Removal => ({
  file: schema,
  find: `CHECK (${condition})`,
  replace: "CHECK (true)",
});

const captureUnanswered: Pick<Removal, "file" | "find"> = {
  file: flowSteps,
  find: `    case "unknown":
      return recordRepeat(tx, attempt, repeatAt(trail.readAt, attempt.tries));`,
};

export const rules: readonly Rule[] = [
  {
    id: "winner-once",
    number: 1,
    says: "The winner is named by compare-and-set from none.",
    code: [{ file: lease, find: " AND winner_attempt_id IS NULL RETURNING id", replace: " RETURNING id" }],
    database: [
      withoutGuard("a winner is named from null only"),
      withoutGuard("a hold is adopted only while CREATED and without a winner"),
      withoutGuard("an authorized attempt is the winner"),
      {
        file: schema,
        find: "CREATE UNIQUE INDEX attempt_one_capturable",
        replace: "CREATE INDEX attempt_one_capturable",
      },
    ],
    coveredBy: ["lease-epoch"],
  },
  {
    id: "winner-voids-unknown",
    number: 1,
    says: "The transaction that names the winner gives every unknown attempt back.",
    code: [
      {
        file: attempts,
        find: "  await nameWinner(tx, attempt);\n  await voidUnknown(tx, attempt.sessionId);",
        replace: "  await nameWinner(tx, attempt);",
      },
    ],
    database: [withoutGuard("unknown attempts go to VOIDING with the winner or the end")],
  },
  {
    id: "capture-ordered-first",
    number: 2,
    says: "The order to capture is committed before the capture is sent.",
    code: [
      { file: flowSteps, find: "      await recordCaptureOrdered(tx, attempt);\n", replace: "" },
      {
        file: nextStep,
        find: 'if (winner && !winner.captureStartedAt) return { type: "orderCapture", attempt: winner };',
        replace: "",
      },
    ],
    database: [withoutCheck("status <> 'CAPTURED' OR capture_started_at IS NOT NULL")],
  },
  {
    id: "capture-never-given-up",
    number: 2,
    says: "An unanswered capture is repeated until the gateway answers it.",
    code: [
      {
        ...captureUnanswered,
        replace: `    case "unknown": {
      const next = await decide(tx, trail, attempt, { kind: "GATEWAY_ERROR", captureRefused: true });
      return recordCaptureRefused(tx, attempt, "no answer", next);
    }`,
      },
    ],
    database: [],
    coveredBy: ["former-winner-waits"],
  },
  {
    id: "former-winner-waits",
    number: 3,
    says: "Nothing else happens while a former winner may still turn out captured.",
    code: [
      {
        file: nextStep,
        find: "if (formerWinner.length > 0) return noLaterThanPending(session, firstDue(formerWinner, moment, voidOf));",
        replace: "",
      },
    ],
    database: [
      {
        file: schema,
        find: "CREATE UNIQUE INDEX attempt_one_capturable",
        replace: "CREATE INDEX attempt_one_capturable",
      },
      withoutGuard("no end without a capture while one may still land"),
    ],
  },
  {
    id: "landed-capture-adopted",
    number: 3,
    says: "A former winner whose capture had landed after all ends the session as SUCCEEDED.",
    code: [
      {
        file: flowSteps,
        find: 'if (answer.type === "alreadyCaptured" && attempt.captureStartedAt && trail.session.status === "CREATED") {',
        replace: "if (false) {",
      },
    ],
    database: [],
  },
  {
    id: "one-authorizing",
    number: 4,
    says: "At most one attempt is AUTHORIZING.",
    code: [
      {
        file: nextStep,
        find: 'if (authorizing) return { type: "giveUpWaiting", attempt: authorizing };',
        replace: `if (authorizing && planLeft(session, attempts)[0] && mayStillOpen(session, moment)) {
    return { type: "open", to: planLeft(session, attempts)[0]!, because: "" };
  }
  if (authorizing) return { type: "giveUpWaiting", attempt: authorizing };`,
      },
    ],
    database: [
      {
        file: schema,
        find: "CREATE UNIQUE INDEX attempt_one_authorizing",
        replace: "CREATE INDEX attempt_one_authorizing",
      },
    ],
    coveredBy: ["winner-once", "lease-epoch"],
  },
  {
    id: "end-voids-unknown",
    number: 5,
    says: "The transaction that ends a session gives every unknown attempt back.",
    code: [{ file: "src/core/submit-payment.ts", find: "          await voidUnknown(tx, session.id);\n", replace: "" }],
    database: [withoutGuard("unknown attempts go to VOIDING with the winner or the end")],
  },
  {
    id: "end-with-event",
    number: 5,
    says: "The final status and its event are one transaction.",
    code: [
      {
        file: "src/core/settle.ts",
        find: "  await tellMerchant(tx, core, session, eventOf[ending.status]);",
        replace: `  tx.afterCommit(() => {
    const tell = (later: Tx) => tellMerchant(later, core, session, eventOf[ending.status]);
    core.database.transaction(tell).catch(() => {});
  });`,
      },
    ],
    database: [],
  },
  {
    id: "lease-epoch",
    number: 6,
    says: "A worker that was taken over changes nothing any more.",
    code: [
      {
        file: lease,
        find: `WHERE id = $1 AND lease_epoch = $2 AND phase = 'PROCESSING'\n    RETURNING \${sessionColumns}`,
        replace: `WHERE id = $1 AND $2::int IS NOT NULL AND phase = 'PROCESSING'\n    RETURNING \${sessionColumns}`,
      },
      {
        file: "src/core/submit-payment.ts",
        find: "trail.session.leaseEpoch !== lease.epoch || ",
        replace: "",
      },
    ],
    database: [],
    coveredBy: ["conditional-move"],
  },
  {
    id: "conditional-move",
    number: 6,
    says: "Every change of an attempt is conditional on the status that it was decided from.",
    code: [
      {
        file: attempts,
        find: "WHERE session_id = $1 AND id = $2 AND status = $3 RETURNING id",
        replace: "WHERE session_id = $1 AND id = $2 AND $3::text IS NOT NULL RETURNING id",
      },
    ],
    database: [
      {
        file: schema,
        find: "PERFORM app.refuse('illegal attempt transition ' || OLD.status || ' to ' || NEW.status)",
        replace: "NULL",
      },
    ],
    coveredBy: ["lease-epoch"],
  },
  {
    id: "session-locked-first",
    number: 6,
    says: "Every transaction locks the session before it decides.",
    code: [
      {
        file: lease,
        find: `    UPDATE payment_session s SET lease_until = app.clock() + $3 * interval '1 ms'
    WHERE id = $1 AND lease_epoch = $2 AND phase = 'PROCESSING'
    RETURNING \${sessionColumns}, app.clock() AS now`,
        replace: `    SELECT \${sessionColumns}, app.clock() AS now FROM payment_session s
    WHERE id = $1 AND lease_epoch = $2 AND phase = 'PROCESSING' AND $3::int IS NOT NULL`,
      },
    ],
    database: [],
    coveredBy: ["conditional-move"],
  },
  {
    id: "success-is-captured",
    number: 7,
    says: "SUCCEEDED means that the winner is captured.",
    code: [
      {
        ...captureUnanswered,
        replace: `    case "unknown":
      return settleSession(tx, core, trail.session, { status: "SUCCEEDED", winner: attempt, captureConfirmed: false });`,
      },
    ],
    database: [
      {
        file: schema,
        find: ",\n  ADD CONSTRAINT payment_session_captured FOREIGN KEY (id, captured_attempt_id, pinned) REFERENCES attempt (session_id, id, captured)",
        replace: "",
      },
    ],
  },
  {
    id: "amount-pinned",
    number: 7,
    says: "An attempt is over exactly its session's amount.",
    code: [{ file: attempts, find: "    session.amountMinor,\n", replace: "    session.amountMinor + 1,\n" }],
    database: [
      {
        file: schema,
        find: "  FOREIGN KEY (session_id, amount_minor, currency) REFERENCES payment_session (id, amount_minor, currency),\n",
        replace: "",
      },
    ],
  },
  {
    id: "stop-ends-plan",
    number: 7,
    says: "No attempt follows a fraud decline or another stop.",
    code: [
      {
        file: "src/core/failover.ts",
        find: 'const stop = failure.kind === "FRAUD" ? "fraud" : failure.stop;',
        replace: "const stop = undefined as Stop | undefined;",
      },
      {
        file: "src/core/failover.ts",
        find: 'failure.kind === "FRAUD" || !rule.failoverOn.includes(switchOf[failure.kind])',
        replace: 'failure.kind !== "FRAUD" && !rule.failoverOn.includes(switchOf[failure.kind])',
      },
    ],
    database: [withoutGuard("a fraud-class decline is never retried"), withoutGuard("no attempt follows a stop")],
  },
  {
    id: "no-hold-after-fraud",
    number: 7,
    says: "After a fraud decline no earlier hold is adopted.",
    code: [{ file: nextStep, find: "if (unknown && !isFraud)", replace: "if (unknown)" }],
    database: [withoutGuard("no hold is adopted after a fraud decline")],
  },
  {
    id: "deadline",
    number: 7,
    says: "No attempt is opened after the deadline.",
    code: [
      {
        file: nextStep,
        find: "return !isOver(session, { now: new Date(now.getTime() + openingMarginMs) });",
        replace: "return now !== undefined;",
      },
    ],
    database: [withoutGuard("no attempt after the deadline")],
  },
  {
    id: "expiry-only-idle",
    number: 7,
    says: "Only a session that nobody submitted expires.",
    code: [
      {
        file: "src/core/expire-sessions.ts",
        find: "WHERE id = $1 AND phase = 'IDLE' AND expires_at <= app.clock()",
        replace: "WHERE id = $1 AND status = 'CREATED' AND expires_at <= app.clock()",
      },
    ],
    database: [
      withoutCheck("(status = 'EXPIRED') = (phase = 'DONE' AND lease_epoch = 0)"),
      withoutCheck("(phase = 'IDLE' OR status = 'EXPIRED') = (submitted_at IS NULL)"),
    ],
  },
  {
    id: "look-up-reads",
    number: 8,
    says: "A look-up never asks for money.",
    code: [
      {
        file: "src/core/gateway-steps.ts",
        find: '  return { answer: await connector.lookUp(call, atGateway(attempt)), source: "read" };',
        replace: `  const again = { ...atGateway(attempt), sessionId: "", orderRef: "", vaultToken: new Secret("") };
  await connector.authorize({ ...call, idempotencyKey: again.attemptReference }, again);
  return { answer: await connector.lookUp(call, atGateway(attempt)), source: "read" };`,
      },
    ],
    database: [],
  },
  {
    id: "capture-one-key",
    number: 8,
    says: "A capture is repeated under one idempotency key.",
    code: [
      {
        file: "src/core/gateway-steps.ts",
        find: "_cap`;",
        replace: "_cap` + attempt.tries;",
      },
    ],
    database: [],
  },
  {
    id: "horizon",
    number: 9,
    says: "That there was never a hold is believed only once none can come any more.",
    code: [{ file: flowSteps, find: "const late = askedAt >= attempt.horizonAt;", replace: "const late = true;" }],
    database: [{ file: recovery, find: " AND void_asked_at >= horizon_at);", replace: ");" }],
    coveredBy: ["strays-voided"],
  },
  {
    id: "strays-voided",
    number: 9,
    says: "A hold that is found after its attempt has ended is given back.",
    code: [
      {
        file: "src/core/stray-holds.ts",
        find: "    if (!owner?.isOver) return false;",
        replace: "    if (owner !== undefined) return false;",
      },
    ],
    database: [],
  },
];
