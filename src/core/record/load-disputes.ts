/** Reads the disputes of a payment that has any. */
import { columnsOf } from "../../platform/columns.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import type { SessionId } from "../../platform/ids.ts";
import { type Dispute, DisputeEntity, type DisputeMovement, type DisputeResponse } from "../rows/disputes.ts";

/** SQL: the columns of the dispute `d`, with its movements and responses. */
export const disputeColumns = `${columnsOf(DisputeEntity, "d")},
      coalesce((SELECT json_agg(json_build_object('type', m.type, 'amountMinor', m.amount_minor, 'currency', m.currency, 'recordedAt', m.recorded_at)
                ORDER BY m.ordinal)
                FROM dispute_movement m WHERE m.session_id = d.session_id AND m.dispute_id = d.id), '[]') AS movements,
      coalesce((SELECT json_agg(json_build_object('id', r.id, 'type', r.type, 'stage', r.stage, 'status', r.status, 'amountMinor', r.amount_minor,
                  'currency', r.currency, 'madeBy', r.made_by, 'requestHash', r.request_hash,
                  'defense', r.defense, 'documents', r.documents, 'sends', r.sends, 'firstSentAt', r.first_sent_at, 'failureCode', r.failure_code,
                  'createdAt', r.created_at, 'answeredAt', r.answered_at) ORDER BY r.created_at, r.id)
                FROM dispute_response r WHERE r.session_id = d.session_id AND r.dispute_id = d.id), '[]') AS responses`;

// JSON has no times.
type InJson<Row> = {
  readonly [Key in keyof Row]: Row[Key] extends Date | null ? Exclude<Row[Key], Date> | string : Row[Key];
};

export type DisputeRow = Omit<Dispute, "movements" | "responses"> & {
  readonly movements: readonly InJson<DisputeMovement>[];
  readonly responses: readonly InJson<DisputeResponse>[];
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
  const timeOf = (text: string | null) => (text === null ? null : new Date(text));
  const responses = row.responses.map((response) => ({
    ...response,
    firstSentAt: timeOf(response.firstSentAt),
    createdAt: new Date(response.createdAt),
    answeredAt: timeOf(response.answeredAt),
  }));
  return { ...row, movements, responses };
}
