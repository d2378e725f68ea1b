/** Replays one delivery on a person's request, besides the schedule. */
import { deliveryLeaseMs } from "../limits.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type EventId, encodeId } from "../platform/ids.ts";
import { isAccepted, sendWebhook } from "./deliver.ts";
import { loadDelivery } from "./delivery-log.ts";
import { type ChangingContext, type EndpointKey, loadEndpoint } from "./endpoints.ts";
import { type Attempt, attemptColumns, insertDeliveryAttempt } from "./record-delivery.ts";
import { openSigningSecrets } from "./signing-secrets.ts";

// Leases a waiting delivery away from the workers for as long as one of their leases.
const claimWaiting: Statement = {
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

const markAccepted: Statement = {
  name: "mark_replay_taken",
  text: `UPDATE delivery SET status = 'SUCCEEDED', next_at = NULL, lease_token = NULL, ended_at = app.clock()
         WHERE event_id = $1 AND endpoint_id = $2 AND (status = 'EXHAUSTED' OR (status = 'PENDING' AND lease_token = $3))`,
};

const returnReplay: Statement = {
  name: "give_replayed_delivery_back",
  text: `UPDATE delivery SET lease_token = NULL, next_at = $4
         WHERE event_id = $1 AND endpoint_id = $2 AND lease_token = $3`,
};

/**
 * Posts the event's exact bytes once more under the same id, whatever the delivery's status, and logs the attempt. A
 * 2xx answer ends the delivery. Any other answer changes nothing: a successful delivery stays so, and a waiting one
 * keeps its schedule and its attempts. The endpoint's health is not changed. Throws `state_conflict` if nothing may be
 * posted: at an endpoint that is unverified or disabled, and while a worker is posting the same delivery. `also` runs
 * in the transaction that records the attempt.
 */
export async function replayDelivery(
  context: ChangingContext,
  key: EndpointKey & { readonly eventId: EventId },
  also?: (tx: Tx, attempt: Attempt) => Promise<void>,
): Promise<Attempt> {
  const endpoint = await loadEndpoint(context.database, key);
  if (endpoint.verifiedAt === null || endpoint.status === "DISABLED") {
    throw new DomainError("state_conflict", "Nothing is posted to an endpoint that is disabled or not verified.");
  }
  const { body, status } = await loadDelivery(context.database, key);
  const leaseToken = context.runtime.uuid();
  const leased = [key.eventId, key.endpointId, leaseToken];
  const [claimed] = await context.database.transaction((tx) => tx.query<{ nextAt: Date }>(claimWaiting, leased));
  if (status === "PENDING" && claimed === undefined) {
    throw new DomainError("state_conflict", "A worker is posting this delivery now. Read it again in a moment.");
  }
  const attempt = await sendWebhook(context, {
    url: endpoint.url,
    eventId: encodeId("evt", key.eventId),
    body,
    secrets: openSigningSecrets(context, endpoint.id, endpoint),
  });
  await context.database.transaction(async (tx: Tx) => {
    await tx.query(insertDeliveryAttempt, [
      key.eventId,
      context.runtime.uuid(),
      endpoint.id,
      ...attemptColumns(attempt),
    ]);
    if (isAccepted(attempt)) await tx.query(markAccepted, leased);
    else if (claimed !== undefined) await tx.query(returnReplay, [...leased, claimed.nextAt]);
    await also?.(tx, attempt);
  });
  return attempt;
}
