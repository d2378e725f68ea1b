/** A merchant's webhook endpoints in one environment: registering, reading, verifying, secrets. Posts only to verify. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import { type DeliverContext, isTaken, sendWebhook } from "./deliver.ts";
import { parseEndpointUrl } from "./egress.ts";
import { type EventType, eventTypes, writeEventBody } from "./outbox.ts";
import { insertDeliveryAttempt, type Try, tryColumns } from "./record-delivery.ts";
import { generateSigningSecret, openSigningSecrets, sealSigningSecret } from "./signing-secrets.ts";

/** A removed endpoint is none for anybody but its log. */
export type EndpointStatus = "PENDING" | "ENABLED" | "PAUSED" | "DISABLED" | "REMOVED";

/** An endpoint as its merchant sees it; the signing secret is shown only where it is made. */
export type Endpoint = {
  readonly id: string;
  readonly url: string;
  readonly status: EndpointStatus;
  /** Null: every type. */
  readonly eventTypes: readonly EventType[] | null;
  readonly createdAt: Date;
  readonly verifiedAt: Date | null;
  readonly disabledAt: Date | null;
  /** It answered 410, it failed for days, or its owner wanted it so. */
  readonly disabledBecause: "GONE" | "FAILING" | "OWNER" | null;
  /** Since when no try has succeeded; null while all is well. */
  readonly failingSince: Date | null;
  /** Until when the secret before the last rotation signs, too; null outside an overlap. */
  readonly overlapUntil: Date | null;
  /** Grows with each change by its owner. */
  readonly version: number;
};

/** What managing endpoints needs: a verification is a webhook try too. */
export type EndpointContext = DeliverContext & {
  /** Brand and environment up to `whsec_`, such as `switchyard_test_whsec_`. */
  readonly signingSecretPrefix: string;
};

/** One endpoint of one merchant: nobody names another's. Both are UUIDs. */
export type EndpointKey = { readonly merchantId: string; readonly endpointId: string };

// A handful of systems listen to payments; each event costs a row for each of them.
const endpointsMax = 16;
/** The columns of an `Endpoint`. */
export const endpointColumns = `id, url, status, event_types AS "eventTypes", created_at AS "createdAt",
  verified_at AS "verifiedAt", disabled_at AS "disabledAt", disabled_because AS "disabledBecause",
  failing_since AS "failingSince", version,
  CASE WHEN previous_until > app.clock() THEN previous_until END AS "overlapUntil"`;

// A count sees nothing of a registration that is not committed, so those of one merchant are made one after another.
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
 * Registers a URL with a signing secret of its own. Events are kept for it from now on, and posted once it is verified.
 * Within a transaction the limit holds for registrations at the same time, too.
 * Throws DomainError: `endpoint_not_allowed` for the URL or one endpoint too many, `invalid_field` for a type.
 */
export async function registerEndpoint(
  context: Omit<EndpointContext, "database"> & { readonly database: Queryable },
  wanted: { merchantId: string; url: string; eventTypes?: readonly string[] },
): Promise<{ endpoint: Endpoint; signingSecret: Secret }> {
  const url = parseEndpointUrl(wanted.url, context.egress.rule).href;
  const id = context.entropy.uuid();
  const signingSecret = generateSigningSecret(context.entropy, context.signingSecretPrefix);
  const sealed = sealSigningSecret(context, id, signingSecret);
  const values = [id, wanted.merchantId, url, parseEventTypes(wanted.eventTypes), sealed, endpointsMax];
  await context.database.query(lockRegistration, [wanted.merchantId]);
  const [endpoint] = await context.database.query<Endpoint>(insertEndpoint, values);
  if (endpoint === undefined) {
    throw new DomainError("endpoint_not_allowed", `A merchant has at most ${endpointsMax} endpoints.`);
  }
  return { endpoint, signingSecret };
}

/** The types as a row keeps them: null for every one. Throws `invalid_field` with the list of those that there are. */
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

/** A merchant's endpoints, oldest first, without those that were removed. */
export async function listEndpoints(queryable: Queryable, merchantId: string): Promise<Endpoint[]> {
  return queryable.query<Endpoint>(selectEndpoints, [merchantId]);
}

const selectEndpoint: Statement = {
  name: "select_endpoint",
  text: `SELECT ${endpointColumns}, secret_sealed,
           CASE WHEN previous_until > app.clock() THEN previous_sealed END AS previous_sealed
         FROM endpoint WHERE merchant_id = $1 AND id = $2 AND status <> 'REMOVED'`,
};
const lockEndpointRow: Statement = {
  name: "lock_endpoint",
  text: `${selectEndpoint.text} FOR NO KEY UPDATE`,
};
/** An endpoint with the sealed secrets that sign for it now. */
export type SealedEndpoint = Endpoint & { readonly secret_sealed: string; readonly previous_sealed: string | null };

/** The merchant's endpoint. Throws `not_found` for another's and for one that was removed. */
export async function loadEndpoint(queryable: Queryable, key: EndpointKey): Promise<SealedEndpoint> {
  return requireEndpoint(await queryable.query<SealedEndpoint>(selectEndpoint, [key.merchantId, key.endpointId]));
}

/**
 * The same, and nobody else changes it until the transaction ends. `version` is the one that the caller has seen:
 * throws `state_conflict` when it is no longer the endpoint's.
 */
export async function lockEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<SealedEndpoint> {
  const endpoint = requireEndpoint(await tx.query<SealedEndpoint>(lockEndpointRow, [key.merchantId, key.endpointId]));
  if (version === undefined || version === endpoint.version) return endpoint;
  throw new DomainError("state_conflict", "Somebody has changed the endpoint since you read it; look at it again.", {
    field: "version",
  });
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
 * Posts a signed `webhook_endpoint.test`. A 2xx answer verifies: events flow from then on, those since the registration
 * included. The try is in the delivery log either way. It goes past the outbox, because it belongs to no session.
 * Nothing is verified when the URL was changed meanwhile: the answer came from another one. `also` is written in the same
 * transaction: without it nothing is verified.
 */
export async function verifyEndpoint(
  context: EndpointContext,
  key: EndpointKey,
  also?: (tx: Tx, verified: boolean) => Promise<void>,
): Promise<{ verified: boolean; tried: Try }> {
  const endpoint = await loadEndpoint(context.database, key);
  const eventId = context.entropy.uuid();
  const envelope = {
    id: encodeId("evt", eventId),
    type: "webhook_endpoint.test",
    timestamp: context.entropy.now().toISOString(),
    environment: context.environmentName,
  } as const;
  const tried = await sendWebhook(context, {
    url: endpoint.url,
    eventId: envelope.id,
    body: Buffer.from(writeEventBody(envelope, { endpointId: encodeId("we", endpoint.id) })),
    secrets: openSigningSecrets(context, endpoint.id, endpoint),
  });
  const verified = await context.database.transaction(async (tx) => {
    await tx.query(insertDeliveryAttempt, [eventId, context.entropy.uuid(), endpoint.id, ...tryColumns(tried)]);
    const isMarked = isTaken(tried) && (await tx.query(markVerified, [endpoint.id, endpoint.url])).length > 0;
    await also?.(tx, isMarked);
    return isMarked;
  });
  return { verified, tried };
}
