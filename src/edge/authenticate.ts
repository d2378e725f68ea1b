/** Authenticates the Authorization header: a key's prefix names the environment, a client secret names its session. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { DisputeService } from "../../gen/payments/v1/dispute_pb.ts";
import { EventService } from "../../gen/payments/v1/event_pb.ts";
import { LedgerService } from "../../gen/payments/v1/ledger_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../gen/payments/v1/refund_pb.ts";
import { right } from "../../gen/payments/v1/right_pb.ts";
import { SettlementService } from "../../gen/payments/v1/settlement_pb.ts";
import { AgreementService, PaymentMethodService } from "../../gen/payments/v1/stored_card_pb.ts";
import { findKeyHolder, noteKeyUse, parseKey } from "../accounts/api-keys.ts";
import { type HeldRights, requireAnyRight } from "../accounts/rights.ts";
import { letterOf, verifyClientSecret } from "../core/client-secret.ts";
import { findChargedSession } from "../core/sessions.ts";
import { requestCredentialsMax } from "../limits.ts";
import { keepNewest } from "../platform/caller-counts.ts";
import { cellOf, findCell, requireCell } from "../platform/cells.ts";
import type { CountedClient } from "../platform/client-address.ts";
import { DomainError } from "../platform/errors.ts";
import type { SessionId } from "../platform/ids.ts";
import { sha256 } from "../platform/secrets.ts";
import { type Caller, type EdgeEnvironment, type EdgeEnvironments, invalidKeyDetail, noKeyDetail } from "./caller.ts";
import type { Customer, SetLimitHeaders } from "./request-limits/request-limits.ts";

/**
 * Authenticates the caller of a method by its headers only, and counts the request: the body of a refused request is
 * never read. A backend's is charged to its merchant, once the key is proved; a customer's counts for its session and
 * address, and its handler charges the merchant.
 */
export type Authenticate = (
  method: DescMethod,
  authorization: string | null,
  setLimitHeaders: SetLimitHeaders,
  /** The caller's address, on the public port. */
  client?: CountedClient,
) => Promise<Caller>;

const merchantServices: ReadonlySet<string> = new Set(
  [
    ...[PaymentSessionService, RefundService, DisputeService, PaymentMethodService, AgreementService, LedgerService],
    ...[SettlementService, EventService],
  ].map(({ typeName }) => typeName),
);

/** Reports whether a merchant's backend calls this service, with its secret key. */
export function isMerchantService(typeName: string): boolean {
  return merchantServices.has(typeName);
}

/** Creates the authentication of one installation. A method that requires no credential gets an anonymous caller. */
export function createAuthenticate(environments: EdgeEnvironments, brand: string): Authenticate {
  const inUse = createNotesOfUse();
  return async (method, authorization, setLimitHeaders, client) => {
    const service = method.parent.typeName;
    const presented = { authorization, setLimitHeaders, client };
    if (isMerchantService(service)) return authenticateMerchant(environments, { brand, method, inUse, ...presented });
    if (service === CheckoutService.typeName) return authenticateCustomer(environments, presented);
    return { type: "anonymous" };
  };
}

type Presented = {
  readonly authorization: string | null;
  readonly setLimitHeaders: SetLimitHeaders;
  readonly client: CountedClient | undefined;
};

const noteEveryMs = 60_000;

/** Returns a function that records in the background, once a minute, that a key is in use. */
function createNotesOfUse() {
  const notedAtMs = new Map<string, number>();
  return ({ database, core }: EdgeEnvironment, credential: string, hash: Buffer): void => {
    const nowMs = performance.now();
    if (nowMs - (notedAtMs.get(credential) ?? -noteEveryMs) < noteEveryMs) return;
    keepNewest(notedAtMs, [credential, nowMs], requestCredentialsMax);
    noteKeyUse(database, hash).catch((error: unknown) => {
      core.log.warn({ err: error }, "the use of a key was not noted; it is noted with another call");
    });
  };
}

type KeyParts = {
  readonly brand: string;
  readonly method: DescMethod;
  readonly inUse: ReturnType<typeof createNotesOfUse>;
};

async function authenticateMerchant(
  environments: EdgeEnvironments,
  { brand, method, inUse, authorization, setLimitHeaders, client }: KeyParts & Presented,
): Promise<Caller> {
  const key = bearerToken(authorization);
  if (key === undefined) throw new DomainError("invalid_key", noKeyDetail(authorization));
  const parsed = parseKey(brand, key);
  const named = parsed && environmentNamed(environments, parsed.environment);
  const first = named && findCell(named, parsed.cell);
  if (first === undefined) throw new DomainError("invalid_key", invalidKeyDetail);
  const hash = sha256(key);
  const credential = hash.toString("base64");
  first.requestLimits?.refuseEarly(credential, client, setLimitHeaders);
  const { environment, holder } = await findHolder(first, hash);
  if (holder.kind === "publishable") {
    throw new DomainError(
      "key_type_not_allowed",
      "This method needs the secret key or a restricted one; a publishable key is for the browser only.",
    );
  }
  // This comes before the merchant's count: calls that a key may not make use up nothing of the merchant's.
  try {
    requireMethodRight(method, holder.rights);
  } catch (refusal) {
    environment.requestLimits?.countClient(client, setLimitHeaders);
    throw refusal;
  }
  const { merchantId, keyId, kind } = holder;
  const restrictedKey = kind === "restricted" ? (keyId ?? undefined) : undefined;
  await environment.requestLimits?.count(credential, { merchantId, restrictedKey }, setLimitHeaders);
  inUse(environment, credential, hash);
  const again = async (): Promise<Caller> => {
    const found = await findHolder(first, hash);
    requireMethodRight(method, found.holder.rights);
    inUse(found.environment, credential, hash);
    return { type: "merchant", ...found };
  };
  return { type: "merchant", environment, holder, again };
}

/** Throws `right_not_granted` unless the caller has one of the rights that the method names. */
export function requireMethodRight(method: DescMethod, held: HeldRights): void {
  if (held !== null) requireAnyRight(getOption(method, right), held);
}

/** Returns the key's holder from the cell that has the merchant now: the key may name one that it has left. */
async function findHolder(first: EdgeEnvironment, hash: Buffer) {
  let environment = first;
  const seen = new Set<EdgeEnvironment>();
  for (;;) {
    seen.add(environment);
    const holder = await findKeyHolder(environment.database, hash);
    if (holder === undefined) throw new DomainError("invalid_key", invalidKeyDetail);
    if (holder.movedTo === null) return { environment, holder };
    environment = requireCell(environment, holder.movedTo);
    if (seen.has(environment)) throw new Error("a merchant's cells lead in a circle");
  }
}

/** Returns the session that a client secret opens, and its cell; undefined for any other header. */
export function findCustomer(
  environments: EdgeEnvironments,
  authorization: string | null | undefined,
): { readonly environment: EdgeEnvironment; readonly sessionId: SessionId } | undefined {
  const clientSecret = bearerToken(authorization ?? null) ?? "";
  const named = environmentNamed(environments, letterOf(clientSecret) === "l" ? "live" : "test");
  // The cells of an environment have the same keys.
  const sessionId = named && verifyClientSecret(named.core.clientSecretKeys, clientSecret);
  const environment = named && sessionId !== undefined ? findCell(named, cellOf(sessionId)) : undefined;
  return environment && sessionId !== undefined ? { environment, sessionId } : undefined;
}

async function authenticateCustomer(
  environments: EdgeEnvironments,
  { authorization, setLimitHeaders, client }: Presented,
): Promise<Caller> {
  const found = findCustomer(environments, authorization);
  if (found === undefined) {
    throw new DomainError(
      "invalid_client_secret",
      "Send the session's client secret as `Authorization: Bearer <clientSecret>`, exactly as session creation gave it.",
    );
  }
  const { environment, sessionId } = found;
  const customer: Customer = { sessionId, client };
  environment.requestLimits?.countCustomer(customer, setLimitHeaders);
  const charge = async () => chargeCustomer(environment, customer, setLimitHeaders);
  return { type: "customer", environment, sessionId, network: client?.network, charge };
}

/** Charges the merchant of a session for a customer's call. Throws `rate_limited`. */
export async function chargeCustomer(
  { requestLimits, core }: EdgeEnvironment,
  customer: Customer,
  setLimitHeaders: SetLimitHeaders,
): Promise<void> {
  await requestLimits?.charge(customer, () => findChargedSession(core, customer.sessionId), setLimitHeaders);
}

function environmentNamed(environments: EdgeEnvironments, name: string): EdgeEnvironment | undefined {
  return name === "test" || name === "live" ? environments[name] : undefined;
}

// RFC 6750: one space, and the scheme in any case.
function bearerToken(authorization: string | null): string | undefined {
  return /^bearer ([^\s,]+)$/i.exec(authorization ?? "")?.[1];
}
