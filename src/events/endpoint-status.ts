/** Stopping an endpoint and letting it go on, by its owner. The breaker and the worker's own disabling are elsewhere. */
import type { Database, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type EndpointChange, forgetTrouble, writeEndpoint } from "./change-endpoint.ts";
import { type Endpoint, type EndpointKey, lockEndpoint } from "./endpoints.ts";
import { oldestUntaken } from "./recover-deliveries.ts";

const pause = writeEndpoint("pause_endpoint", "status = 'PAUSED'");

/** Posts nothing more to an endpoint; its events are kept and wait. A repeat changes nothing. */
export async function pauseEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EndpointChange> {
  const before = await lockEndpoint(tx, key, version);
  if (before.status === "PAUSED") return { before, after: before };
  if (before.status !== "ENABLED") throw refusal(before, "Only an enabled endpoint can be paused.");
  return { before, after: await pause(tx, before.id) };
}

const goOn = writeEndpoint(
  "go_on_with_endpoint",
  `status = CASE WHEN verified_at IS NULL THEN 'PENDING' ELSE 'ENABLED' END, disabled_at = NULL,
   disabled_because = NULL, ${forgetTrouble}`,
);

/**
 * Goes on with a paused endpoint: everything that waited is due, in its order. A repeat changes nothing.
 * One whose URL was changed meanwhile is to be verified first.
 */
export async function resumeEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EndpointChange> {
  const before = await lockEndpoint(tx, key, version);
  if (before.status === "ENABLED") return { before, after: before };
  if (before.status !== "PAUSED") throw refusal(before, "Only a paused endpoint can be resumed.");
  return { before, after: await goOn(tx, before.id) };
}

const disable = writeEndpoint(
  "disable_endpoint",
  "status = 'DISABLED', disabled_at = app.clock(), disabled_because = 'OWNER'",
);

/** Stops an endpoint: unlike a pause, what happens meanwhile is sent later only on request. A repeat changes nothing. */
export async function disableEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EndpointChange> {
  const before = await lockEndpoint(tx, key, version);
  if (before.status === "DISABLED") return { before, after: before };
  return { before, after: await disable(tx, before.id) };
}

// A batch takes some 20 ms. What is being posted or recorded at this moment is left to its result.
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
 * Gives up, in batches, what waits at a disabled endpoint, however much that is: the way is clear for `enableEndpoint`.
 * Nothing happens to an endpoint in any other state.
 */
export async function clearDisabledEndpoint(database: Database, key: EndpointKey): Promise<void> {
  let rows: object[];
  do rows = await database.query(giveUpWaiting, [key.endpointId, key.merchantId]);
  while (rows.length === giveUpRows);
}

const troubleSince = "least(e.failing_since, e.disabled_at)";
const findMissedSince: Statement = {
  name: "find_missed_since",
  text: `SELECT least(${troubleSince}, ${oldestUntaken("e.id", troubleSince)}) AS "missedSince" FROM endpoint e WHERE e.id = $1`,
};

/** `missedSince`: since when events were told that a disabled endpoint may have missed; undefined for any other one. */
export type EnabledEndpoint = EndpointChange & { readonly missedSince?: Date | undefined };

/**
 * Goes on with an endpoint: a paused one as `resumeEndpoint`; a disabled one with what happens from now on, while what
 * waited is given up and can be recovered (recover-deliveries.ts). Call `clearDisabledEndpoint` before, outside the
 * transaction. A repeat changes nothing.
 */
export async function enableEndpoint(tx: Tx, key: EndpointKey, version?: number): Promise<EnabledEndpoint> {
  const before = await lockEndpoint(tx, key, version);
  if (before.status === "ENABLED") return { before, after: before };
  if (before.status === "PENDING") throw refusal(before, "Verify the endpoint: that enables it.");
  if (before.status !== "DISABLED") return { before, after: await goOn(tx, before.id) };
  // What came since it was cleared; most of the time nothing.
  while ((await tx.query(giveUpWaiting, [key.endpointId, key.merchantId])).length === giveUpRows);
  const [missed] = await tx.query<{ missedSince: Date }>(findMissedSince, [before.id]);
  return { before, after: await goOn(tx, before.id), missedSince: missed?.missedSince };
}

function refusal({ status }: Endpoint, what: string): DomainError {
  return new DomainError("state_conflict", `${what} This one is ${status}.`);
}
