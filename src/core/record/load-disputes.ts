/** Reads the disputes of a payment that has any. */
import { columnsOf } from "../../platform/columns.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import type { SessionId } from "../../platform/ids.ts";
import { type Dispute, DisputeEntity, type DisputeMovement } from "../rows/disputes.ts";

/** SQL: the columns of the dispute `d`, with its movements. */
export const disputeColumns = `${columnsOf(DisputeEntity, "d")},
      coalesce((SELECT json_agg(json_build_object('type', m.type, 'amountMinor', m.amount_minor, 'currency', m.currency, 'recordedAt', m.recorded_at)
                ORDER BY m.ordinal)
                FROM dispute_movement m WHERE m.session_id = d.session_id AND m.dispute_id = d.id), '[]') AS movements`;

export type DisputeRow = Omit<Dispute, "movements"> & {
  readonly movements: readonly (Omit<DisputeMovement, "recordedAt"> & { readonly recordedAt: string })[];
};

const selectDisputes: Statement = {
  name: "select_disputes_of_session",
  partitionKey: 1,
  text: `SELECT ${disputeColumns} FROM dispute d WHERE d.session_id = $1 ORDER BY d.created_at, d.id`,
};

/** Returns the disputes of a session, oldest first. */
export async function loadDisputes(queryable: Queryable, sessionId: SessionId): Promise<readonly Dispute[]> {
  return (await queryable.query<DisputeRow>(selectDisputes, [sessionId])).map(disputeOfRow);
}

/** Converts a row of `disputeColumns` to the domain's form. */
export function disputeOfRow(row: DisputeRow): Dispute {
  const movements = row.movements.map((movement) => ({ ...movement, recordedAt: new Date(movement.recordedAt) }));
  return { ...row, movements };
}
