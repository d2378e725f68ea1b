/** Stopping an endpoint and letting it go on, by its owner. The breaker and the worker's own disabling are elsewhere. */
import type { Database, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EndpointKey } from "./endpoints.ts";

const changeStatus: Statement = {
  name: "change_endpoint_status",
  text: "UPDATE endpoint SET status = $4 WHERE merchant_id = $1 AND id = $2 AND status = $3 RETURNING id",
};

/** Posts nothing more to an endpoint; its events are kept and wait. */
export async function pauseEndpoint(database: Database, key: EndpointKey): Promise<void> {
  requireChange(await database.query(changeStatus, [key.merchantId, key.endpointId, "ENABLED", "PAUSED"]));
}

/** Goes on with a paused endpoint: everything that waited is due. */
export async function resumeEndpoint(database: Database, key: EndpointKey): Promise<void> {
  requireChange(await database.query(changeStatus, [key.merchantId, key.endpointId, "PAUSED", "ENABLED"]));
}

// What it did to be disabled is forgotten, or the breaker would hold it at once.
const enable: Statement = {
  name: "enable_endpoint",
  text: `UPDATE endpoint SET status = CASE WHEN verified_at IS NULL THEN 'PENDING' ELSE 'ENABLED' END,
           disabled_at = NULL, disabled_because = NULL, in_flight_max = DEFAULT,
           failures_in_row = 0, failing_since = NULL, probe_at = NULL
         WHERE merchant_id = $1 AND id = $2 AND status = 'DISABLED' RETURNING id`,
};
const giveUpPending: Statement = {
  name: "give_up_pending_deliveries",
  text: `UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = app.clock()
         WHERE endpoint_id = $1 AND status = 'PENDING'`,
};
const recover: Statement = {
  name: "recover_deliveries",
  text: `UPDATE delivery d SET status = 'PENDING', tries = 0, next_at = app.clock(), ended_at = NULL
         FROM outbox_event o
         WHERE d.endpoint_id = $1 AND d.status = 'EXHAUSTED' AND o.session_id = d.session_id AND o.id = d.event_id
           AND o.created_at >= $2`,
};

/**
 * Enables a disabled endpoint. Only its events since `recoverSince` are sent, also those given up before;
 * without it, only what happens from now on.
 */
export async function enableEndpoint(
  database: Database,
  key: EndpointKey,
  options: { recoverSince?: Date } = {},
): Promise<void> {
  await database.transaction(async (tx: Tx) => {
    requireChange(await tx.query(enable, [key.merchantId, key.endpointId]));
    await tx.query(giveUpPending, [key.endpointId]);
    if (options.recoverSince !== undefined) await tx.query(recover, [key.endpointId, options.recoverSince]);
  });
}

function requireChange(rows: readonly unknown[]): void {
  if (rows.length === 0) throw new DomainError("not_found", "There is no such endpoint in a state that allows this.");
}
