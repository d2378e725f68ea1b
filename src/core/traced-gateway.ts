/** A connector's calls for one attempt, each inside a span that tells which gateway was asked and what it said. */
import type { Connector, GatewayOutcome, LookUpAnswer, VoidAnswer } from "../gateways/connector.ts";
import { encodeId } from "../platform/ids.ts";
import type { SpanFacts, SpanName, SpanOptions, Tracing } from "../platform/telemetry.ts";
import type { Attempt } from "./entities.ts";

/** What the payment flow asks of a connector, for one attempt. */
export type AskedConnector = Pick<
  Connector,
  "canRead" | "failsOnRequest" | "authorize" | "capture" | "void" | "lookUp"
>;

type Answer = GatewayOutcome | VoidAnswer | LookUpAnswer;

/** The same calls, traced. */
export function traceGateway(
  tracing: Tracing,
  connector: Connector,
  attempt: Pick<Attempt, "sessionId" | "id" | "gateway">,
): AskedConnector {
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
      span.tell(factsOf(answerOf(given)));
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

/** Our own words for an answer; what the gateway wrote stays out. */
function factsOf(answer: Answer): SpanFacts {
  switch (answer.type) {
    case "declined":
      return { outcome: answer.type, failureKind: answer.kind, declineCode: answer.declineCode };
    case "unknown":
      return { outcome: answer.type, failureKind: answer.kind };
    case "notProcessed":
      return { outcome: answer.type, operation: answer.cause };
    default:
      return { outcome: answer.type };
  }
}
