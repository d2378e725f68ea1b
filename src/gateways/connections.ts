/**
 * A merchant's accounts at gateways: their sealed, versioned credentials, and the binding of an attempt to one version.
 */

import type { Database, Queryable, Statement, Tx } from "../platform/database.ts";
import type { ConnectionId, MerchantId } from "../platform/ids.ts";
import { hasKeyFor, type KeyRing, Secret, seal, unseal } from "../platform/secrets.ts";
import type { AcquirerData } from "./authentication-provider.ts";
import type { Credentials } from "./connector.ts";

export type Connection = {
  readonly id: ConnectionId;
  readonly merchantId: MerchantId;
  readonly gateway: string;
  /** The merchant's name for the account. */
  readonly account: string;
  /** The version that new attempts use; null until one is verified. */
  readonly credentialVersion: number | null;
  readonly paused: boolean;
  /** The merchant as the account's acquirer knows it; null until it is set. */
  readonly acquirer: AcquirerData | null;
};

const insertConnection: Statement = {
  name: "insert_connection",
  text: "INSERT INTO connection (id, merchant_id, gateway, account) VALUES ($1, $2, $3, $4)",
};
const insertCredential: Statement = {
  name: "insert_credential",
  text: `
    INSERT INTO connection_credential (connection_id, version, sealed)
    SELECT $1, coalesce(max(version), 0) + 1, $2 FROM connection_credential WHERE connection_id = $1
    RETURNING version`,
};

/** Records an account; it cannot be routed to before its credentials are verified. */
export async function recordConnection(
  tx: Tx,
  connection: Pick<Connection, "id" | "merchantId" | "gateway" | "account">,
): Promise<void> {
  await tx.query(insertConnection, [connection.id, connection.merchantId, connection.gateway, connection.account]);
}

/** Stages sealed credentials beside those in use. Returns their version. */
export async function stageCredentials(
  tx: Tx,
  ring: KeyRing,
  staged: { connectionId: ConnectionId; credentials: Readonly<Record<string, string>> },
): Promise<number> {
  const sealed = seal(ring, placeOf(staged.connectionId), JSON.stringify(staged.credentials));
  const [row] = await tx.query<{ version: number }>(insertCredential, [staged.connectionId, sealed]);
  return row!.version;
}

const swapCredentials: Statement = {
  name: "swap_credentials",
  text: `
    WITH older AS (
      SELECT id FROM connection WHERE id = $1 AND coalesce(credential_version, 0) <= $2 FOR UPDATE),
    verified AS (
      UPDATE connection_credential v SET verified_at = app.clock() FROM older
      WHERE v.connection_id = older.id AND v.version = $2 AND v.dropped_at IS NULL
      RETURNING v.connection_id, v.version)
    UPDATE connection c SET credential_version = v.version, first_verified_at = coalesce(c.first_verified_at, app.clock()) FROM verified v
    WHERE c.id = v.connection_id
    RETURNING c.id`,
};

const setAccount: Statement = {
  name: "set_account_of_credential",
  text: "UPDATE connection_credential SET gateway_account = $3 WHERE connection_id = $1 AND version = $2",
};

/**
 * Activates verified credentials for new attempts; attempts under way keep the version that they began with. Returns
 * false if newer credentials are already in use, so that of two concurrent rotations the later one stays; the earlier
 * is not verified then. `account` is the gateway's own name of the account that they open, if it is known.
 */
export async function recordVerified(
  tx: Tx,
  verified: { connectionId: ConnectionId; credentialVersion: number; account?: string | undefined },
): Promise<boolean> {
  const { connectionId, credentialVersion, account } = verified;
  if (account !== undefined) await tx.query(setAccount, [connectionId, credentialVersion, account]);
  const swapped = await tx.query(swapCredentials, [connectionId, credentialVersion]);
  return swapped.length > 0;
}

const dropRefused: Statement = {
  name: "drop_refused_credential",
  text: `
    UPDATE connection_credential SET sealed = '', dropped_at = app.clock()
    WHERE connection_id = $1 AND version = $2 AND verified_at IS NULL`,
};

/** Deletes credentials that were never in use, including their sealed form. */
export async function dropCredentials(
  queryable: Queryable,
  { connectionId, credentialVersion }: Wanted,
): Promise<void> {
  await queryable.query(dropRefused, [connectionId, credentialVersion]);
}

const updatePaused: Statement = {
  name: "pause_connection",
  text: "UPDATE connection SET paused = $2 WHERE id = $1",
};

/** Excludes a connection from plans within a second, or includes it again. */
export async function setConnectionPaused(tx: Tx, connectionId: ConnectionId, paused: boolean): Promise<void> {
  await tx.query(updatePaused, [connectionId, paused]);
}

const updateAcquirer: Statement = {
  name: "set_acquirer_data",
  text: "UPDATE connection SET acquirer = $2 WHERE id = $1",
};

export async function setAcquirerData(
  tx: Tx,
  connectionId: ConnectionId,
  acquirer: AcquirerData | null,
): Promise<void> {
  await tx.query(updateAcquirer, [connectionId, acquirer && JSON.stringify(acquirer)]);
}

const selectNewestVersion: Statement = {
  name: "select_newest_credential_version",
  text: "SELECT max(version) AS version FROM connection_credential WHERE connection_id = $1 AND dropped_at IS NULL",
};

/** Returns the version of the credentials staged last and not dropped, verified or not. */
export async function loadNewestVersion(queryable: Queryable, connectionId: ConnectionId): Promise<number> {
  const [row] = await queryable.query<{ version: number | null }>(selectNewestVersion, [connectionId]);
  if (!row?.version) throw new Error("a connection is recorded together with its first credentials");
  return row.version;
}

const selectCredential: Statement = {
  name: "select_credential",
  text: "SELECT sealed FROM connection_credential WHERE connection_id = $1 AND version = $2",
};

type Wanted = { readonly connectionId: ConnectionId; readonly credentialVersion: number };

/** Returns the clear credentials of one version, which must exist. */
export async function loadCredentials(queryable: Queryable, ring: KeyRing, wanted: Wanted): Promise<Credentials> {
  const credentials = await findCredentials(queryable, ring, wanted);
  if (credentials === undefined) throw new Error("the credentials do not exist, or no key opens them");
  return credentials;
}

/**
 * Returns the clear credentials of one version; undefined if there are none, or if the ring has no key that opens them.
 */
async function findCredentials(queryable: Queryable, ring: KeyRing, wanted: Wanted): Promise<Credentials | undefined> {
  const [row] = await queryable.query<{ sealed: string }>(selectCredential, [
    wanted.connectionId,
    wanted.credentialVersion,
  ]);
  if (row === undefined || !hasKeyFor(ring, row.sealed)) return undefined;
  const clear = JSON.parse(unseal(ring, placeOf(wanted.connectionId), row.sealed).expose()) as Record<string, string>;
  return Object.fromEntries(Object.entries(clear).map(([name, value]) => [name, new Secret(value)]));
}

const selectConnections: Statement = {
  name: "select_connections",
  text: `
    SELECT id, merchant_id AS "merchantId", gateway, account, credential_version AS "credentialVersion", paused,
      acquirer
    FROM connection WHERE ($1::uuid IS NULL OR merchant_id = $1) AND ($2::uuid IS NULL OR id = $2) ORDER BY id`,
};

/** Returns a merchant's accounts, oldest first. */
export async function listConnections(database: Queryable, merchantId: MerchantId): Promise<Connection[]> {
  return database.query<Connection>(selectConnections, [merchantId, null]);
}

/**
 * Returns one account by its id, of any merchant: for the notification intake, which knows only the address that was
 * called.
 */
export async function findConnection(database: Database, id: ConnectionId): Promise<Connection | undefined> {
  const [connection] = await database.query<Connection>(selectConnections, [null, id]);
  return connection;
}

/** Returns the associated data of a sealed credential. */
export function placeOf(connectionId: ConnectionId): string {
  return `connection_credential/${connectionId}`;
}

// A version never changes, so an opened one stays valid; the bound is far above a process's working set.
const boundMax = 1_000;

/**
 * Binds attempts to connectors with credentials, or authentications to providers, opening each sealed version once;
 * undefined if either is missing.
 */
export function createBinder<Called>(options: {
  database: Database;
  ring: KeyRing;
  connectorOf: (gateway: string) => Called | undefined;
}) {
  const opened = new Map<string, Credentials>();
  return async (connectionId: ConnectionId, gateway: string, credentialVersion: number) => {
    const connector = options.connectorOf(gateway);
    if (connector === undefined) return undefined;
    const key = `${connectionId}/${credentialVersion}`;
    let credentials = opened.get(key);
    if (credentials === undefined) {
      credentials = await findCredentials(options.database, options.ring, { connectionId, credentialVersion });
      if (credentials === undefined) return undefined;
      if (opened.size >= boundMax) opened.clear();
      opened.set(key, credentials);
    }
    return { connector, credentials };
  };
}
