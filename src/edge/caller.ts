/** The caller of a request, as handlers find it in the context values. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { KeyHolder } from "../accounts/api-keys.ts";
import type { InternalService } from "../accounts/services-file.ts";
import type { Core } from "../core/core.ts";
import type { RawNotification, Shopper } from "../gateways/connector.ts";
import { cellOf, findCell, requireCell } from "../platform/cells.ts";
import type { Database, Reads } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId, type SessionId } from "../platform/ids.ts";
import type { RequestLimits } from "./request-limits/request-limits.ts";

/** A cell of an environment as the edge needs it. Only `name` says which environment it is. */
export type EdgeEnvironment = {
  readonly name: "test" | "live";
  readonly cell: number;
  /** Every cell of the environment, this one included; undefined if there is only one. */
  readonly cells?: ReadonlyMap<number, EdgeEnvironment> | undefined;
  readonly core: Core;
  readonly database: Database;
  /** Serves lists; may lag by some seconds. */
  readonly reads: Reads;
  /** Each merchant's request limits; undefined if the operator has switched them off. */
  readonly requestLimits: RequestLimits | undefined;
  /** In test a merchant may start before it registers its checkout pages. */
  readonly anyOriginWhenNoneRegistered: boolean;
  /** Stores a gateway's notification for one of this environment's connections; durable when it resolves. */
  readonly takeNotification: (connectionId: string, read: () => Promise<RawNotification>) => Promise<void>;
};

/** The environments of this edge, each by its first cell: both in the demo, one in a live installation. */
export type EdgeEnvironments = Readonly<Partial<Record<"test" | "live", EdgeEnvironment>>>;

/**
 * A merchant's backend with its key, an internal service for no merchant in particular, a customer's widget with a client secret,
 * or an anonymous caller.
 */
export type Caller =
  | {
      readonly type: "merchant";
      readonly environment: EdgeEnvironment;
      readonly holder: KeyHolder;
      /** Authenticates the same credential again, without counting it. Throws if it ended. */
      readonly again?: () => Promise<Caller>;
    }
  | {
      readonly type: "service";
      readonly environment: EdgeEnvironment;
      readonly service: InternalService;
      readonly again: () => Promise<Caller>;
    }
  | {
      readonly type: "customer";
      readonly environment: EdgeEnvironment;
      readonly sessionId: SessionId;
      /** The customer's network, where limits count addresses. */
      readonly network?: string | undefined;
      /** Charges the session's merchant for the call; call it before the first query. Throws `rate_limited`. */
      readonly charge: () => Promise<void>;
    }
  | { readonly type: "anonymous" };

export const callerKey = createContextKey<Caller>({ type: "anonymous" }, { description: "caller" });

/** The customer's browser, on the port that browsers reach; undefined everywhere else. */
export const shopperKey = createContextKey<Shopper | undefined>(undefined, { description: "shopper" });

/** Ends the call without an answer, for a client that takes none. */
export const hangUpKey = createContextKey<() => void>(() => {}, { description: "hang up" });

/** The request's id, also in its Request-Id header and in every log line about it. */
export const requestIdKey = createContextKey("", { description: "request id" });

/** Returns the caller as a merchant. A method with another authentication must not call this. */
export function requireMerchant(caller: Caller): Extract<Caller, { type: "merchant" }> {
  if (caller.type !== "merchant") throw new DomainError("invalid_key", invalidKeyDetail);
  return caller;
}

/** Returns what a list of the calling merchant is read by: from every cell that it is or was in, and never from a replica. */
export function listingOf({ values }: Pick<HandlerContext, "values">) {
  const { environment, holder } = requireMerchant(values.get(callerKey));
  const cells = [environment, ...holder.formerCells.map((cell) => requireCell(environment, cell))];
  const { pageTokenKey: keys, runtime } = environment.core;
  const databases = cells.map(({ core }) => core.database);
  return { merchantId: holder.merchantId, keys, now: runtime.now(), databases };
}

/** The same text for malformed, unknown and revoked keys, so that callers cannot learn which keys exist. */
export const invalidKeyDetail =
  "This key is not in use: it is mistyped, unknown, revoked or past its end. Send a secret or restricted key of the environment as `Authorization: Bearer <key>`; regenerating keys revokes the old ones.";

/** Returns the refusal of a request without the form of a key. It reveals nothing about keys. */
export function noKeyDetail(authorization: string | null): string {
  return authorization
    ? "The Authorization header is not of the form `Bearer <key>`, with one space and a secret or restricted key of the environment."
    : "The request has no key. Send a secret or restricted key of the environment as `Authorization: Bearer <key>`.";
}

/** Returns the id of a merchant's session and the core of its cell. Throws `not_found` for an id of no cell here. */
export function requireSession(publicId: string, context: HandlerContext, field?: string) {
  const { environment, holder } = requireMerchant(context.values.get(callerKey));
  const sessionId = decodeId("ps", publicId);
  const cell = sessionId === undefined ? undefined : findCell(environment, cellOf(sessionId));
  if (sessionId === undefined || cell === undefined)
    throw new DomainError("not_found", "There is no payment session with this id.", { ...(field && { field }) });
  return { sessionId, merchantId: holder.merchantId, core: cell.core };
}

// Printable ASCII, taken literally: the key is data, never parsed.
const pattern = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * Returns the key as sent, or undefined without one. Throws `invalid_idempotency_key` for anything but 1 to 255
 * printable ASCII characters.
 */
export function readIdempotencyKey(headers: Pick<Headers, "get">): string | undefined {
  const key = headers.get("Idempotency-Key");
  if (key === null) return undefined;
  if (pattern.test(key)) return key;
  throw new DomainError("invalid_idempotency_key", "Idempotency-Key must be 1 to 255 printable ASCII characters.", {
    field: "Idempotency-Key",
  });
}

/** Returns what the spans say with which a payment begins at the edge. */
export function sessionFacts({ name }: EdgeEnvironment, { values }: HandlerContext, sessionId: SessionId) {
  return { environment: name, sessionId: encodeId("ps", sessionId), requestId: values.get(requestIdKey) };
}

// 0001-01-01 to 9999-12-31 (google/protobuf/timestamp.proto): JSON is limited to it, but the binary form carries any
// number.
const secondsMin = -62_135_596_800n;
const secondsMax = 253_402_300_799n;

/** Returns the time of a field. Throws `invalid_parameter` for one that JSON could not carry. */
export function momentOf(field: string, timestamp: Timestamp | undefined): Date | undefined {
  if (timestamp === undefined) return undefined;
  if (timestamp.seconds >= secondsMin && timestamp.seconds <= secondsMax) return timestampDate(timestamp);
  throw new DomainError("invalid_parameter", `${field} must lie between the years 1 and 9999.`, { field });
}
