/** Posts one delivery again because a person asks for it, beside the schedule. */
import { deliveryLeaseMs } from "../limits.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { isTaken, sendWebhook } from "./deliver.ts";
import { loadDelivery } from "./delivery-log.ts";
import { type EndpointContext, type EndpointKey, loadEndpoint } from "./endpoints.ts";
import { insertDeliveryAttempt, type Try, tryColumns } from "./record-delivery.ts";
import { openSigningSecrets } from "./signing-secrets.ts";

// A delivery that waits is taken from the workers for as long as they take one themselves.
const takeWaiting: Statement = {
  name: "take_delivery_for_replay",
  text: `WITH waiting AS (
           SELECT event_id, endpoint_id, next_at FROM delivery
           WHERE event_id = $1 AND endpoint_id = $2 AND status = 'PENDING' FOR UPDATE
         )
         UPDATE delivery d SET lease_token = $3, next_at = app.clock() + ${deliveryLeaseMs} * interval '1 millisecond'
         FROM waiting w
         WHERE d.event_id = w.event_id AND d.endpoint_id = w.endpoint_id
           AND (d.lease_token IS NULL OR w.next_at <= app.clock())
         RETURNING w.next_at AS "nextAt"`,
};

const markTaken: Statement = {
  name: "mark_replay_taken",
  text: `UPDATE delivery SET status = 'SUCCEEDED', next_at = NULL, lease_token = NULL, ended_at = app.clock()
         WHERE event_id = $1 AND endpoint_id = $2 AND (status = 'EXHAUSTED' OR (status = 'PENDING' AND lease_token = $3))`,
};

const giveBack: Statement = {
  name: "give_replayed_delivery_back",
  text: `UPDATE delivery SET lease_token = NULL, next_at = $4
         WHERE event_id = $1 AND endpoint_id = $2 AND lease_token = $3`,
};

/**
 * Posts the event's exact bytes once more under the same id, whatever became of it before, and logs the try. A 2xx answer
 * ends the delivery; any other changes nothing: what has succeeded stays so, and what waits keeps its schedule and its
 * tries. The endpoint's health is not touched. Throws `state_conflict` where nothing may be posted: at an endpoint that
 * is not verified or is disabled, and while a worker is posting the same delivery.
 */
export async function replayDelivery(
  context: EndpointContext,
  key: EndpointKey & { readonly eventId: string },
): Promise<Try> {
  const endpoint = await loadEndpoint(context.database, key);
  if (endpoint.verifiedAt === null || endpoint.status === "DISABLED") {
    throw new DomainError("state_conflict", "Nothing is posted to an endpoint that is disabled or not verified.");
  }
  const { body, status } = await loadDelivery(context.database, key);
  const leaseToken = context.entropy.uuid();
  const place = [key.eventId, key.endpointId, leaseToken];
  const [taken] = await context.database.query<{ nextAt: Date }>(takeWaiting, place);
  if (status === "PENDING" && taken === undefined) {
    throw new DomainError("state_conflict", "The delivery is being posted at this moment; look at it again.");
  }
  const tried = await sendWebhook(context, {
    url: endpoint.url,
    eventId: encodeId("evt", key.eventId),
    body,
    secrets: openSigningSecrets(context, endpoint.id, endpoint),
  });
  await context.database.transaction(async (tx: Tx) => {
    await tx.query(insertDeliveryAttempt, [key.eventId, context.entropy.uuid(), endpoint.id, ...tryColumns(tried)]);
    if (isTaken(tried)) await tx.query(markTaken, place);
    else if (taken !== undefined) await tx.query(giveBack, [...place, taken.nextAt]);
  });
  return tried;
}
