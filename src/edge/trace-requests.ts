/** The spans with which a payment begins at the edge: its session's creation, and its submission. */
import type { HandlerContext } from "@connectrpc/connect";
import { encodeId } from "../platform/ids.ts";
import type { FinishSpan } from "../platform/telemetry.ts";
import { type EdgeEnvironment, requestIdKey } from "./caller.ts";

type Called = { readonly environment: EdgeEnvironment; readonly context: HandlerContext };

/** Starts the session's trace: its first span has the session's id, which is known only now. A repeat is below it. */
export function traceCreation(
  finish: FinishSpan,
  { environment, context }: Called,
  created: { readonly sessionId: string; readonly replayed: boolean },
): void {
  const { sessionId, replayed } = created;
  finish("session.create", {
    of: { session: sessionId },
    ...(replayed ? {} : { id: sessionId }),
    kind: "server",
    link: context.requestHeader.get("traceparent"),
    facts: () => ({ ...factsOf(environment, context, sessionId), replayed: replayed ? "true" : undefined }),
  });
}

/** Submits inside a span, which ends when the caller is answered; the payment may continue. */
export function traceSubmission<Session extends { readonly id: string; readonly status: string }>(
  { environment, context }: Called,
  sessionId: string,
  submit: () => Promise<Session>,
): Promise<Session> {
  const options = {
    of: { session: sessionId },
    kind: "server" as const,
    link: context.requestHeader.get("traceparent"),
    facts: () => factsOf(environment, context, sessionId),
  };
  return environment.core.tracing.span("payment.submit", options, async (span) => {
    const submitted = await submit();
    span.set({ status: submitted.status });
    return submitted;
  });
}

function factsOf({ name }: EdgeEnvironment, { values }: HandlerContext, sessionId: string) {
  return { environment: name, sessionId: encodeId("ps", sessionId), requestId: values.get(requestIdKey) };
}
