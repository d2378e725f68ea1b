/** A merchant's block list: its entries, and the parts of a payment that can be blocked. */

import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { BlockId, MerchantId, SessionId } from "../../platform/ids.ts";
import type { BlockKind } from "./blocked.ts";

/** An entry that blocks. */
export type BlocklistEntry = {
  readonly id: BlockId;
  readonly kind: BlockKind;
  readonly network: string | null;
  readonly cardLast4: string | null;
  readonly sessionId: SessionId | null;
  readonly reason: string;
  readonly addedBy: string;
  readonly addedAt: Date;
  readonly endsAt: Date | null;
};

/** A card's fingerprint, an e-mail address or a network. */
export type Blockable = {
  readonly kind: BlockKind;
  readonly given: string;
  readonly sessionId?: SessionId | undefined;
  readonly cardLast4?: string | null | undefined;
};

// All of them are shown at once, and people added each.
const entriesMax = 1_000;

const columns = `b.id, b.kind, CASE b.kind WHEN 'NETWORK' THEN b.value END AS network, b.card_last4 AS "cardLast4", b.session_id AS "sessionId",
  b.reason, b.added_by AS "addedBy", b.added_at AS "addedAt", b.ends_at AS "endsAt"`;
const blocks = "(b.ends_at IS NULL OR b.ends_at > app.clock())";

const selectEntries: Statement = {
  name: "select_blocklist",
  text: `SELECT ${columns} FROM blocklist_entry b WHERE b.merchant_id = $1 AND ${blocks} ORDER BY b.added_at DESC, b.id DESC`,
};

/** Returns the entries of a merchant that block, newest first. */
export function listBlocklist(queryable: Queryable, merchantId: MerchantId): Promise<BlocklistEntry[]> {
  return queryable.query(selectEntries, [merchantId]);
}

const selectParts: Statement = {
  name: "select_blockable_parts",
  partitionKey: 1,
  text: `
    SELECT card_fingerprint AS card, card_last4 AS "cardLast4", customer_email AS email, customer_network::text AS network
    FROM payment_session WHERE id = $1 AND merchant_id = $2`,
};
type PartsRow = { card: string | null; cardLast4: string | null; email: string | null; network: string | null };

/** Returns the parts of a merchant's payment that can be blocked; undefined if it has no such payment. */
export async function findBlockable(
  queryable: Queryable,
  { merchantId, sessionId }: { readonly merchantId: MerchantId; readonly sessionId: SessionId },
): Promise<Partial<Record<BlockKind, Blockable>> | undefined> {
  const [row] = await queryable.query<PartsRow>(selectParts, [sessionId, merchantId]);
  if (row === undefined) return undefined;
  const { card, cardLast4, email, network } = row;
  return {
    ...(card && { CARD: { kind: "CARD", given: card, sessionId, cardLast4 } }),
    ...(email && { EMAIL: { kind: "EMAIL", given: email, sessionId } }),
    ...(network && { NETWORK: { kind: "NETWORK", given: network, sessionId } }),
  };
}

const selectEntry: Statement = {
  name: "select_blocklist_entry",
  text: `SELECT ${columns} FROM blocklist_entry b WHERE b.merchant_id = $1 AND b.value = app.blocked_value($1, $2, $3) AND ${blocks}`,
};

/** Returns the entry that blocks this; undefined if none does. */
export async function findEntryOf(
  queryable: Queryable,
  merchantId: MerchantId,
  { kind, given }: Blockable,
): Promise<BlocklistEntry | undefined> {
  const [entry] = await queryable.query<BlocklistEntry>(selectEntry, [merchantId, kind, given]);
  return entry;
}

// An entry that has ended begins anew.
const insertEntry: Statement = {
  name: "insert_blocklist_entry",
  text: `
    INSERT INTO blocklist_entry AS b (id, merchant_id, kind, value, card_last4, session_id, reason, added_by, ends_at)
    SELECT $1, $2, $3, app.blocked_value($2, $3, $4), $5, $6, $7, $8, $9
    WHERE (SELECT count(*) FROM blocklist_entry b WHERE b.merchant_id = $2 AND ${blocks}) < ${entriesMax}
    ON CONFLICT (merchant_id, value) DO UPDATE
      SET card_last4 = EXCLUDED.card_last4, session_id = EXCLUDED.session_id, reason = EXCLUDED.reason, added_by = EXCLUDED.added_by,
        added_at = EXCLUDED.added_at, ends_at = EXCLUDED.ends_at
      WHERE NOT ${blocks}
    RETURNING ${columns}`,
};

/**
 * Adds an entry, in a transaction that has locked the merchant's configuration. Throws `state_conflict` if one blocks
 * this already, or the list is full.
 */
export async function addEntry(
  tx: Tx,
  merchantId: MerchantId,
  added: Blockable & Pick<BlocklistEntry, "id" | "reason" | "addedBy" | "endsAt">,
): Promise<BlocklistEntry> {
  const { id, kind, given, cardLast4 = null, sessionId = null, reason, addedBy, endsAt } = added;
  const values = [id, merchantId, kind, given, cardLast4, sessionId, reason, addedBy, endsAt];
  const [entry] = await tx.query<BlocklistEntry>(insertEntry, values);
  if (entry) return entry;
  const isKnown = await findEntryOf(tx, merchantId, added);
  throw new DomainError(
    "state_conflict",
    isKnown
      ? "This is on the block list already. To change its reason or its end, end that entry first."
      : `A block list has at most ${entriesMax} entries. End one of them first.`,
  );
}

const endStatement: Statement = {
  name: "end_blocklist_entry",
  text: `
    UPDATE blocklist_entry b SET ends_at = app.clock() WHERE b.id = $1 AND b.merchant_id = $2 AND ${blocks}
    RETURNING ${columns}`,
};

/** Ends an entry of the merchant. Returns undefined if it has no such entry that blocks. */
export async function endEntry(tx: Tx, merchantId: MerchantId, entryId: BlockId): Promise<BlocklistEntry | undefined> {
  const [entry] = await tx.query<BlocklistEntry>(endStatement, [entryId, merchantId]);
  return entry;
}
