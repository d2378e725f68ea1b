/**
 * Serves browsers while a customer authenticates: a page gets the action that its ticket shows, and the bank returns
 * the customer. Nothing that comes with a return is believed; it makes the session look at its gateway.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Core } from "../core/core.ts";
import { sessionNamedIn, takeReturn, useActionTicket } from "../core/customer-actions.ts";
import { resumeSession } from "../core/submit-payment.ts";
import { requestTimeoutMs } from "../limits.ts";
import { cellOf, findCell } from "../platform/cells.ts";
import { DomainError } from "../platform/errors.ts";
import { parseJsonObject } from "../platform/outbound-http.ts";
import { readBody } from "../transcoder/request-body.ts";
import { sendAnswer } from "../transcoder/send-answer.ts";
import type { EdgeEnvironment, EdgeEnvironments } from "./caller.ts";

const openPattern = /^\/authentication\/(test|live)\/open$/;
const returnPattern = /^\/authentication\/(test|live)\/return\/([\w.-]{1,200})$/;

// A bank's answer has some kilobytes at most, a ticket a hundred characters.
const limits = { bodyBytesMax: 8 * 1024, bodyTimeoutMs: requestTimeoutMs };

/** Returns the path of a return address. */
export function returnPathOf(environment: "test" | "live", token: string): string {
  return `/authentication/${environment}/return/${token}`;
}

/**
 * Answers POST /authentication/{environment}/open with the action that a ticket shows, and GET and POST
 * /authentication/{environment}/return/{token} with a page that has nothing to press.
 */
export function createAuthenticationRoutes(environments: EdgeEnvironments) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const url = new URL(request.url ?? "/", "http://edge");
    const [, opening] = openPattern.exec(url.pathname) ?? [];
    const [, returning, token = ""] = returnPattern.exec(url.pathname) ?? [];
    const environment = environments[(opening ?? returning) as "test" | "live"];
    if (environment === undefined) return false;
    if (opening !== undefined) {
      requireMethod(request, ["POST"]);
      const { ticket: posted } = parseJsonObject(await readBody(request, limits)) ?? {};
      const ticket = typeof posted === "string" ? posted : "";
      const action = await useActionTicket(coreOf(environment, ticket), ticket);
      sendAnswer(response, { status: 200, headers: jsonHeaders, body: JSON.stringify(action) });
      return true;
    }
    requireMethod(request, ["GET", "POST"]);
    const fields = new URLSearchParams(url.search);
    if (request.method === "POST") {
      const posted = Buffer.from(await readBody(request, limits)).toString();
      for (const [name, value] of new URLSearchParams(posted)) fields.append(name, value);
    }
    const core = coreOf(environment, token);
    const sessionId = await takeReturn(core, token, fields);
    if (sessionId !== undefined) await resumeSession(core, sessionId);
    sendAnswer(response, { status: 200, headers: pageHeaders, body: returnPage });
    return true;
  };
}

/** Returns the core of the cell whose session a text names; that of the first cell, which refuses it, for any other text. */
function coreOf(environment: EdgeEnvironment, text: string): Core {
  const sessionId = sessionNamedIn(text);
  const cell = sessionId === undefined ? undefined : findCell(environment, cellOf(sessionId));
  return (cell ?? environment).core;
}

function requireMethod({ method = "" }: IncomingMessage, allow: readonly string[]): void {
  if (!allow.includes(method)) {
    throw new DomainError("method_not_allowed", `Use ${allow.join(" or ")}.`, { allow: [...allow] });
  }
}

const jsonHeaders = { "content-type": "application/json" };
const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; base-uri 'none'",
  "referrer-policy": "no-referrer",
};
const returnPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Payment</title>
<p>Your bank has answered. You can close this page.</p></html>`;
