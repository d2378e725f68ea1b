/** The intake of gateway notifications: reads raw bytes, stores them, answers. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { notificationBytesMax, requestTimeoutMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { readBody } from "../transcoder/request-body.ts";
import { sendAnswer } from "../transcoder/send-answer.ts";
import type { EdgeEnvironments } from "./caller.ts";

const pattern = /^\/gateway-notifications\/(test|live)\/(gc_[0-9a-z]{26})$/;

/** Answers POST /gateway-notifications/{environment}/{connectionId} with 200 once the notifications are durable. */
export function createNotificationIntake(environments: EdgeEnvironments) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const [, name, connectionId = ""] = pattern.exec(request.url ?? "") ?? [];
    const environment = name === "test" || name === "live" ? environments[name] : undefined;
    if (environment === undefined) return false;
    if (request.method !== "POST") {
      throw new DomainError("method_not_allowed", "Notifications are posted.", { allow: ["POST"] });
    }
    await environment.takeNotification(connectionId, async () => ({
      headers: singleHeaders(request),
      body: await readBody(request, { bodyBytesMax: notificationBytesMax, bodyTimeoutMs: requestTimeoutMs }),
    }));
    // Adyen repeats a notification until it reads this word (https://docs.adyen.com/development-resources/webhooks, 2026-11).
    sendAnswer(response, { status: 200, headers: { "content-type": "text/plain" }, body: "[accepted]" });
    return true;
  };
}

function singleHeaders(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
}
