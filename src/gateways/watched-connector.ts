/** A connector whose calls are timed and told: to which gateway, what for, how it ended. Nothing of the payment is told. */
import { unreachable } from "../platform/errors.ts";
import type { Connector, Gateway, GatewayOutcome } from "./connector.ts";

/** What a gateway is asked for. */
export type GatewayOperation = "authorize" | "capture" | "void" | "look_up" | "verify";

/** One answered call. */
export type SeenCall = {
  readonly gateway: Gateway;
  readonly operation: GatewayOperation;
  /** The kind of the answer, as the contract of connectors has it. */
  readonly outcome: string;
  /** Why an authorize brought no hold: the failure kind, or the cause where nothing was processed. */
  readonly because: string;
  readonly durationMs: number;
};

/** Told of each call when it has its answer. Must not throw. */
export type GatewayWatch = (seen: SeenCall) => void;

/** The same connector, watched. */
export function watchConnector(connector: Connector, watch: GatewayWatch): Connector {
  const { gateway } = connector;
  const seen = async <Answer>(
    operation: GatewayOperation,
    call: Promise<Answer>,
    tell: (answer: Answer) => Pick<SeenCall, "outcome" | "because">,
  ): Promise<Answer> => {
    const begunAt = performance.now();
    const answer = await call;
    watch({ gateway, operation, ...tell(answer), durationMs: performance.now() - begunAt });
    return answer;
  };
  const byType = ({ type }: { type: string }) => ({ outcome: type, because: "none" });
  const { readNotification } = connector;
  return {
    gateway,
    canRead: connector.canRead,
    refusesVoidedReference: connector.refusesVoidedReference,
    executionLimitMs: connector.executionLimitMs,
    failsOnRequest: connector.failsOnRequest,
    credentialFields: connector.credentialFields,
    forwardFeatures: connector.forwardFeatures,
    cardBrands: connector.cardBrands,
    whyNotPayable: (amount) => connector.whyNotPayable(amount),
    authorize: (call, request) =>
      seen("authorize", connector.authorize(call, request), ({ outcome }) => ({
        outcome: outcome.type,
        because: becauseOf(outcome),
      })),
    capture: (call, hold) => seen("capture", connector.capture(call, hold), byType),
    void: (call, attempt) => seen("void", connector.void(call, attempt), byType),
    lookUp: (call, attempt) => seen("look_up", connector.lookUp(call, attempt), byType),
    verify: (call) =>
      seen("verify", connector.verify(call), (rows) => ({
        outcome: rows.some(({ state }) => state === "failed") ? "refused" : "done",
        because: "none",
      })),
    ...(readNotification && { readNotification: (...sent) => readNotification.apply(connector, sent) }),
  };
}

function becauseOf(outcome: GatewayOutcome): string {
  switch (outcome.type) {
    case "held":
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
