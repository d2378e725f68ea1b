/** The two addresses that identity providers send people and logout tokens to. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { recordMemberAudit } from "../../accounts/audit-trail.ts";
import { useLogoutToken } from "../../accounts/identities.ts";
import type { IdentityProvider } from "../../accounts/identity-providers-file.ts";
import { countSignInAttempt, returnAttempt, throttledAddress } from "../../accounts/sign-in-throttle.ts";
import { endSignInsOfIdentity } from "../../accounts/sign-ins.ts";
import { bodyBytesMax, requestTimeoutMs } from "../../limits.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId } from "../../platform/ids.ts";
import { readBody } from "../../transcoder/request-body.ts";
import type { ServedParts } from "../dashboard-parts.ts";
import type { RequestFacts } from "../request-facts.ts";
import { signInCookie } from "../sign-in-cookie.ts";
import { admit } from "./admit.ts";
import { goneFlowCookie, readFlow } from "./flow-cookie.ts";
import { CompanyRefusal } from "./refusal.ts";

/** Answers a request to one of the addresses; false, with nothing written, for any other. */
export type CompanyDoor = (request: IncomingMessage, response: ServerResponse, facts: RequestFacts) => Promise<boolean>;

type Parts = Pick<ServedParts, "accounts" | "runtime" | "brand" | "dashboardOrigin"> & {
  readonly signIns: NonNullable<ServedParts["signIns"]>;
  /** Reports why a provider's answer was refused; the person only reads what to do. */
  readonly onRefusal: (error: unknown, requestId: string) => void;
};

export function createCompanyDoor(parts: Parts): CompanyDoor {
  return async (request, response, facts) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const [, id = "", door] = /^\/company-sign-in\/([a-z0-9-]+)\/(callback|logout)$/.exec(path) ?? [];
    if (door === undefined) return false;
    const provider = parts.signIns.identityProviders.find(id);
    if (provider === undefined) throw new DomainError("not_found", "There is no such identity provider.");
    if (door === "callback") await finish(parts, provider, { request, response, facts });
    else await endByToken(parts, provider, { request, response, facts });
    return true;
  };
}

type Exchange = { request: IncomingMessage; response: ServerResponse; facts: RequestFacts };

/** Ends a sign-in that began at the provider: answers a page that continues, with the browser's new sign-in. */
async function finish(parts: Parts, provider: IdentityProvider, { request, response, facts }: Exchange): Promise<void> {
  const { accounts, brand, dashboardOrigin, runtime, signIns } = parts;
  if (request.method !== "GET") throw new DomainError("method_not_allowed", "Send a GET request.", { allow: ["GET"] });
  // This comes first: the flow works once, whatever its result.
  const cookies = [goneFlowCookie(brand)];
  let next: string;
  try {
    const flow = readFlow(brand, signIns.sealing, request.headers.cookie ?? null, runtime.now());
    // A callback of one provider cannot end a flow of another one.
    if (flow?.providerId !== provider.id) throw new CompanyRefusal("expired");
    const throttle = { accounts, sealing: signIns.sealing };
    await countSignInAttempt(throttle, throttledAddress(facts.address));
    const claims = await signIns.identityProviders
      .exchange(provider, flow, new URL(request.url ?? "", dashboardOrigin))
      .catch((cause: unknown) => {
        throw new CompanyRefusal(cause instanceof TypeError ? "unavailable" : "refused", { cause });
      });
    const userAgent = request.headers["user-agent"] ?? "";
    const token = await admit(parts, { provider, flow, claims, userAgent, ...facts });
    await returnAttempt(throttle, throttledAddress(facts.address));
    if (token !== undefined) cookies.push(signInCookie(brand, token));
    next = flow.next;
  } catch (error) {
    if (!(error instanceof CompanyRefusal)) {
      response.setHeader("set-cookie", cookies);
      throw error;
    }
    if (error.cause !== undefined) parts.onRefusal(error, facts.requestId);
    next = `/company-sign-in?refused=${error.reason}`;
  }
  response.setHeader("set-cookie", cookies);
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(pageTo(next));
}

/**
 * A page that navigates on by itself. After a redirect the browser would still count the navigation as begun by the
 * provider, and not send the Strict cookie of the sign-in.
 */
function pageTo(path: string): string {
  const target = path.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signing in</title><meta http-equiv="refresh" content="0;url=${target}"></head><body><p><a href="${target}">Continue</a></p></body></html>`;
}

/** Back-channel logout: ends the sign-ins that a provider's token names. */
async function endByToken(parts: Parts, provider: IdentityProvider, { request, response, facts }: Exchange) {
  const { accounts, runtime, signIns } = parts;
  if (request.method !== "POST")
    throw new DomainError("method_not_allowed", "Send a POST request.", { allow: ["POST"] });
  const body = await readBody(request, { bodyBytesMax, bodyTimeoutMs: requestTimeoutMs });
  const token = new URLSearchParams(Buffer.from(body).toString("utf8")).get("logout_token") ?? "";
  const logout = await signIns.identityProviders.readLogoutToken(provider, token).catch((cause: unknown) => {
    parts.onRefusal(cause, facts.requestId);
    throw new DomainError("invalid_parameter", "The logout token is not valid.", { cause });
  });
  await accounts.transaction(async (tx) => {
    if (!(await useLogoutToken(tx, provider.issuer, logout.jti)))
      throw new DomainError("invalid_parameter", "The logout token was used before.");
    for (const memberId of new Set(await endSignInsOfIdentity(tx, { issuer: provider.issuer, ...logout }))) {
      await recordMemberAudit(tx, runtime, {
        ...{ memberId, subject: encodeId("mbr", memberId), actor: `${provider.name} (${provider.id})` },
        ...{ action: "SignOutByCompany", requestId: facts.requestId },
      });
    }
  });
  response.writeHead(200).end();
}
