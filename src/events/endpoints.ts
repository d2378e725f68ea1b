/** A merchant's webhook endpoints in one environment: registering, verifying, secrets, pausing. Posts only to verify. */
import type { Database, Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import { type DeliverContext, isTaken, sendWebhook } from "./deliver.ts";
import { parseEndpointUrl } from "./egress.ts";
import { type EventType, eventTypes, writeEventBody } from "./outbox.ts";
import { insertDeliveryAttempt, type Try, tryColumns } from "./record-delivery.ts";
import { generateSigningSecret, openSigningSecrets, sealSigningSecret } from "./signing-secrets.ts";

/** How an endpoint stands: not verified yet, in use, paused by its merchant, or given up. */
export type EndpointStatus = "PENDING" | "ENABLED" | "PAUSED" | "DISABLED";

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
  readonly disabledBecause: "GONE" | "FAILING" | null;
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
const endpointColumns = `id, url, status, event_types AS "eventTypes", created_at AS "createdAt",
  verified_at AS "verifiedAt", disabled_at AS "disabledAt", disabled_because AS "disabledBecause"`;

const insertEndpoint: Statement = {
  name: "insert_endpoint",
  text: `INSERT INTO endpoint (id, merchant_id, url, event_types, secret_sealed)
         SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM endpoint WHERE merchant_id = $2) < $6
         RETURNING ${endpointColumns}`,
};

/**
 * Registers a URL with a signing secret of its own. Events are kept for it from now on, and posted once it is verified.
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
  const [endpoint] = await context.database.query<Endpoint>(insertEndpoint, values);
  if (endpoint === undefined) {
    throw new DomainError("endpoint_not_allowed", `A merchant has at most ${endpointsMax} endpoints.`);
  }
  return { endpoint, signingSecret };
}

function parseEventTypes(wanted: readonly string[] | undefined): readonly EventType[] | null {
  if (wanted === undefined || wanted.length === 0) return null;
  const known = eventTypes.filter((type) => wanted.includes(type));
  if (known.length !== new Set(wanted).size) {
    throw new DomainError("invalid_field", `The event types are ${eventTypes.join(", ")}.`, { field: "eventTypes" });
  }
  return known;
}

const selectEndpoints: Statement = {
  name: "select_endpoints",
  text: `SELECT ${endpointColumns} FROM endpoint WHERE merchant_id = $1 ORDER BY id`,
};

/** A merchant's endpoints, oldest first. */
export async function listEndpoints(database: Database, merchantId: string): Promise<Endpoint[]> {
  return database.query<Endpoint>(selectEndpoints, [merchantId]);
}

const selectEndpoint: Statement = {
  name: "select_endpoint",
  text: `SELECT ${endpointColumns}, secret_sealed,
           CASE WHEN previous_until > app.clock() THEN previous_sealed END AS previous_sealed
         FROM endpoint WHERE merchant_id = $1 AND id = $2`,
};
type SealedEndpoint = Endpoint & { secret_sealed: string; previous_sealed: string | null };

async function loadEndpoint(database: Queryable, key: EndpointKey): Promise<SealedEndpoint> {
  const [row] = await database.query<SealedEndpoint>(selectEndpoint, [key.merchantId, key.endpointId]);
  if (row === undefined) throw new DomainError("not_found", "There is no such endpoint.");
  return row;
}

const markVerified: Statement = {
  name: "mark_endpoint_verified",
  text: `UPDATE endpoint SET verified_at = app.clock(), status = CASE status WHEN 'PENDING' THEN 'ENABLED' ELSE status END
         WHERE id = $1`,
};

/**
 * Posts a signed `webhook_endpoint.test`. A 2xx answer verifies: events flow from then on, those since the registration
 * included. The try is in the delivery log either way. It goes past the outbox, because it belongs to no session.
 */
export async function verifyEndpoint(
  context: EndpointContext,
  key: EndpointKey,
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
  const verified = isTaken(tried);
  await context.database.transaction(async (tx) => {
    await tx.query(insertDeliveryAttempt, [eventId, context.entropy.uuid(), endpoint.id, ...tryColumns(tried)]);
    if (verified) await tx.query(markVerified, [endpoint.id]);
  });
  return { verified, tried };
}

// A day is enough to bring a new secret to every machine; what lasts longer is a second secret, not a rotation.
const overlapHoursMax = 24;
const replaceSecret: Statement = {
  name: "replace_signing_secret",
  text: `UPDATE endpoint SET secret_sealed = $2,
           previous_sealed = CASE WHEN $3 > 0 THEN secret_sealed END,
           previous_until = CASE WHEN $3 > 0 THEN app.clock() + $3 * interval '1 hour' END
         WHERE id = $1`,
};

/** Gives an endpoint a new secret. The old one stops at once, or signs beside it for 1–24 hours of overlap. */
export async function rotateSecret(
  context: EndpointContext,
  key: EndpointKey,
  options: { overlapHours?: number } = {},
): Promise<Secret> {
  const overlapHours = options.overlapHours ?? 0;
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > overlapHoursMax) {
    throw new DomainError("invalid_field", `The overlap is 0 to ${overlapHoursMax} hours.`, { field: "overlapHours" });
  }
  const { id } = await loadEndpoint(context.database, key);
  const secret = generateSigningSecret(context.entropy, context.signingSecretPrefix);
  await context.database.query(replaceSecret, [id, sealSigningSecret(context, id, secret), overlapHours]);
  return secret;
}
