/**
 * Serves browsers while a customer authenticates: pages that show the action of a ticket, and the bank's return of the
 * customer. Nothing that comes with a return is believed; it makes the session look at its gateway.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isReturnOver, isReturnToken, sessionNamedIn, takeReturn, useActionTicket } from "../core/customer-actions.ts";
import { resumeSession } from "../core/submit-payment.ts";
import { requestTimeoutMs } from "../limits.ts";
import { cellOf, findCell } from "../platform/cells.ts";
import type { CountedClientOf } from "../platform/client-address.ts";
import { DomainError } from "../platform/errors.ts";
import { parseJsonObject } from "../platform/outbound-http.ts";
import { serveFiles } from "../platform/static-files.ts";
import { readBody } from "../transcoder/request-body.ts";
import { type Answer, sendAnswer } from "../transcoder/send-answer.ts";
import { chargeCustomer } from "./authenticate.ts";
import { type AuthenticationPages, embeddersOf, returnPageHeaders, shownPageHeaders } from "./authentication-pages.ts";
import type { EdgeEnvironment, EdgeEnvironments } from "./caller.ts";
import { setAnswerHeaders } from "./request-id.ts";
import type { LimitFields } from "./request-limits/request-limits.ts";

const pattern =
  /^\/authentication\/(?<name>test|live)\/(?:(?<page>frame|window|open)|return\/(?<token>[\w.-]{1,200})(?<end>\/end)?)$/;

// A bank's answer has some kilobytes at most, a ticket some hundred characters.
const limits = { bodyBytesMax: 8 * 1024, bodyTimeoutMs: requestTimeoutMs };

export function returnPathOf(environment: "test" | "live", token: string): string {
  return `/authentication/${environment}/return/${token}`;
}

type Asked = {
  readonly request: IncomingMessage;
  readonly environment: EdgeEnvironment;
  readonly query: URLSearchParams;
  readonly token: string;
  /** Charges the merchant of the session that a text names, before its first query. */
  readonly charge: (text: string) => Promise<void>;
};

/**
 * Answers the pages and calls of customer authentication, below /authentication/{environment}: `frame` and `window`,
 * which show an action; POST `open`, which returns the action of a ticket; GET and POST `return/{token}`, a page
 * without controls; and `return/{token}/end`, from which that page learns that the customer can go back. Before the
 * body is read or the database is queried, a return with a token of ours counts for the token, and everything else for
 * the browser's address. A call that reads a session is charged to its merchant, in the share of customers who have
 * submitted.
 */
export function createAuthenticationRoutes(
  environments: EdgeEnvironments,
  pages: AuthenticationPages,
  clientOf: CountedClientOf,
) {
  const serveScript = serveFiles(scriptsOf(pages));
  const answers: Readonly<Record<string, (asked: Asked) => Promise<Answer>>> = {
    frame: (asked) => answerFrame(pages, asked),
    window: (asked) => answerWindow(pages, asked),
    open: answerOpen,
    return: (asked) => answerReturn(pages, asked),
    end: answerEnd,
  };
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    if (!request.url?.startsWith("/authentication/")) return false;
    if (serveScript(request, response)) return true;
    const url = new URL(request.url, "http://edge");
    const { name, page, token = "", end } = pattern.exec(url.pathname)?.groups ?? {};
    const environment = environments[name as "test" | "live"];
    if (environment === undefined) return false;
    const asked = page ?? (end === undefined ? "return" : "end");
    const setLimitHeaders = (fields: LimitFields) => setAnswerHeaders(request, fields);
    const client = clientOf(request);
    if (asked === "return" && isReturnToken(environment.core, token)) {
      environment.requestLimits?.countReturn(token, setLimitHeaders);
    } else environment.requestLimits?.countClient(client, setLimitHeaders);
    const charge = async (text: string) => {
      const sessionId = sessionNamedIn(text);
      if (sessionId === undefined) return;
      await chargeCustomer(cellNamedIn(environment, text), { sessionId, client }, setLimitHeaders);
    };
    const answer = answers[asked]!;
    sendAnswer(response, await answer({ request, environment, query: url.searchParams, token, charge }));
    return true;
  };
}

/** Returns the cell whose session a text names; the first cell, which refuses it, for any other text. */
function cellNamedIn(environment: EdgeEnvironment, text: string): EdgeEnvironment {
  const sessionId = sessionNamedIn(text);
  return (sessionId === undefined ? undefined : findCell(environment, cellOf(sessionId))) ?? environment;
}

function scriptsOf({ files }: AuthenticationPages) {
  return new Map(
    [...files].map(([path, { contentType, bytes }]) => {
      // Named by their content.
      const headers = { "content-type": contentType, "cache-control": "public, max-age=31536000, immutable" };
      return [path, { headers, bytes }] as const;
    }),
  );
}

async function answerFrame(pages: AuthenticationPages, { request, environment, query }: Asked): Promise<Answer> {
  requireMethod(request, ["GET", "HEAD"]);
  const { sealing, runtime } = environment.core;
  const embedders = embeddersOf(sealing, query.get("p") ?? "", runtime.now());
  return {
    status: embedders.length === 0 ? 403 : 200,
    headers: shownPageHeaders(environment, pages.styleSource, embedders),
    body: pages.render("frame", { acceptLanguage: languageOf(request), embedders: withVault(environment, embedders) }),
  };
}

// The vault's page around the frame hands the merchant's messages on.
function withVault({ core }: EdgeEnvironment, embedders: readonly string[]): readonly string[] {
  return embedders.length === 0 || embedders.includes("*") ? embedders : [core.vault.origin, ...embedders];
}

async function answerWindow(pages: AuthenticationPages, { request, environment }: Asked): Promise<Answer> {
  requireMethod(request, ["GET", "HEAD"]);
  return {
    status: 200,
    headers: shownPageHeaders(environment, pages.styleSource),
    body: pages.render("window", { acceptLanguage: languageOf(request) }),
  };
}

async function answerOpen({ request, environment, charge }: Asked): Promise<Answer> {
  requireMethod(request, ["POST"]);
  const { ticket: posted } = parseJsonObject(await readBody(request, limits)) ?? {};
  const ticket = typeof posted === "string" ? posted : "";
  await charge(ticket);
  const action = await useActionTicket(cellNamedIn(environment, ticket).core, ticket);
  return { status: 200, headers: jsonHeaders, body: JSON.stringify(action) };
}

async function answerReturn(pages: AuthenticationPages, { request, environment, query, token, charge }: Asked) {
  requireMethod(request, ["GET", "POST"]);
  if (request.method === "POST") {
    const posted = Buffer.from(await readBody(request, limits)).toString();
    for (const [name, value] of new URLSearchParams(posted)) query.append(name, value);
  }
  const { core } = cellNamedIn(environment, token);
  if (isReturnToken(core, token)) await charge(token);
  const sessionId = await takeReturn(core, token, query);
  if (sessionId !== undefined) await resumeSession(core, sessionId);
  const body = pages.render("return", { acceptLanguage: languageOf(request) });
  return { status: 200, headers: returnPageHeaders(pages.styleSource), body };
}

async function answerEnd({ request, environment, token, charge }: Asked): Promise<Answer> {
  requireMethod(request, ["GET"]);
  const { core } = cellNamedIn(environment, token);
  if (isReturnToken(core, token)) await charge(token);
  const isOver = await isReturnOver(core, token);
  return { status: 200, headers: jsonHeaders, body: JSON.stringify({ isOver }) };
}

function languageOf({ headers }: IncomingMessage): string {
  return headers["accept-language"] ?? "";
}

function requireMethod({ method = "" }: IncomingMessage, allow: readonly string[]): void {
  if (!allow.includes(method)) {
    throw new DomainError("method_not_allowed", `Use ${allow.join(" or ")}.`, { allow: [...allow] });
  }
}

const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store" };
