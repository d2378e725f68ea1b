/**
 * POST /tokens: turns a card from the card frame into a token of one session; POST /security-codes: completes the token of a
 * stored card. The order of the checks is deliberate.
 */
import type { IncomingMessage } from "node:http";
import type { CreateTokenResponseJson } from "../../gen/vault/v1/vault_pb.ts";
import type { CountedClientOf } from "../platform/client-address.ts";
import type { Database } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type SessionGrant, verifySessionGrant } from "../platform/service-token.ts";
import type { VerificationKey } from "../platform/signed-claims.ts";
import type { CallCounts } from "./call-counts.ts";
import { type Card, findCardProblems, shownOf } from "./card.ts";
import { parseCardJson, parseCodeJson, problem, refuseWhenAny } from "./card-json.ts";
import { addSecurityCode, keepCard } from "./card-store.ts";
import { readBody } from "./read-body.ts";
import type { VaultEnvironment, VaultObserver } from "./vault-config.ts";
import { tokenBodyBytesMax } from "./vault-limits.ts";

export type Tokenizer = {
  readonly database: Database;
  readonly environments: readonly VaultEnvironment[];
  readonly grantKeys: readonly VerificationKey[];
  readonly callCounts: CallCounts;
  readonly clientOf: CountedClientOf;
  /** The origin of the card frame. Absent: the host of the request, without TLS. */
  readonly publicOrigin?: string | undefined;
  readonly observer?: VaultObserver | undefined;
};

/**
 * Answers one call. Throws a DomainError that contains nothing of the card. The caller's own limits count every call, the
 * merchant's only what may be a card: empty bodies cost nothing and keep no customer out.
 */
export async function tokenize(tokenizer: Tokenizer, request: IncomingMessage): Promise<CreateTokenResponseJson> {
  const { grant, environment, caller, body } = await readCall(tokenizer, request);
  const card = parseCardJson(body);
  refuseImplausible(card, environment);
  await tokenizer.callCounts.charge(caller);
  const { token, expiresAt } = await keepCard(tokenizer.database, environment, grant, card);
  tokenizer.observer?.tokenized(grant.environment);
  return { token: token.expose(), ...shownOf(card), expiresAt: expiresAt.toISOString() };
}

/**
 * Gives the token of a stored card its uses, under the limits of `tokenize`. Throws a DomainError that contains nothing of
 * the code.
 */
export async function takeSecurityCode(tokenizer: Tokenizer, request: IncomingMessage): Promise<void> {
  const { grant, environment, caller, body } = await readCall(tokenizer, request);
  const code = parseCodeJson(body);
  if (!/^[0-9]{3,4}$/.test(code.cvc)) {
    refuseWhenAny([problem("cvc", "invalid_field", "The security code has 3 or 4 digits.")]);
  }
  await tokenizer.callCounts.charge(caller);
  await addSecurityCode(tokenizer.database, environment, grant.session, code);
}

/** Returns the body of a call that its grant, its page and the caller's own limits allow. */
export async function readCall(tokenizer: Tokenizer, request: IncomingMessage, bytesMax = tokenBodyBytesMax) {
  refuseForeignPage(tokenizer, request);
  const { grant, environment } = authorize(tokenizer, request);
  refuseOtherContent(request);
  const caller = { ...grant, client: tokenizer.clientOf(request) };
  tokenizer.callCounts.countCall(caller);
  const body = await readBody(request, request.headers, { bytesMax });
  return { grant, environment, caller, body };
}

/** Refuses a browser on another page: only the card frame's own page may post here. */
function refuseForeignPage({ publicOrigin }: Tokenizer, { headers }: IncomingMessage): void {
  const ownOrigin = publicOrigin ?? `http://${headers.host}`;
  if (headers.origin !== undefined && headers.origin !== ownOrigin) {
    throw new DomainError("origin_not_allowed", "Only the card frame itself may send a card.");
  }
}

function authorize(
  { grantKeys, environments }: Tokenizer,
  request: IncomingMessage,
): { grant: SessionGrant; environment: VaultEnvironment } {
  const [, bearer] = /^Bearer ([\w.-]+)$/i.exec(request.headers.authorization ?? "") ?? [];
  const grant = bearer === undefined ? undefined : verifySessionGrant(grantKeys, bearer);
  const environment = environments.find((candidate) => candidate.environment === grant?.environment);
  if (grant === undefined || environment === undefined) {
    throw new DomainError("invalid_client_secret", "The session's sdkAuthorization is missing, invalid or expired.");
  }
  return { grant, environment };
}

function refuseOtherContent({ headers }: IncomingMessage): void {
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(headers["content-type"] ?? "")) {
    throw new DomainError("unsupported_media_type", "Send application/json.");
  }
  if (headers["content-encoding"] !== undefined) {
    throw new DomainError("unsupported_encoding", "Send the body without a content encoding.");
  }
}

function refuseImplausible(card: Card, { testCards }: VaultEnvironment): void {
  const problems = findCardProblems(card, new Date());
  refuseWhenAny(problems.map(({ field, detail }) => problem(field, "invalid_field", detail)));
  if (testCards !== undefined && !testCards.has(card.number)) {
    throw new DomainError("test_card_required", "This is a test environment: use one of its test cards.", {
      field: "number",
    });
  }
}
