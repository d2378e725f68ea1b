/**
 * Serves the page of recovery links, on which a customer pays a charge that is not paid. The page itself holds no secret: its script takes
 * the link's token from the fragment, which browsers send to no server, and posts it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { letterOfLink, verifyLinkToken } from "../core/stored-cards/recovery/link-token.ts";
import { findMerchantOfLink, type OpenedLink, openRecoveryLink } from "../core/stored-cards/recovery/recovery-links.ts";
import { requestTimeoutMs } from "../limits.ts";
import { cellOf } from "../platform/cells.ts";
import type { CountedClientOf } from "../platform/client-address.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId, type MerchantId, type RecoveryLinkId } from "../platform/ids.ts";
import { parseJsonObject } from "../platform/outbound-http.ts";
import { serveFiles } from "../platform/static-files.ts";
import { readBody } from "../transcoder/request-body.ts";
import { type Answer, sendAnswer } from "../transcoder/send-answer.ts";
import type { EdgeEnvironment, EdgeEnvironments } from "./caller.ts";
import { requestIdOf, setAnswerHeaders } from "./request-id.ts";
import type { LimitFields } from "./request-limits/request-limits.ts";

/** The browser's part of the page, which the widget's sources build. */
export type RecoveryPage = {
  /** The script, by its path. */
  readonly files: ReadonlyMap<string, { readonly contentType: string; readonly bytes: Uint8Array }>;
  /** The source of the page's inline style, for its Content-Security-Policy. */
  readonly styleSource: string;
  /** Renders the page in a language that the browser accepts. */
  render(reader: { acceptLanguage: string }): string;
};

/** The path of the page at the service's origin. */
export const recoveryPath = "/recover";

const openPath = `${recoveryPath}/open`;
// A token has some hundred characters.
const limits = { bodyBytesMax: 1024, bodyTimeoutMs: requestTimeoutMs };

type Parts = {
  readonly environments: EdgeEnvironments;
  readonly clientOf: CountedClientOf;
  /** Origin of the public port as browsers see it. */
  readonly apiOrigin: string;
  readonly recoveryPage: RecoveryPage;
  readonly merchantNameOf: MerchantNameOf;
};

/**
 * Answers GET of the page, and POST `open`, which returns the charge of a link and the session to pay it with. Before a
 * body is read, an opening counts for the browser's address; then for the link, and for its merchant in the share of
 * customers who have not submitted.
 */
export function createRecoveryRoutes(parts: Parts) {
  const { files, styleSource, render } = parts.recoveryPage;
  const headers = pageHeaders(parts, styleSource);
  // Named by its content.
  const forever = "public, max-age=31536000, immutable";
  const serveScript = serveFiles(
    new Map(
      [...files].map(([path, { contentType, bytes }]) => {
        return [path, { headers: { "content-type": contentType, "cache-control": forever }, bytes }] as const;
      }),
    ),
  );
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    if (!request.url?.startsWith(recoveryPath)) return false;
    if (serveScript(request, response)) return true;
    const { pathname } = new URL(request.url, "http://edge");
    if (pathname === recoveryPath) {
      requireMethod(request, ["GET", "HEAD"]);
      const body = render({ acceptLanguage: request.headers["accept-language"] ?? "" });
      sendAnswer(response, { status: 200, headers, body });
      return true;
    }
    if (pathname !== openPath) return false;
    requireMethod(request, ["POST"]);
    sendAnswer(response, await answerOpen(parts, request));
    return true;
  };
}

/** The page opens in no frame, sends its address nowhere, and loads only the widget and the vault's form. */
function pageHeaders({ environments }: Parts, styleSource: string): Record<string, string> {
  const vaults = [...new Set(Object.values(environments).map(({ core }) => core.vault.origin))].join(" ");
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${vaults}`,
    "connect-src 'self'",
    `frame-src ${vaults}`,
    `style-src ${styleSource}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types switchyard",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    vary: "accept-language",
    "content-security-policy": policy.join("; "),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
  };
}

async function answerOpen(parts: Parts, request: IncomingMessage): Promise<Answer> {
  const { environments, clientOf, apiOrigin } = parts;
  const setLimitHeaders = (fields: LimitFields) => setAnswerHeaders(request, fields);
  const client = clientOf(request);
  const [first] = Object.values(environments);
  first?.requestLimits?.countClient(client, setLimitHeaders);
  const { link } = parseJsonObject(await readBody(request, limits)) ?? {};
  const token = typeof link === "string" ? link : "";
  const environment = environments[letterOfLink(token) === "l" ? "live" : "test"];
  // The cells of an environment have the same keys.
  const named = environment && verifyLinkToken(environment.core.clientSecretKeys, token);
  if (environment === undefined || named === undefined) throw noLink();
  environment.requestLimits?.countReturn(named.linkId, setLimitHeaders);
  const requestId = decodeId("req", requestIdOf(request));
  for (const cell of cellsOf(environment, named.linkId)) {
    const customer = { sessionId: named.linkId as string, client };
    await cell.requestLimits?.charge(customer, () => chargedFor(cell, named.linkId), setLimitHeaders);
    const opened = await openRecoveryLink(cell.core, named, { pageOrigin: apiOrigin, requestId });
    if (opened === undefined) continue;
    const body = toBody(opened, await parts.merchantNameOf(cell, opened.merchantId));
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  }
  throw noLink();
}

/** Returns the cell that has made the link, and then the others: its merchant may have moved. */
function cellsOf(environment: EdgeEnvironment, linkId: RecoveryLinkId): readonly EdgeEnvironment[] {
  const all = [...(environment.cells?.values() ?? [environment])];
  return all.toSorted((one, other) => Number(other.cell === cellOf(linkId)) - Number(one.cell === cellOf(linkId)));
}

async function chargedFor({ database }: EdgeEnvironment, linkId: RecoveryLinkId) {
  const merchantId = await findMerchantOfLink(database, linkId);
  return merchantId === undefined ? undefined : { merchantId, isSubmitted: false };
}

function noLink(): DomainError {
  return new DomainError("not_found", "There is no such link.");
}

/** Returns what the page's script gets. Of a link that is over, it says only whose it was. */
function toBody({ session, refused, ...link }: OpenedLink, merchantName: string) {
  const state = refused === undefined ? "open" : states[refused];
  const { amountMinor, currency, orderRef, text, card, returnTo } = link;
  const shown = { merchantName, amountMinor, currency, orderRef, returnTo };
  if (state === "over") return { state, merchantName };
  if (session === undefined) return { state, ...shown };
  const { sessionId, clientSecret, vault } = session;
  const mounted = { sessionId: encodeId("ps", sessionId), clientSecret: clientSecret.expose(), vault };
  return { state, ...shown, text, card, session: mounted };
}

const states = {
  paid: "paid",
  in_progress: "beingPaid",
  cancelled: "over",
  ended: "over",
  link_expired: "over",
  link_tries: "over",
  doubt: "later",
} as const satisfies Record<NonNullable<OpenedLink["refused"]>, string>;

function requireMethod({ method = "" }: IncomingMessage, allow: readonly string[]): void {
  if (!allow.includes(method))
    throw new DomainError("method_not_allowed", `Use ${allow.join(" or ")}.`, { allow: [...allow] });
}

/** Finds a merchant's name for its customers. */
export type MerchantNameOf = (environment: EdgeEnvironment, merchantId: MerchantId) => Promise<string>;
