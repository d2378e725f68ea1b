/** Authenticates the Authorization header: a key's prefix names the environment, a client secret names its session. */
import type { DescMethod } from "@bufbuild/protobuf";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { LedgerService } from "../../gen/payments/v1/ledger_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../gen/payments/v1/refund_pb.ts";
import { parseKey } from "../accounts/api-keys.ts";
import { KeyHolders } from "../accounts/key-holders.ts";
import { letterOf, verifyClientSecret } from "../core/client-secret.ts";
import { findMerchantOf } from "../core/sessions.ts";
import { cellOf, findCell, requireCell } from "../platform/cells.ts";
import { DomainError } from "../platform/errors.ts";
import { sha256 } from "../platform/secrets.ts";
import { type Caller, type EdgeEnvironment, type EdgeEnvironments, invalidKeyDetail, noKeyDetail } from "./caller.ts";
import type { Customer, SetLimitHeaders } from "./request-limits/request-limits.ts";

/**
 * Authenticates the caller of a method by its headers only, and counts the request for its merchant: the body of a
 * refused request is never read. No merchant is charged for a request before the credential is proved.
 */
export type Authenticate = (
  method: DescMethod,
  authorization: string | null,
  setLimitHeaders: SetLimitHeaders,
  /** The customer's address, on the port that browsers reach. */
  address?: string,
) => Promise<Caller>;

const merchantServices: ReadonlySet<string> = new Set(
  [PaymentSessionService, RefundService, LedgerService].map(({ typeName }) => typeName),
);

/** Reports whether a merchant's backend calls this service, with its secret key. */
export function isMerchantService(typeName: string): boolean {
  return merchantServices.has(typeName);
}

/** Creates the authentication of one installation. A method that requires no credential gets an anonymous caller. */
export function createAuthenticate(environments: EdgeEnvironments, brand: string): Authenticate {
  const holdersOf = new Map(
    Object.values(environments)
      .flatMap((environment) => [...(environment.cells?.values() ?? [environment])])
      .map((environment) => [environment, new KeyHolders(environment.database)]),
  );
  return async (method, authorization, setLimitHeaders, address) => {
    const service = method.parent.typeName;
    if (isMerchantService(service)) {
      return authenticateMerchant(environments, { brand, holdersOf, authorization, setLimitHeaders });
    }
    if (service === CheckoutService.typeName) {
      return authenticateCustomer(environments, { authorization, setLimitHeaders, address });
    }
    return { type: "anonymous" };
  };
}

type HoldersOf = ReadonlyMap<EdgeEnvironment, KeyHolders>;

type Presented = { readonly authorization: string | null; readonly setLimitHeaders: SetLimitHeaders };

async function authenticateMerchant(
  environments: EdgeEnvironments,
  { brand, holdersOf, authorization, setLimitHeaders }: { brand: string; holdersOf: HoldersOf } & Presented,
): Promise<Caller> {
  const key = bearerToken(authorization);
  if (key === undefined) throw new DomainError("invalid_key", noKeyDetail(authorization));
  const parsed = parseKey(brand, key);
  const named = parsed && environmentNamed(environments, parsed.environment);
  const first = named && findCell(named, parsed.cell);
  if (first === undefined) throw new DomainError("invalid_key", invalidKeyDetail);
  const hash = sha256(key);
  const credential = hash.toString("base64");
  first.requestLimits?.refuseEarly(credential, setLimitHeaders);
  const { environment, holder } = await findHolder(first, holdersOf, hash);
  if (holder.kind !== "secret") {
    throw new DomainError(
      "key_type_not_allowed",
      "This method needs the secret key; a publishable key is for the browser only.",
    );
  }
  await environment.requestLimits?.count(credential, { merchantId: holder.merchantId, name: "api" }, setLimitHeaders);
  return { type: "merchant", environment, holder };
}

/** Returns the key's holder from the cell that has the merchant now: the key may name one that it has left. */
async function findHolder(first: EdgeEnvironment, holdersOf: HoldersOf, hash: Buffer) {
  let environment = first;
  const seen = new Set<EdgeEnvironment>();
  for (;;) {
    seen.add(environment);
    const holder = await holdersOf.get(environment)?.find(hash);
    if (holder === undefined) throw new DomainError("invalid_key", invalidKeyDetail);
    if (holder.movedTo === null) return { environment, holder };
    environment = requireCell(environment, holder.movedTo);
    if (seen.has(environment)) throw new Error("a merchant's cells lead in a circle");
  }
}

async function authenticateCustomer(
  environments: EdgeEnvironments,
  { authorization, setLimitHeaders, address }: Presented & { address: string | undefined },
): Promise<Caller> {
  const clientSecret = bearerToken(authorization) ?? "";
  const named = environmentNamed(environments, letterOf(clientSecret) === "l" ? "live" : "test");
  // The cells of an environment have the same keys.
  const sessionId = named && verifyClientSecret(named.core.clientSecretKeys, clientSecret);
  const environment = named && sessionId !== undefined ? findCell(named, cellOf(sessionId)) : undefined;
  if (!environment || sessionId === undefined) {
    throw new DomainError(
      "invalid_client_secret",
      "Send the session's client secret as `Authorization: Bearer <clientSecret>`, exactly as session creation gave it.",
    );
  }
  if (environment.requestLimits !== undefined)
    await countCustomer(environment, { sessionId, address }, setLimitHeaders);
  return { type: "customer", environment, sessionId };
}

// The secret proves the session; after the first call this process remembers the session's merchant.
async function countCustomer(
  environment: EdgeEnvironment,
  customer: Customer,
  setLimitHeaders: SetLimitHeaders,
): Promise<void> {
  const { requestLimits, core } = environment;
  const { sessionId } = customer;
  requestLimits?.countCustomer(customer, setLimitHeaders);
  requestLimits?.refuseEarly(sessionId, setLimitHeaders);
  const merchantId = requestLimits?.merchantOf(sessionId) ?? (await findMerchantOf(core, sessionId));
  if (merchantId !== undefined)
    await requestLimits?.count(sessionId, { merchantId, name: "checkout" }, setLimitHeaders);
}

function environmentNamed(environments: EdgeEnvironments, name: string): EdgeEnvironment | undefined {
  return name === "test" || name === "live" ? environments[name] : undefined;
}

// RFC 6750: one space, and the scheme in any case.
function bearerToken(authorization: string | null): string | undefined {
  return /^bearer ([^\s,]+)$/i.exec(authorization ?? "")?.[1];
}
