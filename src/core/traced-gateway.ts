/** Traces a connector's calls for one attempt: each runs inside a span that records the gateway and its answer. */

import type { Connector, GatewayOutcome, LookUpAnswer, VoidAnswer } from "../gateways/connector.ts";
import { unreachable } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { SpanFacts, SpanName, SpanOptions, Tracing } from "../platform/telemetry.ts";
import type { Attempt } from "./entities.ts";

/** The part of a connector that the payment flow uses for one attempt. */
export type TracedConnector = Pick<
  Connector,
  "canRead" | "failsOnRequest" | "authorize" | "capture" | "void" | "lookUp"
>;

type Answer = GatewayOutcome | VoidAnswer | LookUpAnswer;

/** Wraps a connector's calls in spans. */
export function traceGateway(
  tracing: Tracing,
  connector: Connector,
  attempt: Pick<Attempt, "sessionId" | "id" | "gateway">,
): TracedConnector {
  const options: SpanOptions = {
    of: { session: attempt.sessionId },
    kind: "client",
    facts: () => ({
      sessionId: encodeId("ps", attempt.sessionId),
      attemptId: encodeId("att", attempt.id),
      gateway: attempt.gateway,
    }),
  };
  const traced = <Given>(name: SpanName, call: () => Promise<Given>, answerOf: (given: Given) => Answer) =>
    tracing.span(name, options, async (span) => {
      const given = await call();
      span.set(factsOf(answerOf(given)));
      return given;
    });
  const whole = <Given>(given: Given) => given;
  return {
    canRead: connector.canRead,
    failsOnRequest: connector.failsOnRequest,
    authorize: (...asked) =>
      traced(
        "gateway.authorize",
        () => connector.authorize(...asked),
        ({ outcome }) => outcome,
      ),
    capture: (...asked) => traced("gateway.capture", () => connector.capture(...asked), whole),
    void: (...asked) => traced("gateway.void", () => connector.void(...asked), whole),
    lookUp: (...asked) => traced("gateway.look_up", () => connector.lookUp(...asked), whole),
  };
}

/** Returns our own words for an answer; the gateway's text is left out. */
function factsOf(answer: Answer): SpanFacts {
  switch (answer.type) {
    case "declined":
      return { outcome: answer.type, failureKind: answer.kind, declineCode: answer.declineCode };
    case "unknown":
      return { outcome: answer.type, failureKind: answer.kind };
    case "notProcessed":
      return { outcome: answer.type, operation: answer.cause };
    case "refused":
    case "held":
    case "done":
    case "accepted":
    case "alreadyCaptured":
    case "captured":
    case "voided":
    case "absent":
    case "heldOther":
    case "inconclusive":
      return { outcome: answer.type };
    default:
      return unreachable(answer);
  }
}
