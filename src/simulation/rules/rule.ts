/** What a rule of docs/safety.md is to the simulation: the texts that keep it, so that it can be taken out and missed. */

/** A text that must stand exactly once in a file, and what stands there once the rule is gone. */
export type Removal = { readonly file: string; readonly find: string; readonly replace: string };

/** One rule, with what takes it out of the code and out of the schema. */
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
  /** What its violation says, where the rules that cover it have others. */
  readonly harm?: string;
  /** Why money is not in danger even then, where nothing was ever found. */
  readonly harmless?: string;
  /** Where the search for its violation begins, in place of 1: seeds before it were seen to show none, and cost minutes. */
  readonly firstSeed?: number;
};

/** The files that most rules are kept in. */
export const files = {
  attempts: "src/core/attempts.ts",
  captureSteps: "src/core/capture-steps.ts",
  flowSteps: "src/core/flow-steps.ts",
  gatewaySteps: "src/core/gateway-steps.ts",
  lease: "src/core/lease.ts",
  nextStep: "src/core/next-step.ts",
  submitPayment: "src/core/submit-payment.ts",
  schema: "src/migrations/environment/migration-001-payment.ts",
  recovery: "src/migrations/environment/migration-004-recovery.ts",
} as const;

/** A guard of the schema that no longer refuses. */
export const withoutGuard = (reason: string): Removal => ({
  file: files.schema,
  find: `PERFORM app.refuse('${reason}')`,
  replace: "NULL",
});

/** A CHECK that lets everything pass; the generated names of the others stay as they are. */
export const withoutCheck = (condition: string): Removal => ({
  file: files.schema,
  find: `CHECK (${condition})`,
  replace: "CHECK (true)",
});

/** A unique index that no longer is. */
export const withoutUnique = (index: string): Removal => ({
  file: files.schema,
  find: `CREATE UNIQUE INDEX ${index}`,
  replace: `CREATE INDEX ${index}`,
});

/** What happens to a capture that nobody answered. */
export const captureUnanswered: Pick<Removal, "file" | "find"> = {
  file: files.captureSteps,
  find: `    case "unknown":
      return repeatCapture(tx, work, attempt);`,
};
