/** Rules 7 to 9: what a session may end as, and what is believed of a gateway. */
import { captureUnanswered, files, type Rule, withoutCheck, withoutGuard } from "./rule.ts";

/** Rules 7 to 10, each with its removal. */
export const endRules: readonly Rule[] = [
  {
    id: "success-is-captured",
    number: 7,
    says: "SUCCEEDED means that the winner is captured.",
    code: [
      {
        ...captureUnanswered,
        replace: `    case "unknown":
      holdSession(tx, lease);
      return settleSession(tx, core, trail.session, { status: "SUCCEEDED", winner: attempt, captureConfirmed: false });`,
      },
    ],
    database: [
      {
        file: files.schema,
        find: ",\n  ADD CONSTRAINT payment_session_captured FOREIGN KEY (id, captured_attempt_id, pinned) REFERENCES attempt (session_id, id, captured)",
        replace: "",
      },
    ],
  },
  {
    id: "amount-pinned",
    number: 7,
    says: "An attempt is over exactly its session's amount.",
    code: [{ file: files.attempts, find: "    session.amountMinor,\n", replace: "    session.amountMinor + 1,\n" }],
    database: [
      {
        file: files.schema,
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
    code: [{ file: files.nextStep, find: "if (unknown && !isFraud)", replace: "if (unknown)" }],
    database: [withoutGuard("no hold is adopted after a fraud decline")],
  },
  {
    id: "deadline",
    number: 7,
    says: "No attempt is opened after the deadline.",
    code: [
      {
        file: files.nextStep,
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
      withoutCheck("vault_token IS NULL OR (phase = 'PROCESSING' AND status = 'CREATED')"),
      withoutGuard("no end while an attempt is AUTHORIZING"),
      withoutGuard("DONE means that every attempt is final"),
    ],
  },
  {
    id: "look-up-reads",
    number: 8,
    says: "A look-up never asks for money.",
    code: [
      {
        file: files.gatewaySteps,
        find: "  const answer = await connector.lookUp(call, atGateway(attempt));",
        replace: `  const again = { ...atGateway(attempt), sessionId: "", orderRef: "", vaultToken: new Secret("") };
  await connector.authorize({ ...call, idempotencyKey: again.attemptReference }, again);
  const answer = await connector.lookUp(call, atGateway(attempt));`,
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
        file: files.gatewaySteps,
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
    code: [
      { file: files.flowSteps, find: "const late = askedAt >= attempt.horizonAt;", replace: "const late = true;" },
    ],
    database: [{ file: files.recovery, find: " AND void_asked_at >= horizon_at);", replace: ");" }],
    coveredBy: ["strays-voided"],
  },
  {
    id: "strays-voided",
    number: 10,
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
