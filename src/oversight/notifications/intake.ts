/** Receives signed gateway notifications: verify, store, commit, answer. A worker acts on them later. */

import type { BoundConnector } from "../../core/core.ts";
import { findConnection, loadCredentials } from "../../gateways/connections.ts";
import type { Notification, RawNotification } from "../../gateways/connector.ts";
import { gatewayReferenceCharactersMax } from "../../limits.ts";
import type { Database, Statement } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { type ConnectionId, decodeId } from "../../platform/ids.ts";
import type { KeyRing } from "../../platform/secrets.ts";

export type IntakeContext = {
  readonly database: Database;
  readonly sealing: KeyRing;
  readonly connectorOf: (gateway: string) => BoundConnector["connector"] | undefined;
};

const insertNotification: Statement = {
  name: "insert_gateway_notification",
  text: `
    INSERT INTO gateway_notification
      (connection_id, notification_id, kind, attempt_reference, gateway_reference, amount_minor, currency, declined,
       credential_version, modification_reference, refund_reference, dispute, stored)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    ON CONFLICT (connection_id, notification_id) DO NOTHING`,
};

/**
 * Stores the items of one notification. It is read only when its address belongs to a connection: an address is a
 * connection's id, so no other sender can make us keep a body in memory. A repeat changes nothing; neither does an item
 * about a reference that no gateway can have. Durable on return, so the gateway may be answered. Throws `not_found` for
 * an address that belongs to no connection, `invalid_key` for a signature that is not the gateway's.
 */
export async function takeNotification(
  context: IntakeContext,
  connectionId: string,
  read: () => Promise<RawNotification>,
): Promise<void> {
  const id = decodeId("gc", connectionId);
  const connection = id === undefined ? undefined : await findConnection(context.database, id);
  const connector = connection && context.connectorOf(connection.gateway);
  if (!connection || !connector?.readNotification) {
    throw new DomainError("not_found", "No gateway connection receives notifications at this address.");
  }
  const notification = await read();
  let signed: Signed | undefined;
  for (const credentialVersion of await versionsToTry(context.database, connection.id)) {
    if (signed !== undefined && !mayBeTried(signed, credentialVersion)) continue;
    const wanted = { connectionId: connection.id, credentialVersion };
    const credentials = await loadCredentials(context.database, context.sealing, wanted);
    const reading = await connector.readNotification(credentials, notification);
    if (reading.type !== "authentic") continue;
    if (signed === undefined || signed.notifications.length === 0 || reading.notifications.some(isTest))
      signed = { ...wanted, notifications: reading.notifications };
  }
  if (signed === undefined) {
    throw new DomainError("invalid_key", "The notification is not signed with this connection's secret.");
  }
  await storeNotifications(context.database, signed);
}

type Signed = {
  readonly connectionId: ConnectionId;
  readonly credentialVersion: number;
  readonly notifications: readonly Notification[];
};

// A test notification counts for the newest credentials that it is signed with: where two share a key, the newer ones
// are being verified. One about no account of these credentials may be about that of others, which payments were made with.
function mayBeTried({ credentialVersion, notifications }: Signed, version: number): boolean {
  return notifications.length === 0 || (version > credentialVersion && notifications.every(isTest));
}

function isTest({ kind }: Notification): boolean {
  return kind === "test";
}

const selectVersions: Statement = {
  name: "select_credential_versions_to_try",
  text: `
    SELECT version FROM (
      SELECT v.version, v.version IS NOT DISTINCT FROM c.credential_version AS in_use, row_number() OVER (
          PARTITION BY v.version IS NOT DISTINCT FROM c.credential_version, v.verified_at IS NULL ORDER BY v.version DESC) AS place
      FROM connection_credential v JOIN connection c ON c.id = v.connection_id
      WHERE c.id = $1 AND v.dropped_at IS NULL) v
    WHERE place <= 2 ORDER BY in_use DESC, version DESC`,
};

// The version in use, the newest two that were in use before it, and the newest two that are being verified: while
// credentials are rotated, the gateway may sign with any of them.
async function versionsToTry(database: Database, connectionId: ConnectionId): Promise<number[]> {
  const rows = await database.query<{ version: number }>(selectVersions, [connectionId]);
  return rows.map((row) => row.version);
}

// The holder of a connection's secret can sign anything, and a notification that cannot be processed blocks all after
// it.
function isActionable({ gatewayReference, modificationReference = "" }: Notification): boolean {
  return Math.max(gatewayReference.length, modificationReference.length) <= gatewayReferenceCharactersMax;
}

async function storeNotifications(
  database: Database,
  { connectionId, credentialVersion, notifications }: Signed,
): Promise<void> {
  await database.transaction(async (tx) => {
    for (const notification of notifications.filter(isActionable)) {
      await tx.query(insertNotification, [
        connectionId,
        notification.notificationId,
        notification.kind,
        notification.attemptReference,
        notification.gatewayReference,
        notification.amount?.amountMinor ?? null,
        notification.amount?.currency ?? null,
        notification.declined ? JSON.stringify(notification.declined) : null,
        credentialVersion,
        notification.modificationReference ?? null,
        notification.refundReference ?? null,
        notification.dispute ? JSON.stringify(notification.dispute) : null,
        notification.stored ? JSON.stringify(notification.stored) : null,
      ]);
    }
  });
}
