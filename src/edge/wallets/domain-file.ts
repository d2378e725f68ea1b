/**
 * Serves the file by which Apple verifies a merchant's domain, as the merchant has pasted it: for shops that pass this path on to the
 * service in place of storing the file.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { loadWallets } from "../../accounts/merchant-wallets.ts";
import type { CountedClientOf } from "../../platform/client-address.ts";
import { DomainError } from "../../platform/errors.ts";
import { decodeId } from "../../platform/ids.ts";
import { sendAnswer } from "../../transcoder/send-answer.ts";
import type { EdgeEnvironments } from "../caller.ts";
import { setAnswerHeaders } from "../request-id.ts";

const domainFilePath = "/.well-known/apple-developer-merchantid-domain-association";

/** Counts for the caller's address, and answers GET with `?merchant=mer_…`, and `&environment=test` for the file of test. */
export function createDomainFileRoute(environments: EdgeEnvironments, clientOf: CountedClientOf) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    if (!request.url?.startsWith(domainFilePath)) return false;
    const { pathname, searchParams } = new URL(request.url, "http://edge");
    if (pathname !== domainFilePath) return false;
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new DomainError("method_not_allowed", "This path has GET alone.", { allow: ["GET", "HEAD"] });
    }
    const name = searchParams.get("environment") ?? "live";
    const environment = name === "test" || name === "live" ? environments[name] : undefined;
    const merchantId = decodeId("mer", searchParams.get("merchant") ?? "");
    if (!environment || merchantId === undefined) throw notThere();
    environment.requestLimits?.countClient(clientOf(request), (fields) => setAnswerHeaders(request, fields));
    for (const { core } of environment.cells?.values() ?? [environment]) {
      const { setUp } = await core.hold(`domain file ${merchantId}`, () => loadWallets(core.database, merchantId));
      if (setUp.domainFile === undefined) continue;
      const headers = { "content-type": "application/octet-stream", "cache-control": "no-store" };
      sendAnswer(response, { status: 200, headers, body: setUp.domainFile });
      return true;
    }
    throw notThere();
  };
}

function notThere(): DomainError {
  return new DomainError("not_found", "Name a merchant that has stored its domain file, as in ?merchant=mer_….");
}
