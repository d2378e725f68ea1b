/** Turns the Authorization header into a caller: a key's prefix names the environment, a client secret names its session. */
import type { DescMethod } from "@bufbuild/protobuf";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { findKeyHolder, parseKey } from "../accounts/api-keys.ts";
import { letterOf, verifyClientSecret } from "../core/client-secret.ts";
import { DomainError } from "../platform/errors.ts";
import { type Caller, type EdgeEnvironment, type EdgeEnvironments, invalidKeyDetail } from "./caller.ts";

/** Finds out who calls a method, from its headers alone: no body is read for a request that is refused. */
export type Authenticate = (method: DescMethod, authorization: string | null) => Promise<Caller>;

/** Authentication for one installation. A method that asks for no credential gets an anonymous caller. */
export function createAuthenticate(environments: EdgeEnvironments, brand: string): Authenticate {
  return async (method, authorization) => {
    const service = method.parent.typeName;
    if (service === PaymentSessionService.typeName) return authenticateMerchant(environments, brand, authorization);
    if (service === CheckoutService.typeName) return authenticateCustomer(environments, authorization);
    return { type: "anonymous" };
  };
}

async function authenticateMerchant(
  environments: EdgeEnvironments,
  brand: string,
  authorization: string | null,
): Promise<Caller> {
  const key = bearerToken(authorization);
  const parsed = key === undefined ? undefined : parseKey(brand, key);
  const environment = parsed && environmentNamed(environments, parsed.environment);
  const holder = key && environment && (await findKeyHolder(environment.database, key));
  if (!holder || !environment) throw new DomainError("invalid_key", invalidKeyDetail);
  if (holder.kind !== "secret") {
    throw new DomainError(
      "key_type_not_allowed",
      "This method needs the secret key; a publishable key is for the browser only.",
    );
  }
  return { type: "merchant", environment, holder };
}

async function authenticateCustomer(environments: EdgeEnvironments, authorization: string | null): Promise<Caller> {
  const clientSecret = bearerToken(authorization) ?? "";
  const environment = environmentNamed(environments, letterOf(clientSecret) === "l" ? "live" : "test");
  const sessionId = environment && verifyClientSecret(environment.core.clientSecretKeys, clientSecret);
  if (!environment || sessionId === undefined) {
    throw new DomainError(
      "invalid_client_secret",
      "Send the session's client secret as `Authorization: Bearer <clientSecret>`, exactly as session creation gave it.",
    );
  }
  return { type: "customer", environment, sessionId };
}

function environmentNamed(environments: EdgeEnvironments, name: string): EdgeEnvironment | undefined {
  return name === "test" || name === "live" ? environments[name] : undefined;
}

// RFC 6750: one space, and the scheme in any case.
function bearerToken(authorization: string | null): string | undefined {
  return /^bearer ([^\s,]+)$/i.exec(authorization ?? "")?.[1];
}
