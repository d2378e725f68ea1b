/** Changes of an endpoint by its owner: URL, event types, signing secret, removal. */

import type { Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EndpointId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import { parseEndpointUrl } from "./egress.ts";
import {
  type Endpoint,
  type EndpointContext,
  type EndpointKey,
  endpointColumns,
  lockEndpoint,
  parseEventTypes,
} from "./endpoints.ts";
import { generateSigningSecret, sealSigningSecret } from "./signing-secrets.ts";

/** An endpoint before and after a change; both are the same where there was nothing to change. */
export type EndpointChange = { readonly before: Endpoint; readonly after: Endpoint };

/** A column list for an UPDATE that resets an endpoint's health; otherwise the breaker would hold it back at once. */
export const forgetTrouble = "in_flight_max = DEFAULT, failures_in_row = 0, failing_since = NULL, probe_at = NULL";

/** Creates a statement that sets columns of one endpoint ($1; `values` from $2 on), by its owner. */
export function writeEndpoint(name: string, columns: string) {
  const statement: Statement = {
    name,
    text: `UPDATE endpoint SET ${columns}, version = version + 1 WHERE id = $1 RETURNING ${endpointColumns}`,
  };
  return async (tx: Tx, id: EndpointId, values: readonly unknown[] = []): Promise<Endpoint> => {
    const [row] = await tx.query<Endpoint>(statement, [id, ...values]);
    if (row === undefined) throw new Error("an endpoint that is locked does not vanish");
    return row;
  };
}

const replaceTypes = writeEndpoint("replace_event_types", "event_types = $2");
// A disabled endpoint keeps its health until it is enabled: it shows the owner since when events were missed.
const replaceUrl = writeEndpoint(
  "replace_endpoint_url",
  `url = $2, verified_at = NULL, status = CASE status WHEN 'ENABLED' THEN 'PENDING' ELSE status END,
   in_flight_max = DEFAULT, probe_at = NULL, failures_in_row = CASE status WHEN 'DISABLED' THEN failures_in_row ELSE 0 END,
   failing_since = CASE status WHEN 'DISABLED' THEN failing_since END`,
);

/**
 * Replaces the given settings. A new URL has to be verified before anything is posted to it; waiting deliveries then go
 * there. New types apply to events from now on; no types means every type. Throws DomainError: `endpoint_not_allowed`
 * for the URL, `invalid_field` for a type, `state_conflict` for the version.
 */
export async function updateEndpoint(
  tx: Tx,
  context: Pick<EndpointContext, "egress">,
  key: EndpointKey,
  wanted: { url?: string | undefined; eventTypes?: readonly string[] | undefined; version?: number | undefined },
): Promise<EndpointChange> {
  const before = await lockEndpoint(tx, key, wanted.version);
  let after: Endpoint = before;
  if (wanted.eventTypes !== undefined) {
    const eventTypes = parseEventTypes(wanted.eventTypes);
    const isSame = String(eventTypes?.toSorted()) === String(before.eventTypes?.toSorted());
    if (!isSame) after = await replaceTypes(tx, before.id, [eventTypes]);
  }
  if (wanted.url !== undefined) {
    const url = parseEndpointUrl(wanted.url, context.egress.rule).href;
    if (url !== before.url) after = await replaceUrl(tx, before.id, [url]);
  }
  return { before, after };
}

// A day is enough to deploy a new secret to every machine; a longer overlap would be a second secret, not a rotation.
const overlapHoursMax = 24;
const replaceSecret = writeEndpoint(
  "replace_signing_secret",
  `secret_sealed = $2, previous_sealed = CASE WHEN $3 > 0 THEN secret_sealed END,
   previous_until = CASE WHEN $3 > 0 THEN app.clock() + $3 * interval '1 hour' END`,
);

/**
 * Gives an endpoint a new secret. The old one stops at once, or signs besides it during an overlap of 1–24 hours.
 * Throws `state_conflict` for an overlap inside another one, which would stop a secret that machines may still use.
 */
export async function rotateSecret(
  tx: Tx,
  context: Omit<EndpointContext, "database">,
  key: EndpointKey,
  options: { overlapHours?: number | undefined; version?: number | undefined } = {},
): Promise<EndpointChange & { signingSecret: Secret }> {
  const overlapHours = options.overlapHours ?? 0;
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > overlapHoursMax) {
    throw new DomainError("invalid_field", `The overlap is 0 to ${overlapHoursMax} hours.`, { field: "overlapHours" });
  }
  const before = await lockEndpoint(tx, key, options.version);
  if (overlapHours > 0 && before.overlapUntil !== null) {
    throw new DomainError(
      "state_conflict",
      `An overlap runs until ${before.overlapUntil.toISOString()}: rotate after it or, if a secret leaked, without one.`,
    );
  }
  const signingSecret = generateSigningSecret(context.runtime, context.signingSecretPrefix);
  const sealed = sealSigningSecret(context, before.id, signingSecret);
  return { before, after: await replaceSecret(tx, before.id, [sealed, overlapHours]), signingSecret };
}

const remove = writeEndpoint(
  "remove_endpoint",
  `status = 'REMOVED', disabled_at = NULL, disabled_reason = NULL, previous_sealed = NULL, previous_until = NULL`,
);

/** Removes an endpoint permanently. Nothing more is sent to it; its row and its log are kept. */
export async function removeEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EndpointChange> {
  const before = await lockEndpoint(tx, key, version);
  return { before, after: await remove(tx, before.id) };
}
