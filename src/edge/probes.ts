/** Liveness and readiness probes for load balancers and orchestrators. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { DomainError } from "../platform/errors.ts";
import { sendAnswer } from "../transcoder/send-answer.ts";

/**
 * Answers /healthz for the process and /readyz for its dependencies; false for any other path. `Forwarding` tells the
 * doctor what proxies say about its own request.
 */
export function answerProbes(
  isReady: () => Promise<boolean>,
  forwardingOf: (request: IncomingMessage) => string,
): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  return async (request, response) => {
    if (request.url !== "/healthz" && request.url !== "/readyz") return false;
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new DomainError("method_not_allowed", "This path supports GET and HEAD.", { allow: ["GET", "HEAD"] });
    }
    const isFine = request.url === "/healthz" || (await isReady());
    const body = `{"status":"${isFine ? "ok" : "unavailable"}"}`;
    sendAnswer(response, { status: isFine ? 200 : 503, headers: { forwarding: forwardingOf(request) }, body });
    return true;
  };
}
