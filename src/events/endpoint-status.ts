/** Stops and resumes endpoints on request of their owner. The breaker and automatic disabling are elsewhere. */
import type { Statement, Transacting, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type EndpointChange, forgetTrouble, writeEndpoint } from "./change-endpoint.ts";
import { type Endpoint, type EndpointKey, lockEndpoint } from "./endpoints.ts";
import { oldestUnaccepted } from "./recover-deliveries.ts";

const pause = writeEndpoint("pause_endpoint", "status = 'PAUSED'");

/** Pauses an endpoint: nothing more is posted to it, and its events wait. A repeat changes nothing. */
export async function pauseEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EndpointChange> {
  const before = await lockEndpoint(tx, key, version);
  if (before.status === "PAUSED") return { before, after: before };
  if (before.status !== "ENABLED") throw refusal(before, "Only an enabled endpoint can be paused.");
  return { before, after: await pause(tx, before.id) };
}

const goOn = writeEndpoint(
  "go_on_with_endpoint",
  `status = CASE WHEN verified_at IS NULL THEN 'PENDING' ELSE 'ENABLED' END, disabled_at = NULL,
   disabled_reason = NULL, ${forgetTrouble}`,
);

/**
 * Resumes a paused endpoint: everything that waited is due, in its order. A repeat changes nothing. An endpoint whose
 * URL was changed meanwhile has to be verified first.
 */
export async function resumeEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EndpointChange> {
  const before = await lockEndpoint(tx, key, version);
  if (before.status === "ENABLED") return { before, after: before };
  if (before.status !== "PAUSED") throw refusal(before, "Only a paused endpoint can be resumed.");
  return { before, after: await goOn(tx, before.id) };
}

const disable = writeEndpoint(
  "disable_endpoint",
  "status = 'DISABLED', disabled_at = app.clock(), disabled_reason = 'OWNER'",
);

/** Disables an endpoint: later events are sent only on request. A repeat changes nothing. */
export async function disableEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EndpointChange> {
  const before = await lockEndpoint(tx, key, version);
  if (before.status === "DISABLED") return { before, after: before };
  return { before, after: await disable(tx, before.id) };
}

// A batch takes some 20 ms. Deliveries that are being posted or recorded are left to their result.
const giveUpRows = 1_000;
const giveUpWaiting: Statement = {
  name: "give_up_waiting_deliveries",
  text: `WITH waiting AS (
           SELECT d.session_id, d.event_id FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id
           WHERE d.endpoint_id = $1 AND d.status = 'PENDING' AND e.merchant_id = $2 AND e.status = 'DISABLED'
             AND (d.lease_token IS NULL OR d.next_at <= app.clock())
           LIMIT ${giveUpRows} FOR UPDATE OF d SKIP LOCKED
         )
         UPDATE delivery d SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = app.clock()
         FROM waiting WHERE d.session_id = waiting.session_id AND d.event_id = waiting.event_id AND d.endpoint_id = $1
         RETURNING 1`,
};

/**
 * Gives up, in batches, all deliveries that wait at a disabled endpoint, however many, in preparation of
 * `enableEndpoint`. It does nothing to an endpoint in any other status.
 */
export async function clearDisabledEndpoint(
  database: Pick<Transacting, "transaction">,
  key: EndpointKey,
): Promise<void> {
  let rows: object[];
  do rows = await database.transaction((tx) => tx.query(giveUpWaiting, [key.endpointId, key.merchantId]));
  while (rows.length === giveUpRows);
}

const troubleSince = "least(e.failing_since, e.disabled_at)";
const findMissedSince: Statement = {
  name: "find_missed_since",
  text: `SELECT least(${troubleSince}, ${oldestUnaccepted("e.id", troubleSince)}) AS "missedSince" FROM endpoint e WHERE e.id = $1`,
};

/** `missedSince`: time of the earliest event that a disabled endpoint may have missed. */
export type EnabledEndpoint = EndpointChange & { readonly missedSince?: Date | undefined };

/**
 * Enables an endpoint. A paused one continues as with `resumeEndpoint`. A disabled one gets events from now on; its
 * waiting deliveries are given up and can be recovered (recover-deliveries.ts). Call `clearDisabledEndpoint` before,
 * outside the transaction. A repeat changes nothing.
 */
export async function enableEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EnabledEndpoint> {
  const before = await lockEndpoint(tx, key, version);
  if (before.status === "ENABLED") return { before, after: before };
  requireVerified(before);
  if (before.status !== "DISABLED") return { before, after: await goOn(tx, before.id) };
  // Deliveries that have arrived since it was cleared; usually none.
  while ((await tx.query(giveUpWaiting, [key.endpointId, key.merchantId])).length === giveUpRows);
  const [missed] = await tx.query<{ missedSince: Date }>(findMissedSince, [before.id]);
  return { before, after: await goOn(tx, before.id), missedSince: missed?.missedSince };
}

/** Throws for an endpoint that has to be verified before it is enabled. */
export function requireVerified(endpoint: Endpoint): void {
  if (endpoint.status === "PENDING") throw refusal(endpoint, "Verify the endpoint: that enables it.");
}

function refusal({ status }: Endpoint, what: string): DomainError {
  return new DomainError("state_conflict", `${what} This one is ${status}.`);
}
