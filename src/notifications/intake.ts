/** Takes gateways' signed notices: check, store, commit, answer. What they mean for a payment is decided later, by a worker. */

import type { BoundConnector } from "../core/core.ts";
import { findConnection, loadCredentials } from "../gateways/connections.ts";
import type { Notice, RawNotification } from "../gateways/connector.ts";
import { gatewayReferenceCharactersMax } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId } from "../platform/ids.ts";
import type { KeyRing } from "../platform/secrets.ts";

/** What the intake of one environment needs. */
export type IntakeContext = {
  readonly database: Database;
  readonly sealing: KeyRing;
  readonly connectorOf: (gateway: string) => BoundConnector["connector"] | undefined;
};

const insertNotice: Statement = {
  name: "insert_gateway_notice",
  text: `
    INSERT INTO gateway_notice
      (connection_id, notice_id, kind, attempt_reference, gateway_reference, amount_minor, currency, declined, credential_version)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (connection_id, notice_id) DO NOTHING`,
};

/**
 * Stores the notices of one notification, which is read when it has a connection: an address is a connection's id, so
 * that nobody else can have a body kept in memory. A repeat changes nothing, nor does one about a reference that no gateway can
 * have. Durable on return, so the gateway may be answered.
 * Throws `not_found` for an address that is no connection's, `invalid_key` for a signature that is not its gateway's.
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
    throw new DomainError("not_found", "No gateway connection takes notifications at this address.");
  }
  const notification = await read();
  let signed: Signed | undefined;
  for (const credentialVersion of await versionsToTry(context.database, connection.id)) {
    if (signed !== undefined && !mayBeTried(signed, credentialVersion)) continue;
    const wanted = { connectionId: connection.id, credentialVersion };
    const credentials = await loadCredentials(context.database, context.sealing, wanted);
    const reading = await connector.readNotification(credentials, notification);
    if (reading.type !== "authentic") continue;
    if (signed === undefined || reading.notices.some(isTest)) signed = { ...wanted, notices: reading.notices };
  }
  if (signed === undefined) {
    throw new DomainError("invalid_key", "The notification is not signed with this connection's secret.");
  }
  await storeNotices(context.database, signed);
}

type Signed = {
  readonly connectionId: string;
  readonly credentialVersion: number;
  readonly notices: readonly Notice[];
};

// A test notice counts for the newest credentials that it is signed with: where two have one key, those are being tried.
function mayBeTried({ credentialVersion, notices }: Signed, version: number): boolean {
  return version > credentialVersion && notices.every(isTest);
}

function isTest({ kind }: Notice): boolean {
  return kind === "test";
}

const selectVersions: Statement = {
  name: "select_credential_versions_to_try",
  text: `
    SELECT v.version FROM connection_credential v JOIN connection c ON c.id = v.connection_id
    WHERE c.id = $1 AND v.dropped_at IS NULL ORDER BY (v.version IS NOT DISTINCT FROM c.credential_version) DESC, v.version DESC LIMIT 3`,
};

// Those in use, and the newest two beside them: while credentials are swapped, the gateway may sign with either.
async function versionsToTry(database: Database, connectionId: string): Promise<number[]> {
  const rows = await database.query<{ version: number }>(selectVersions, [connectionId]);
  return rows.map((row) => row.version);
}

// Whoever has a connection's secret can sign what they like, and one notice that cannot be acted on stops all behind it.
function isActionable({ gatewayReference }: Notice): boolean {
  return gatewayReference.length <= gatewayReferenceCharactersMax;
}

async function storeNotices(database: Database, { connectionId, credentialVersion, notices }: Signed): Promise<void> {
  await database.transaction(async (tx) => {
    for (const notice of notices.filter(isActionable)) {
      await tx.query(insertNotice, [
        connectionId,
        notice.noticeId,
        notice.kind,
        notice.attemptReference,
        notice.gatewayReference,
        notice.amount?.amountMinor ?? null,
        notice.amount?.currency ?? null,
        notice.declined ? JSON.stringify(notice.declined) : null,
        credentialVersion,
      ]);
    }
  });
}
