/** A merchant's webhook endpoints in one environment. Posts only to verify. */
import type { Queryable, Statement, Transacting, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type EndpointId, encodeId, type MerchantId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import { type DeliverContext, isAccepted, sendWebhook } from "./deliver.ts";
import { parseEndpointUrl } from "./egress.ts";
import { type EventType, eventTypes, testEventType, writeEventBody } from "./outbox.ts";
import { type Attempt, attemptColumns, insertTestAttempt } from "./record-delivery.ts";
import { generateSigningSecret, openSigningSecrets, type SealedSecrets, sealSigningSecret } from "./signing-secrets.ts";

/** The status of an endpoint. A removed endpoint is visible only in its log. */
type EndpointStatus = "PENDING" | "ENABLED" | "PAUSED" | "DISABLED" | "REMOVED";

/** An endpoint as its merchant sees it. The signing secret is shown only when it is created. */
export type Endpoint = {
  readonly id: EndpointId;
  readonly url: string;
  readonly status: EndpointStatus;
  /** Null for every type. */
  readonly eventTypes: readonly EventType[] | null;
  readonly createdAt: Date;
  readonly verifiedAt: Date | null;
  readonly disabledAt: Date | null;
  /** The reason of disabling: it answered 410, it failed for days, or its owner disabled it. */
  readonly disabledReason: "GONE" | "FAILING" | "OWNER" | null;
  /** Time since which no attempt has succeeded; null while the endpoint is healthy. */
  readonly failingSince: Date | null;
  /** Time until which the secret before the last rotation also signs; null outside an overlap. */
  readonly overlapUntil: Date | null;
  /** Grows with each change by its owner. */
  readonly version: number;
};

/** The dependencies of managing endpoints: a verification is a delivery attempt too. */
export type EndpointContext = DeliverContext & {
  /** Brand and environment up to `whsec_`, such as `switchyard_test_whsec_`. */
  readonly signingSecretPrefix: string;
};

/** An endpoint context with a database whose transactions the caller runs. */
export type ChangingContext = Omit<EndpointContext, "database"> & { readonly database: Transacting };

/** The id of an endpoint and of its merchant, so another merchant's endpoint is never found. Both are UUIDs. */
export type EndpointKey = { readonly merchantId: MerchantId; readonly endpointId: EndpointId };

// A handful of systems listen to payments; each event costs a row for each of them.
const endpointsMax = 16;
export const endpointColumns = `id, url, status, event_types AS "eventTypes", created_at AS "createdAt",
  verified_at AS "verifiedAt", disabled_at AS "disabledAt", disabled_reason AS "disabledReason",
  failing_since AS "failingSince", version,
  CASE WHEN previous_until > app.clock() THEN previous_until END AS "overlapUntil"`;

// A count does not see an uncommitted registration, so registrations of one merchant run one after another.
const lockRegistration: Statement = {
  name: "lock_endpoint_registration",
  text: "SELECT pg_advisory_xact_lock(hashtextextended('endpoints ' || $1, 0))",
};
const insertEndpoint: Statement = {
  name: "insert_endpoint",
  text: `INSERT INTO endpoint (id, merchant_id, url, event_types, secret_sealed)
         SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM endpoint WHERE merchant_id = $2 AND status <> 'REMOVED') < $6
         RETURNING ${endpointColumns}`,
};

/**
 * Registers a URL with its own signing secret. Events are kept for it from now on, and posted once it is verified.
 * Within a transaction the limit also holds for concurrent registrations. Throws DomainError: `endpoint_not_allowed`
 * for the URL or one endpoint too many, `invalid_field` for a type.
 */
export async function registerEndpoint(
  context: Omit<EndpointContext, "database"> & { readonly database: Queryable },
  wanted: { merchantId: MerchantId; url: string; eventTypes?: readonly string[] },
): Promise<{ endpoint: Endpoint; signingSecret: Secret }> {
  const url = parseEndpointUrl(wanted.url, context.egress.rule).href;
  const id = context.runtime.uuid();
  const signingSecret = generateSigningSecret(context.runtime, context.signingSecretPrefix);
  const sealed = sealSigningSecret(context, id, signingSecret);
  const values = [id, wanted.merchantId, url, parseEventTypes(wanted.eventTypes), sealed, endpointsMax];
  await context.database.query(lockRegistration, [wanted.merchantId]);
  const [endpoint] = await context.database.query<Endpoint>(insertEndpoint, values);
  if (endpoint === undefined) {
    throw new DomainError("endpoint_not_allowed", `A merchant has at most ${endpointsMax} endpoints.`);
  }
  return { endpoint, signingSecret };
}

/** Parses event types; null for every type. Throws `invalid_field` with the list of known types. */
export function parseEventTypes(wanted: readonly string[] | undefined): readonly EventType[] | null {
  if (wanted === undefined || wanted.length === 0) return null;
  const known = eventTypes.filter((type) => wanted.includes(type));
  if (known.length !== new Set(wanted).size) {
    throw new DomainError("invalid_field", `The event types are ${eventTypes.join(", ")}.`, { field: "eventTypes" });
  }
  return known;
}

const selectEndpoints: Statement = {
  name: "select_endpoints",
  text: `SELECT ${endpointColumns} FROM endpoint WHERE merchant_id = $1 AND status <> 'REMOVED' ORDER BY id`,
};

/** Lists a merchant's endpoints, oldest first, without removed ones. */
export async function listEndpoints(queryable: Queryable, merchantId: MerchantId): Promise<Endpoint[]> {
  return queryable.query<Endpoint>(selectEndpoints, [merchantId]);
}

const selectEndpoint: Statement = {
  name: "select_endpoint",
  text: `SELECT ${endpointColumns}, secret_sealed AS "secretSealed",
           CASE WHEN previous_until > app.clock() THEN previous_sealed END AS "previousSealed"
         FROM endpoint WHERE merchant_id = $1 AND id = $2 AND status <> 'REMOVED'`,
};
const lockEndpointRow: Statement = {
  name: "lock_endpoint",
  text: `${selectEndpoint.text} FOR NO KEY UPDATE`,
};
/** An endpoint with the sealed secrets that currently sign for it. */
export type SealedEndpoint = Endpoint & SealedSecrets;

/** Loads the merchant's endpoint. Throws `not_found` for another merchant's endpoint and for a removed one. */
export async function loadEndpoint(queryable: Queryable, key: EndpointKey): Promise<SealedEndpoint> {
  return requireEndpoint(await queryable.query<SealedEndpoint>(selectEndpoint, [key.merchantId, key.endpointId]));
}

/**
 * Loads the merchant's endpoint and locks it until the transaction ends. `version` is the one that the caller has seen;
 * throws `state_conflict` when the endpoint has another one by now.
 */
export async function lockEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<SealedEndpoint> {
  const endpoint = requireEndpoint(await tx.query<SealedEndpoint>(lockEndpointRow, [key.merchantId, key.endpointId]));
  if (version === undefined || version === endpoint.version) return endpoint;
  throw new DomainError(
    "state_conflict",
    "The endpoint was changed since you read it. Read it again, then repeat your change.",
    {
      field: "version",
    },
  );
}

function requireEndpoint([row]: readonly SealedEndpoint[]): SealedEndpoint {
  if (row === undefined) throw new DomainError("not_found", "There is no such endpoint.");
  return row;
}

const markVerified: Statement = {
  name: "mark_endpoint_verified",
  text: `UPDATE endpoint SET verified_at = app.clock(), status = CASE status WHEN 'PENDING' THEN 'ENABLED' ELSE status END
         WHERE id = $1 AND url = $2 AND status <> 'REMOVED' RETURNING id`,
};

/**
 * Posts a signed `webhook_endpoint.test`. A 2xx answer verifies the endpoint: events flow from then on, including those
 * since the registration. The delivery log contains the attempt either way. It bypasses the outbox, because it belongs
 * to no session. If the URL was changed meanwhile, nothing is verified, because the answer came from the former URL.
 * `also` runs in the same transaction: if it fails, nothing is verified.
 */
export async function verifyEndpoint(
  context: ChangingContext,
  key: EndpointKey,
  also?: (tx: Tx, verified: boolean) => Promise<void>,
): Promise<{ verified: boolean; attempt: Attempt }> {
  const endpoint = await loadEndpoint(context.database, key);
  const eventId = context.runtime.uuid();
  const envelope = {
    id: encodeId("evt", eventId),
    type: testEventType,
    timestamp: context.runtime.now().toISOString(),
    environment: context.environmentName,
  } as const;
  const attempt = await sendWebhook(context, {
    url: endpoint.url,
    eventId: envelope.id,
    body: Buffer.from(writeEventBody(envelope, { endpointId: encodeId("we", endpoint.id) })),
    secrets: openSigningSecrets(context, endpoint.id, endpoint),
  });
  const verified = await context.database.transaction(async (tx) => {
    await tx.query(insertTestAttempt, [eventId, context.runtime.uuid(), endpoint.id, ...attemptColumns(attempt)]);
    const isMarked = isAccepted(attempt) && (await tx.query(markVerified, [endpoint.id, endpoint.url])).length > 0;
    await also?.(tx, isMarked);
    return isMarked;
  });
  return { verified, attempt };
}
