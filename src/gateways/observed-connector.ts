/**
 * Connectors and providers whose calls are timed and reported to an observer: the gateway, the operation and the
 * outcome. Nothing about the payment is reported.
 */
import { unreachable } from "../platform/errors.ts";
import type { AuthenticationProvider, ProviderName } from "./authentication-provider.ts";
import type { CompletionAnswer, Connector, Gateway, VerifyRow } from "./connector.ts";
import type { GatewayStatements } from "./statements.ts";

export const gatewayOperations = [
  ...(["authorize", "capture", "void", "look_up", "complete", "ask_action", "verify"] as const),
  ...([
    "refund",
    "look_up_refund",
    "list_refunds",
    "list_disputes",
    "answer_dispute",
    "read_statements",
    "erase_method",
  ] as const),
  ...(["prepare", "authenticate", "result"] as const),
] as const;
type GatewayOperation = (typeof gatewayOperations)[number];

/** An answered call. */
type SeenCall = {
  readonly gateway: Gateway | ProviderName;
  readonly operation: GatewayOperation;
  /** The type of the answer, as in the contract of connectors. */
  readonly outcome: string;
  /** The reason why an authorize brought no hold: the failure kind, or the cause if nothing was processed. */
  readonly reason: string;
  readonly durationMs: number;
};

/** Receives each call when it has its answer. Must not throw. */
export type GatewayObserver = (seen: SeenCall) => void;

function observeCalls(gateway: SeenCall["gateway"], observer: GatewayObserver) {
  return async <Answer>(
    operation: GatewayOperation,
    call: Promise<Answer>,
    describe: (answer: Answer) => Pick<SeenCall, "outcome" | "reason">,
  ): Promise<Answer> => {
    const begunAt = performance.now();
    const answer = await call;
    observer({ gateway, operation, ...describe(answer), durationMs: performance.now() - begunAt });
    return answer;
  };
}

const byType = ({ type }: { readonly type: string }) => ({ outcome: type, reason: "none" });

const byFound = (found: readonly unknown[] | "unreadable" | undefined) => ({
  outcome: found === "unreadable" ? "refused" : found ? "done" : "unknown",
  reason: "none",
});

const byOptions = (options: object | undefined) => ({ outcome: options ? "done" : "unknown", reason: "none" });

const byRows = (rows: readonly VerifyRow[]) => ({
  outcome: rows.some(({ state }) => state === "failed") ? "refused" : "done",
  reason: "none",
});

export function observeProvider(provider: AuthenticationProvider, observer: GatewayObserver): AuthenticationProvider {
  const { gateway, credentialFields, forwardFeatures, readReturn } = provider;
  const seen = observeCalls(gateway, observer);
  return {
    gateway,
    credentialFields,
    forwardFeatures,
    readReturn,
    prepare: (...asked) => seen("prepare", provider.prepare(...asked), byType),
    authenticate: (...asked) => seen("authenticate", provider.authenticate(...asked), byType),
    result: (...asked) => seen("result", provider.result(...asked), byType),
    verify: (call) => seen("verify", provider.verify(call), byRows),
  } satisfies AuthenticationProvider & Record<keyof AuthenticationProvider, unknown>;
}

export function observeConnector(connector: Connector, observer: GatewayObserver): Connector {
  const {
    gateway,
    readNotification,
    authentication,
    refunds,
    disputes,
    disputeAnswers: answers,
    statements,
  } = connector;
  const seen = observeCalls(gateway, observer);
  const authorized = ({ outcome }: CompletionAnswer) => ({ outcome: outcome.type, reason: becauseOf(outcome) });
  return {
    gateway,
    canRead: connector.canRead,
    refusesVoidedReference: connector.refusesVoidedReference,
    executionLimitMs: connector.executionLimitMs,
    failsOnRequest: connector.failsOnRequest,
    credentialFields: connector.credentialFields,
    forwardFeatures: connector.forwardFeatures,
    cardBrands: connector.cardBrands,
    asksExemptions: connector.asksExemptions,
    acceptsNetworkToken: connector.acceptsNetworkToken,
    importsProof: connector.importsProof,
    holdLifeMs: connector.holdLifeMs,
    storedCards: connector.storedCards,
    setsUp: connector.setsUp,
    keepsSetUps: connector.keepsSetUps,
    whyNotPayable: (amount) => connector.whyNotPayable(amount),
    authorize: (call, request) => seen("authorize", connector.authorize(call, request), authorized),
    capture: (call, hold) => seen("capture", connector.capture(call, hold), byType),
    void: (call, attempt) => seen("void", connector.void(call, attempt), byType),
    lookUp: (call, attempt) => seen("look_up", connector.lookUp(call, attempt), byType),
    readCapture: connector.readCapture && ((...asked) => seen("look_up", connector.readCapture!(...asked), byType)),
    eraseMethod:
      connector.eraseMethod && ((...asked) => seen("erase_method", connector.eraseMethod!(...asked), byType)),
    verify: (call) => seen("verify", connector.verify(call), byRows),
    authentication: authentication && {
      ...authentication,
      readReturn: (fields) => authentication.readReturn(fields),
      complete: (...asked) => seen("complete", authentication.complete(...asked), authorized),
      ...(authentication.askAction && {
        askAction: (...asked) => seen("ask_action", authentication.askAction!(...asked), byType),
      }),
    },
    refunds: refunds && {
      keyLifeMs: refunds.keyLifeMs,
      needsConfirmedCapture: refunds.needsConfirmedCapture,
      refund: (...asked) => seen("refund", refunds.refund(...asked), byType),
      lookUpRefund: (...asked) => seen("look_up_refund", refunds.lookUpRefund(...asked), byType),
      ...(refunds.listRefunds && {
        listRefunds: (...asked) => seen("list_refunds", refunds.listRefunds!(...asked), byFound),
      }),
    },
    disputes: disputes && {
      listedBy: disputes.listedBy,
      listDisputes: (...asked) => seen("list_disputes", disputes.listDisputes(...asked), byType),
      disputesOf: (...asked) => seen("list_disputes", disputes.disputesOf(...asked), byFound),
    },
    statements: statements && observeStatements(statements, seen),
    disputeAnswers: answers && {
      takesExplanation: answers.takesExplanation,
      options: (...asked) => seen("list_disputes", answers.options(...asked), byOptions),
      accept: (...asked) => seen("answer_dispute", answers.accept(...asked), byType),
      submit: (...asked) => seen("answer_dispute", answers.submit(...asked), byType),
    },
    ...(readNotification && { readNotification: (...sent) => readNotification.apply(connector, sent) }),
    // A method that is missing here would be missing in every process.
  } satisfies Connector & Record<Exclude<keyof Connector, "readNotification">, unknown>;
}

function becauseOf(outcome: CompletionAnswer["outcome"]): string {
  switch (outcome.type) {
    case "held":
    case "actionNeeded":
    case "notAnswered":
      return "none";
    case "declined":
      return outcome.kind;
    case "unknown":
      return outcome.lostAtVault ? "lost_at_vault" : outcome.kind;
    case "notProcessed":
      return outcome.cause;
    default:
      return unreachable(outcome);
  }
}

function observeStatements(statements: GatewayStatements, seen: ReturnType<typeof observeCalls>): GatewayStatements {
  if (statements.type === "reported") {
    return {
      ...statements,
      openReport: (...asked) => seen("read_statements", statements.openReport(...asked), byType),
    };
  }
  const { readPayouts } = statements;
  return {
    ...statements,
    readLines: (...asked) => seen("read_statements", statements.readLines(...asked), byType),
    ...(readPayouts && { readPayouts: (...asked) => seen("read_statements", readPayouts(...asked), byType) }),
  };
}
